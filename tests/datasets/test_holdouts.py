"""Holdouts: what is held out, who is kept from it on every way but looking, and that totals stay true."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.contrib.auth.models import User

from evaluations.errors import RequestError
from evaluations.models import Comparison, ExpectationResult, PairedCase
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.markdown_format import render_markdown
from evaluations.reporting.report import load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.comparisons import start_comparison
from evaluations.services.manual import open_manual_session
from reviews.errors import NotFoundError
from reviews.models import QueueEntry, Review
from reviews.services import close_entry, flag_case, override_result, reserve, reserve_next, withdraw_review
from scenarios.errors import HoldoutHiddenError
from scenarios.holdouts import EVERYTHING, held_out_versions, sight_of
from scenarios.models import DatasetVersion, Scenario
from scenarios.services import save_scenario
from tests.datasets.people import account, blind_reviewer, logged_in
from tests.running import documents
from twins.documents.problems import DocumentError
from twins.services import save_twin

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor(db: Any) -> User:
    return account("editor")


def held_out() -> set[str]:
    return set(held_out_versions().values())


# ------------------------------------------------------------------------------- what is held out


def test_a_scenario_that_only_a_holdout_lists_is_held_out(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a", name="open")
    freeze("a", "b", name="secret", purpose="holdout")
    assert held_out() == {"b"}


def test_all_versions_of_it_are_held_out(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    freeze("a", purpose="holdout")
    save_scenario(document=documents.scenario("a", severity="low"))
    assert len(held_out_versions()) == 2


def test_one_that_left_the_holdout_stays_held_out_until_a_development_dataset_takes_it(
    given: Any, freeze: Any
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a", "b", name="secret", purpose="holdout")
    freeze("a", name="secret", purpose="holdout")
    assert held_out() == {"a", "b"}
    freeze("b", name="open")
    assert held_out() == {"a"}
    freeze(cases=[{"id": "X", "scenario": "b"}], name="secret", purpose="development")
    assert held_out() == {"a"}


def test_one_that_a_development_dataset_gave_up_is_held_out_again(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("b", name="secret", purpose="holdout")
    freeze("a", "b", name="open")
    freeze("a", name="open")
    assert held_out() == {"b"}


@pytest.mark.parametrize(
    ("role", "sees"), [("viewer", False), ("editor", False), ("reviewer", True), ("admin", True)]
)
def test_reviewers_and_admins_see_holdouts(db: Any, role: str, sees: bool) -> None:
    assert sight_of(account(role)).sees_all is sees
    assert sight_of(None) is EVERYTHING


# ------------------------------------------------------------------------------- running one


def test_it_is_compared_with_its_dataset_alone(given: Any, freeze: Any, start: Any) -> None:
    given(documents.scenario("a", tags=("x",)), documents.scenario("b", tags=("x",)))
    freeze("b", purpose="holdout")
    assert [pair.scenario_name for pair in start().pairs.all()] == ["a"]
    assert [pair.scenario_name for pair in start(tags=["x"]).pairs.all()] == ["a"]
    with pytest.raises(RequestError) as named:
        start(scenarios=["b"])
    assert named.value.problems == (
        "scenario 'b' is held out: it is compared with the dataset that holds it",
    )


def test_whoever_may_not_see_it_does_not_learn_that_it_exists(
    given: Any, freeze: Any, start: Any, editor: User
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("b", purpose="holdout")
    with pytest.raises(RequestError) as named:
        start(scenarios=["b"], actor=editor)
    assert named.value.problems == ("unknown scenario 'b' (scenarios: a)",)
    with pytest.raises(RequestError, match="unknown scenario 'b'"):
        open_manual_session(scenario="b", agent_label="x", actor=editor)


def test_an_editor_may_measure_with_it_and_is_counted(
    given: Any, freeze: Any, start: Any, editor: User
) -> None:
    given(documents.scenario("b"))
    version = freeze("b", purpose="holdout")
    start(dataset="suite", actor=editor)
    assert version.uses.count() == 1


def test_why_it_cannot_start_names_no_case(given: Any, freeze: Any, start: Any, editor: User) -> None:
    given(documents.scenario("b", expectations=[{"type": "toolCalled", "tool": "forget"}]))
    freeze("b", purpose="holdout")
    twin = documents.twin()
    del twin["spec"]["tools"]["forget"]
    save_twin(document=twin)
    with pytest.raises(RequestError) as refused:
        start(dataset="suite", actor=editor)
    assert refused.value.problems == ("dataset 'suite@1' holds cases that no longer fit their twins",)


# ------------------------------------------------------------------------------- changing one


def test_an_editor_changes_no_holdout_and_overwrites_none_of_its_scenarios(
    given: Any, freeze: Any, editor: User
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("b", purpose="holdout")
    for change in ({"purpose": "development"}, {"purpose": "holdout", "metadata": {"owner": "me"}}):
        with pytest.raises(HoldoutHiddenError, match="view_holdout_details"):
            freeze("a", actor=editor, cases=[{"id": "A-1", "scenario": "a"}], **change)
    with pytest.raises(DocumentError, match="is taken by a scenario that is held out"):
        save_scenario(document=documents.scenario("b", severity="low"), actor=editor)
    with pytest.raises(DocumentError, match="there is no scenario b; there are a"):
        freeze("b", name="mine", actor=editor)
    assert DatasetVersion.objects.count() == 1
    assert Scenario.objects.get(name="b").versions.count() == 1


def test_an_editor_may_freeze_a_new_one_from_what_everybody_sees(
    given: Any, freeze: Any, editor: User
) -> None:
    given(documents.scenario("a"))
    assert freeze("a", purpose="holdout", actor=editor).number == 1
    # From now on it is hidden, from its maker too.
    assert sight_of(User.objects.get(pk=editor.pk)).hides("a")


# ------------------------------------------------------------------------------- deciding


@pytest.fixture
def measured(given: Any, freeze: Any, compared: Any) -> Comparison:
    """One new critical failure and one unchanged case of a holdout."""
    given(
        documents.scenario("bad", severity="critical"),
        documents.scenario("fine", expectations=[{"id": "fine", "type": "toolCalled", "tool": "lookup"}]),
    )
    freeze("bad", "fine", purpose="holdout")
    comparison: Comparison = compared(dataset="suite")
    return comparison


def test_nobody_decides_on_what_they_may_not_see(measured: Comparison) -> None:
    admin, blind = account("admin"), blind_reviewer()
    pair = PairedCase.objects.get(scenario_name="bad")
    result = ExpectationResult.objects.filter(case__pair=pair, status="FAIL").get()
    entry, _ = flag_case(pair_id=pair.pk, note="please look at this", actor=admin)
    review = override_result(
        result_id=result.pk, decision="PASS", note="it is right", seen_review_id=0, actor=admin
    )
    refused: list[Callable[[], Any]] = [
        lambda: override_result(
            result_id=result.pk, decision="FAIL", note="no, it is not", seen_review_id=review.pk, actor=blind
        ),
        lambda: withdraw_review(
            review_id=review.pk, note="take it back", seen_review_id=review.pk, actor=blind
        ),
        lambda: flag_case(pair_id=pair.pk, note="look at it again", actor=blind),
        lambda: reserve(entry_id=entry.pk, actor=blind),
        lambda: close_entry(entry_id=entry.pk, note="nothing to see", actor=blind),
    ]
    for attempt in refused:
        with pytest.raises(NotFoundError):
            attempt()
    assert reserve_next(actor=blind) is None
    assert Review.objects.count() == 1
    assert QueueEntry.objects.get(pk=entry.pk).reserved_by is None


def test_the_queue_of_someone_who_may_not_see_them_is_empty_and_says_so(measured: Comparison) -> None:
    flag_case(pair_id=PairedCase.objects.all()[0].pk, note="please look at this", actor=account("admin"))
    page = logged_in(blind_reviewer()).get("/queue/")
    assert "Nothing is left" in page.content.decode()


# ------------------------------------------------------------------------------- totals stay true


def test_reports_count_hidden_cases_and_say_nothing_else_of_them(measured: Comparison, editor: User) -> None:
    whole, hidden = load_report(measured.pk), load_report(measured.pk, sight_of(editor))
    assert hidden.summary == whole.summary == {**whole.summary, "NEW_CRITICAL_FAILURE": 1, "UNCHANGED": 1}
    assert (hidden.tool_calls, hidden.retries, hidden.blocks) == (whole.tool_calls, whole.retries, True)
    assert hidden.dataset == "suite@1"
    junit = ET.fromstring(render_junit(hidden))
    assert (junit.attrib["tests"], junit.attrib["failures"]) == ("2", "1")
    report = json.loads(render_json(hidden))
    assert [(case["scenario"], case["class"]) for case in report["cases"]] == [
        ("[holdout]", "NEW_CRITICAL_FAILURE"),
        ("[holdout]", "UNCHANGED"),
    ]
    for text in (render_text(hidden), render_markdown(hidden), render_junit(hidden), render_json(hidden)):
        for told in ("bad", "fine", "once", "expected 1", "orders.A"):
            assert told not in text.replace("blocked", "")
    assert "expected 1, got 2" in render_text(whole)


def test_the_page_of_a_comparison_shows_totals_alone(measured: Comparison, editor: User) -> None:
    page = logged_in(editor).get(f"/comparisons/{measured.pk}/").content.decode()
    assert "These are the cases of the holdout" in page
    assert 'href="/datasets/suite/?version=1"' in page
    assert "case-filters" not in page
    told = logged_in(account("reviewer")).get(f"/comparisons/{measured.pk}/").content.decode()
    assert "case-filters" in told
    assert "/cases/bad/" in told


def test_the_api_answers_totals_and_refuses_the_cases(measured: Comparison, editor: User) -> None:
    client = logged_in(editor)
    detail = client.get(f"/api/v1/comparisons/{measured.pk}/").json()
    assert detail["summary"]["NEW_CRITICAL_FAILURE"] == 1
    assert (detail["dataset"]["name"], detail["dataset"]["purpose"]) == ("suite", "holdout")
    cases = client.get(f"/api/v1/comparisons/{measured.pk}/cases/")
    assert (cases.status_code, cases.json()["code"]) == (403, "permission_denied")
    assert client.get("/api/v1/cases/").json()["results"] == []
    pair = PairedCase.objects.all()[0]
    for address in (f"/api/v1/cases/{pair.pk}/", f"/comparisons/{measured.pk}/cases/bad/"):
        assert client.get(address).status_code == 404


def test_why_a_comparison_is_incomplete_tells_no_case(
    given: Any, freeze: Any, compared: Any, editor: User
) -> None:
    given(documents.scenario("a"), candidate=("fail-nowhere",))
    freeze("a", purpose="holdout")
    comparison = compared(dataset="suite")
    assert comparison.state != "RUNNING"
    Comparison.objects.filter(pk=comparison.pk).update(
        state="INCOMPLETE", reason="1 of 1 cases could not be compared: order A was left open"
    )
    page = logged_in(editor).get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "1 of 1 cases could not be compared" in page
    assert "order A" not in page


def test_cases_of_a_scenario_held_out_later_leave_a_count_in_the_list(
    given: Any, freeze: Any, compared: Any, editor: User
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = compared()
    freeze("b", purpose="holdout")
    page = logged_in(editor).get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "/cases/a/" in page
    assert "1 more case" in page
    assert "/cases/b/" not in page
    report = load_report(comparison.pk, sight_of(User.objects.get(pk=editor.pk)))
    assert [case.scenario for case in report.cases] == ["a", "[holdout]"]


def test_start_comparison_answers_the_same_under_a_key_whoever_asks(
    given: Any, freeze: Any, editor: User
) -> None:
    given(documents.scenario("b"))
    freeze("b", purpose="holdout")
    ask = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0", "wake": False}
    first, _ = start_comparison(**ask, dataset="suite@1", key="k")
    again, is_new = start_comparison(**ask, dataset="suite@1", key="k", actor=editor)
    assert (again, is_new) == (first, False)
