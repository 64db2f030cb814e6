"""Which fault cases are missing, and what each draft is made of."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluations.errors import RequestError
from evaluations.services.fault_cases import draft_fault_cases, missing_of
from scenarios.errors import HoldoutHiddenError, UnknownDatasetError, UnknownSubjectError
from scenarios.holdouts import EVERYTHING, Sight
from scenarios.models import Scenario, ScenarioVersion
from scenarios.services import save_scenario
from scenarios.services.approvals import approve_scenario
from tests.datasets.people import account
from tests.fault_cases.world import KEYED
from tests.running import documents
from twins.services import save_twin

pytestmark = pytest.mark.django_db

TIMEOUT, LIE = "timeout_after_mutation", "success_without_mutation"
BLIND = Sight(sees_all=False)
TIMEOUT_DRAFT, LIE_DRAFT = "refund-refund-timeout-after-effect", "refund-refund-success-without-effect"
FAULT = {"target": "refund", "when": {"callNumber": 1}, "behavior": {"type": TIMEOUT}}


def test_both_faults_of_an_untried_tool_are_drafted_from_the_case_that_passed(passed: Any) -> None:
    missing = missing_of("twin", "shop", EVERYTHING)
    assert [(one.tool, one.fault, one.name) for one in missing] == [
        ("refund", TIMEOUT, TIMEOUT_DRAFT),
        ("refund", LIE, LIE_DRAFT),
    ]
    assert {(one.origin, one.comparison) for one in missing} == {("refund", passed.pk)}
    drafts = draft_fault_cases(missing)
    assert [(one.scenario.name, one.source, one.number) for one in drafts] == [
        (TIMEOUT_DRAFT, "generated", 1),
        (LIE_DRAFT, "generated", 1),
    ]
    assert drafts[0].document["metadata"]["generated"]["from"]["sha256"] == missing_digest("refund")
    assert not Scenario.objects.exclude(versions__isnull=False).exists()


def missing_digest(name: str) -> str:
    return ScenarioVersion.objects.get(scenario__name=name).digest


def test_what_waits_is_told_and_not_drafted_again(passed: Any) -> None:
    draft_fault_cases(missing_of("twin", "shop", EVERYTHING))
    again = missing_of("twin", "shop", EVERYTHING)
    assert [one.waiting for one in again] == [(TIMEOUT_DRAFT,), (LIE_DRAFT,)]
    assert draft_fault_cases(again) == []
    assert [one.waiting for one in missing_of("scenario", "refund", EVERYTHING)] == [
        (TIMEOUT_DRAFT,),
        (LIE_DRAFT,),
    ]


def test_an_approved_draft_closes_the_gap(drafted: list[Any]) -> None:
    approve_scenario(version=drafted[0], note="Once is enough.", actor=account("editor"))
    assert [one.fault for one in missing_of("twin", "shop", EVERYTHING)] == [LIE]
    again = missing_of("scenario", "refund", EVERYTHING)
    assert again[0].problem == f"there is a scenario {TIMEOUT_DRAFT} already"


def test_only_a_passing_case_that_went_well_is_an_origin(given: Any, compared: Any) -> None:
    given(documents.scenario("refund"), baseline=documents.TWICE, candidate=documents.TWICE)
    compared()
    missing = missing_of("twin", "shop", EVERYTHING)
    assert [(one.document, one.origin) for one in missing] == [(None, "")] * 2
    assert missing[0].problem.startswith("no case without faults passes on the twin as it is now")
    with pytest.raises(RequestError, match="no case of scenario 'refund' passes"):
        missing_of("scenario", "refund", EVERYTHING)


def test_a_case_on_an_older_twin_says_nothing_about_this_one(passed: Any) -> None:
    save_twin(document=documents.twin(secrets=[documents.SECRET, "another-secret-9"]))
    assert {one.document for one in missing_of("twin", "shop", EVERYTHING)} == {None}


def test_a_changed_scenario_has_not_passed_yet(passed: Any) -> None:
    save_scenario(document=documents.scenario("refund", severity="low"))
    assert {one.document for one in missing_of("twin", "shop", EVERYTHING)} == {None}


def test_a_scenario_with_faults_is_no_origin(given: Any, compared: Any) -> None:
    given(documents.scenario("refund", faults=[{**FAULT, "when": {"callNumber": 9}}]), candidate=KEYED)
    compared()
    with pytest.raises(RequestError, match="has faults of its own"):
        missing_of("scenario", "refund", EVERYTHING)
    assert {one.document for one in missing_of("twin", "shop", EVERYTHING)} == {None}


def test_what_was_changed_again_later_is_not_expected(given: Any, compared: Any) -> None:
    twice = (*KEYED, 'call refund {"order_id": "B", "amount": 5, "key": "l"}')
    given(documents.scenario("refund"), baseline=twice, candidate=twice)
    compared()
    [timeout, _] = missing_of("twin", "shop", EVERYTHING)
    assert timeout.document is not None
    paths = [one.get("path") for one in timeout.document["spec"]["expectations"]]
    # Order A is as the first call left it; the log has grown again.
    assert {"orders.A.count", "orders.A.refunded"} <= set(paths)
    assert "log" not in paths


def test_the_gravest_scenario_is_the_origin(given: Any, compared: Any) -> None:
    given(
        documents.scenario("a", severity="low"),
        documents.scenario("b", severity="critical"),
        documents.scenario("c", severity="critical"),
        baseline=KEYED,
        candidate=KEYED,
    )
    compared()
    assert {one.origin for one in missing_of("twin", "shop", EVERYTHING)} == {"b"}


def test_what_a_dataset_lacks(passed: Any, freeze: Any) -> None:
    save_scenario(document=documents.scenario("timeout", faults=[FAULT]))
    freeze("refund")
    missing = missing_of("dataset", "suite@1", EVERYTHING)
    assert [(one.fault, one.outside, one.name) for one in missing] == [
        (TIMEOUT, ("timeout",), ""),
        (LIE, (), LIE_DRAFT),
    ]
    freeze("refund", "timeout")
    assert [one.fault for one in missing_of("dataset", "suite", EVERYTHING)] == [LIE]


def test_a_generated_case_of_a_dataset_covers_nothing_before_it_is_approved(
    drafted: list[Any], freeze: Any
) -> None:
    freeze("refund", TIMEOUT_DRAFT, LIE_DRAFT)
    missing = missing_of("dataset", "suite", EVERYTHING)
    assert [one.waiting for one in missing] == [(TIMEOUT_DRAFT,), (LIE_DRAFT,)]
    for one in drafted:
        approve_scenario(
            version=one, note="It is as it should be.", actor=account("editor", one.scenario.name[:30])
        )
    assert missing_of("dataset", "suite", EVERYTHING) == []


def test_what_is_held_out_is_no_origin_even_for_who_sees_it(passed: Any, freeze: Any) -> None:
    freeze("refund", purpose="holdout")
    assert {one.document for one in missing_of("twin", "shop", EVERYTHING)} == {None}
    with pytest.raises(UnknownSubjectError):
        missing_of("scenario", "refund", BLIND)
    with pytest.raises(HoldoutHiddenError):
        missing_of("dataset", "suite", BLIND)
    assert len(missing_of("dataset", "suite", EVERYTHING)) == 2


def test_unknown_names(passed: Any) -> None:
    for kind in ("twin", "scenario"):
        with pytest.raises(UnknownSubjectError, match=f"there is no {kind} 'x'"):
            missing_of(kind, "x", EVERYTHING)
    with pytest.raises(UnknownDatasetError):
        missing_of("dataset", "x", EVERYTHING)


def test_the_number_of_queries_does_not_grow_with_cases(given: Any, compared: Any) -> None:
    given(documents.scenario("refund"), baseline=KEYED, candidate=KEYED)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            missing_of("twin", "shop", EVERYTHING)
        return len(queries)

    compared()
    few = cost()
    compared(trials=5)
    assert cost() == few


# ------------------------------------------------------------------------------- command


def run(*args: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command("generate_fault_cases", *args, stdout=out)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_the_command_stores_and_writes_the_drafts(passed: Any, tmp_path: Path) -> None:
    status, out = run("--write", str(tmp_path / "drafts"))
    assert status == 0
    assert f"refund, {TIMEOUT}: {TIMEOUT_DRAFT}, from refund, which passed in comparison {passed.pk}" in out
    assert "2 drafts of 2 missing" in out
    assert {path.name for path in (tmp_path / "drafts").iterdir()} == {
        f"{TIMEOUT_DRAFT}.yaml",
        f"{LIE_DRAFT}.yaml",
    }
    imported = io.StringIO()
    call_command("import_documents", str(tmp_path / "drafts"), stdout=imported)
    assert "unchanged, version 1, without a say until a person approves it" in imported.getvalue()
    assert "waits for an approval" in run()[1]


def test_a_file_in_the_way_leaves_everything_as_it_was(passed: Any, tmp_path: Path) -> None:
    (tmp_path / f"{LIE_DRAFT}.yaml").write_text("mine")
    with pytest.raises(CommandError, match="is there already") as refused:
        run("--scenario", "refund", "--write", str(tmp_path))
    assert refused.value.returncode == 2
    assert not Scenario.objects.filter(name=TIMEOUT_DRAFT).exists()
    assert [path.name for path in tmp_path.iterdir()] == [f"{LIE_DRAFT}.yaml"]


def test_the_command_says_what_it_cannot_draft(given: Any) -> None:
    given()
    status, out = run()
    assert status == 3
    assert "0 drafts of 2 missing" in out
    for args in (("--scenario", "x"), ("--dataset", "x")):
        with pytest.raises(CommandError) as unknown:
            run(*args)
        assert unknown.value.returncode == 2
