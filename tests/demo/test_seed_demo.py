"""`seed_demo` on a real database: what it stores, that it stores it once, and the table from stored rows."""

import json
from collections import Counter
from io import StringIO

import pytest
from django.core import serializers
from django.core.management import call_command

from evaluations.models import (
    AgentVersion,
    Case,
    Comparison,
    DatasetUse,
    ExpectationResult,
    GateDecision,
    PairedCase,
    StateSnapshot,
    ToolCall,
)
from evaluations.services.comparisons import start_comparison
from evaluations.services.waiting import run_here
from scenarios.models import DatasetVersion, ScenarioVersion
from scenarios.services import save_scenario
from tests.demo.facts import DIVERGENCE, FACTS, RETRIES, TOOL_CALLS
from tests.demo.playing import FOLDER, definition
from twins.models import TwinVersion

pytestmark = pytest.mark.django_db

STORED = (
    AgentVersion,
    Case,
    Comparison,
    DatasetVersion,
    ExpectationResult,
    GateDecision,
    PairedCase,
    ScenarioVersion,
    StateSnapshot,
    ToolCall,
    TwinVersion,
)
AGENT = "support-refund-agent"


@pytest.fixture(autouse=True)
def _no_broker(settings) -> None:
    settings.BROKER_IS_CONFIGURED = False


def seed(*options: str) -> str:
    said = StringIO()
    call_command("seed_demo", "--demo", "refund", *options, stdout=said)
    return said.getvalue()


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in STORED}


def comparison(baseline: str, candidate: str) -> Comparison:
    return Comparison.objects.get(baseline__version=baseline, candidate__version=candidate)


def classes(found: Comparison) -> dict[str, str | None]:
    return dict(found.pairs.values_list("scenario_name", "classification"))


def tools(case: Case) -> list[str]:
    calls = case.tool_calls.filter(kind="tool_call", redelivered=False).order_by("seq")
    return list(calls.values_list("tool", flat=True))


def test_the_table_comes_out_of_the_stored_rows() -> None:
    seed()
    found = comparison("1.2.4", "1.3.0")
    assert found.state == "COMPLETED"
    assert classes(found) == {name: fact.klass for name, fact in FACTS.items()}
    for pair in found.pairs.all():
        fact = FACTS[pair.scenario_name]
        baseline, candidate = pair.cases.get(run__side="BASELINE"), pair.cases.get(run__side="CANDIDATE")
        assert pair.severity == fact.severity
        assert tools(baseline) == fact.careful
        assert tools(candidate) == fact.hasty
        failing = candidate.results.filter(status="FAIL").values_list("expectation_id", "label")
        # The one check that a judge graded; without it the facts are the same.
        judged = {"says-what-happened": "SEMANTIC_FAIL"} if "lie" in pair.scenario_name else {}
        assert dict(failing) == fact.failing | judged
        assert set(pair.newly_failing) == set(fact.failing | judged)
        assert baseline.verdict == "PASSED"
    for side, version in (("BASELINE", "1.2.4"), ("CANDIDATE", "1.3.0")):
        cases = Case.objects.filter(run__comparison=found, run__side=side)
        assert sum(case.tool_call_count for case in cases) == TOOL_CALLS[version]
        assert sum(case.retry_count for case in cases) == RETRIES[version]
        assert {case.run.model_kind for case in cases.select_related("run")} == {"deterministic-fake"}


def test_the_first_divergence_of_the_timeout_case_is_stored() -> None:
    seed()
    pair = comparison("1.2.4", "1.3.0").pairs.get(scenario_name="refund-timeout-after-mutation")
    assert pair.first_divergence["step"] == 2
    assert pair.first_divergence["summary"] == DIVERGENCE
    assert [case.retry_count for case in pair.cases.filter(run__side="BASELINE")] == [0]
    assert len({case.answer["output"] for case in pair.cases.all()}) == 1
    assert {case.claimed_outcome for case in pair.cases.all()} == {"SUCCESS"}
    assert [case.contradiction for case in pair.cases.order_by("run__side")] == [False, True]


def test_the_fix_improves_three_cases_and_matches_the_baseline_on_all_nine() -> None:
    seed()
    assert Counter(classes(comparison("1.3.0", "1.3.1")).values()) == {"IMPROVED": 3, "UNCHANGED": 6}
    assert Counter(classes(comparison("1.2.4", "1.3.1")).values()) == {"UNCHANGED": 9}


def test_a_second_run_stores_nothing_and_says_so() -> None:
    first = seed()
    assert "15 new documents" in first
    before = counts()
    again = seed()
    assert counts() == before
    assert "no new documents, 15 already known" in again
    assert again.count("known, COMPLETED") == 3
    assert ": new" not in again


def test_without_comparisons_only_the_documents_are_loaded() -> None:
    said = seed("--no-comparisons")
    assert counts() == dict.fromkeys(counts(), 0) | {
        "AgentVersion": 4,
        "DatasetVersion": 1,
        "ScenarioVersion": 9,
        "TwinVersion": 1,
    }
    assert "comparison" not in said


def test_an_edited_scenario_gets_its_shipped_content_back_as_a_new_version() -> None:
    seed("--no-comparisons")
    text = (FOLDER / "scenarios" / "refund-over-limit.yaml").read_text()
    save_scenario(text=text.replace("severity: critical", "severity: low"))
    assert "1 new document, 14 already known" in seed("--no-comparisons")
    versions = ScenarioVersion.objects.filter(scenario__name="refund-over-limit")
    assert [version.severity for version in versions.order_by("number")] == ["critical", "low", "critical"]


def test_a_comparison_that_was_left_unfinished_is_finished() -> None:
    seed("--no-comparisons")
    left, _ = start_comparison(
        agent=AGENT,
        baseline="1.2.4",
        candidate="1.3.0",
        dataset="refund-regression-suite",
        key="demo-refund-regression-suite-1.3.0-against-1.2.4",
        wake=False,
    )
    assert f"comparison {left.pk}, {AGENT} 1.3.0 against 1.2.4: known, COMPLETED" in seed()


def test_the_comparisons_are_on_the_frozen_suite_and_count_as_its_uses() -> None:
    seed()
    seed()
    (version,) = DatasetVersion.objects.all()
    assert (str(version), version.purpose, version.case_count) == (
        "refund-regression-suite@1",
        "development",
        9,
    )
    assert set(Comparison.objects.values_list("dataset_version", flat=True)) == {version.pk}
    assert DatasetUse.objects.count() == 3


def test_other_scenarios_of_the_agent_do_not_disturb_a_second_run() -> None:
    seed()
    text = (FOLDER / "scenarios" / "refund-over-limit.yaml").read_text()
    save_scenario(text=text.replace("name: refund-over-limit", "name: a-scenario-of-ours"))
    assert seed().count("known, COMPLETED") == 3


def test_the_planted_key_that_the_unguarded_version_reveals_is_stored_nowhere_but_in_the_twin() -> None:
    seed("--no-comparisons")
    shameless, _ = start_comparison(agent=AGENT, baseline="1.2.4", candidate="0.9.0", wake=False)
    run_here(shameless.pk)
    case = Case.objects.get(
        run__comparison=shameless, run__side="CANDIDATE", pair__scenario_name="malicious-retrieved-content"
    )
    assert "[REDACTED]" in case.answer["output"]
    assert case.results.get(status="FAIL").label == "SECRET_DISCLOSURE"
    (secret,) = definition().secrets
    for model in STORED:
        if model is not TwinVersion:
            assert secret not in serializers.serialize("json", model.objects.all()), model.__name__


def test_the_command_line_prints_the_same_and_reports_the_failures(capsys: pytest.CaptureFixture) -> None:
    seed("--no-comparisons")
    with pytest.raises(SystemExit) as ended:
        call_command("compare", AGENT, baseline="1.2.4", candidate="1.3.0", format="json")
    assert ended.value.code == 3
    printed = json.loads(capsys.readouterr().out)
    assert printed["tool_calls"] == {"baseline": 30, "candidate": 22}
    assert printed["summary"] == {
        "NEW_CRITICAL_FAILURE": 2,
        "REGRESSED": 1,
        "IMPROVED": 0,
        "UNCHANGED": 6,
        "INCOMPLETE": 0,
    }
    assert {case["scenario"]: case["class"] for case in printed["cases"]} == {
        name: fact.klass for name, fact in FACTS.items()
    }
