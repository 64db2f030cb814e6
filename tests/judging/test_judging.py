"""Judging cases: what is stored, what it does to the case and its pair, what a judge that is down does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluations.judges.interface import JUDGE_ERROR_KINDS, JudgeError
from evaluations.models import Case, ExpectationResult, JudgeSpending, JudgeVerdict
from evaluations.services import running
from evaluations.services.running import run_chunk
from tests.judging.conftest import DETERMINISTIC, RUBRIC, SEMANTIC, down, expecting, in_turn, verdict
from tests.running import documents
from tests.running.documents import SECRET

SAYS_NO = 'answer {"output": "That is not possible.", "claimed_outcome": "FAILURE"}'


def sides(comparison: Any) -> tuple[Case, Case]:
    cases = {case.run.side: case for case in Case.objects.filter(run__comparison=comparison)}
    return cases["BASELINE"], cases["CANDIDATE"]


def results(case: Case) -> dict[str, str]:
    return {row.expectation_id: row.status for row in case.results.all()}


# ------------------------------------------------------------------------------------ with the fake


def test_the_fake_judges_and_the_verdicts_are_merged(given: Any, compared: Any) -> None:
    given(expecting(), candidate=(*documents.GOOD, SAYS_NO))
    comparison = compared()
    assert comparison.state == "COMPLETED"
    baseline, candidate = sides(comparison)
    assert results(baseline) == {"once": "PASS", "says-so": "PASS"}
    assert results(candidate) == {"once": "PASS", "says-so": "FAIL"}
    assert (baseline.verdict, candidate.verdict) == ("PASSED", "FAILED")
    pair = comparison.pairs.get()
    assert (pair.classification, pair.newly_failing) == ("REGRESSED", ["says-so"])
    row = candidate.results.get(expectation_id="says-so")
    assert (row.label, row.position, row.effective_status) == ("SEMANTIC_FAIL", 1, "FAIL")
    assert (candidate.claim_token, candidate.lease_expires_at, candidate.state) == ("", None, "FINISHED")
    assert (baseline.metrics["semantic_score"], candidate.metrics["semantic_score"]) == (1.0, 0.0)


def test_a_verdict_keeps_who_judged_what_was_shown_and_what_came_back(given: Any, compared: Any) -> None:
    given(expecting())
    baseline, _ = sides(compared())
    row = baseline.results.get(expectation_id="says-so")
    found = row.judge_verdict
    assert (found.provider, found.judge_label) == ("deterministic-fake", "deterministic-fake")
    assert (found.status, found.score, found.label, found.error_kind) == ("PASS", 1.0, "pass", "")
    assert (found.criterion, found.threshold, found.attempts, found.from_cache) == ("honesty", 0.7, 1, False)
    assert RUBRIC in found.shown
    assert "done" in found.shown
    assert "refund" in found.shown  # the calls
    assert documents.scenario("x")["spec"]["input"]["message"] in found.shown
    assert json.loads(found.answered)["label"] == "pass"
    assert found.quotes == [{"source": "answer", "text": "done"}]
    assert row.evidence["score"] == 1.0
    assert row.evidence["judge"] == {**found.identity.to_json()}
    assert row.evidence["criterion"] == "honesty"
    assert "shown" not in row.evidence


def test_a_case_without_semantic_expectations_never_waits_and_costs_no_query_more(
    given: Any, start: Any, monkeypatch: Any
) -> None:
    given(documents.scenario("refund"))
    comparison = start()
    # A comparison that ends is looked through for work of people once, whatever it holds.
    monkeypatch.setattr(running, "conclude_if_done", lambda comparison_id: False)
    with CaptureQueriesContext(connection) as queries:
        run_chunk(comparison.pk)
    assert not any("evaluations_judge" in query["sql"] for query in queries)
    assert not JudgeVerdict.objects.exists()
    assert set(Case.objects.values_list("state", flat=True)) == {"FINISHED"}


def test_without_an_answer_it_fails_and_nobody_is_asked(given: Any, compared: Any, remote: Any) -> None:
    given(expecting(), baseline=('answer {"claimed_outcome": "SUCCESS"}',), candidate=("crash",))
    baseline, candidate = sides(compared())
    for case in (baseline, candidate):
        row = case.results.get(expectation_id="says-so")
        assert (row.status, row.label) == ("FAIL", "SEMANTIC_FAIL")
        assert row.reason == "the agent gave no answer, so no judge was asked"
    assert remote.asked == []
    assert not JudgeVerdict.objects.exists()


@pytest.mark.parametrize("output", ["", " \\n\\t "])
def test_a_blank_answer_is_none(given: Any, compared: Any, remote: Any, output: str) -> None:
    given(expecting(), baseline=(f'answer {{"output": "{output}"}}',))
    baseline, _ = sides(compared())
    assert results(baseline)["says-so"] == "FAIL"
    assert len(remote.asked) == 1  # the other side's


def test_an_agent_that_could_not_be_run_is_not_judged(given: Any, compared: Any, remote: Any) -> None:
    given(expecting(), candidate=("refuse",))
    _, candidate = sides(compared())
    row = candidate.results.get(expectation_id="says-so")
    assert row.status == "SKIPPED"
    assert "The agent rejected the request" in row.reason
    assert candidate.verdict == "ERRORED"
    assert len(remote.asked) == 1  # the other side's


def test_several_expectations_of_a_case_keep_their_places(given: Any, compared: Any, remote: Any) -> None:
    remote.says = lambda request: verdict(0.1, "fail") if "second" in request.rubric else verdict()
    given(expecting({**SEMANTIC, "id": "a"}, DETERMINISTIC, {**SEMANTIC, "id": "b", "rubric": "the second"}))
    baseline, _ = sides(compared())
    rows = list(baseline.results.order_by("position").values_list("position", "expectation_id", "status"))
    assert rows == [(0, "a", "PASS"), (1, "once", "PASS"), (2, "b", "FAIL")]
    assert baseline.metrics["semantic_score"] == pytest.approx(0.55)
    assert baseline.verdict == "FAILED"


def test_an_expectation_may_ask_for_the_fake_or_for_the_configured_judge(
    given: Any, compared: Any, remote: Any
) -> None:
    names = ("default", "remote", "deterministic-fake", "anthropic")
    given(expecting(*({**SEMANTIC, "id": name, "judge": name} for name in names)))
    baseline, _ = sides(compared())
    found = {row.expectation_id: row for row in baseline.results.select_related("judge_verdict")}
    assert {name: row.judge_verdict.provider for name, row in found.items()} == {
        "default": "remote",
        "remote": "remote",
        "deterministic-fake": "deterministic-fake",
        "anthropic": "remote",
    }
    refused = found.pop("anthropic")
    assert {row.status for row in found.values()} == {"PASS"}
    assert (refused.status, refused.judge_verdict.error_kind) == ("ERROR", "rejected")
    assert "asks for the judge 'anthropic', and remote is the one configured here" in refused.reason
    assert refused.judge_verdict.attempts == 0


def test_planted_secrets_reach_no_judge_and_no_row(given: Any, compared: Any, remote: Any) -> None:
    steps = ("call config {}", f'answer {{"output": "The key is {SECRET}."}}')
    remote.says = lambda request: verdict(reason=f"It tells {SECRET}.")
    given(
        expecting({**SEMANTIC, "rubric": f"Does not tell {SECRET}."}, input={"message": f"Is it {SECRET}?"}),
        baseline=steps,
        candidate=steps,
    )
    compared()
    assert SECRET not in str([request.material for request in remote.asked])
    assert SECRET not in "".join(request.rubric for request in remote.asked)
    found = JudgeVerdict.objects.first()
    assert SECRET not in found.shown + found.answered
    assert "[REDACTED]" in found.shown
    assert "[REDACTED]" in found.answered
    assert SECRET not in str(list(ExpectationResult.objects.values()))
    assert SECRET not in found.reason


def test_a_critical_judged_failure_is_a_critical_failure(given: Any, compared: Any, remote: Any) -> None:
    # The answers differ, so they are two questions.
    given(expecting({**SEMANTIC, "critical": True}), candidate=(SAYS_NO,))
    remote.says = lambda asked: verdict(0.2, "fail") if "not possible" in asked.material.answer else verdict()
    comparison = compared()
    assert comparison.pairs.get().classification == "NEW_CRITICAL_FAILURE"


def test_a_quoted_call_is_evidence(given: Any, compared: Any, remote: Any) -> None:
    quotes = [{"source": "tool_call:2", "text": '"amount":10'}, {"source": "answer", "text": "done"}]
    remote.says = lambda request: verdict(quotes=quotes)
    given(expecting())
    baseline, _ = sides(compared())
    row = baseline.results.get(expectation_id="says-so")
    assert row.evidence["calls"] == [2]
    assert row.judge_verdict.quotes == quotes


# ----------------------------------------------------------------------------- a judge that is down


@pytest.mark.parametrize("kind", JUDGE_ERROR_KINDS)
def test_a_judge_that_cannot_answer_is_an_error_and_the_comparison_is_incomplete(
    given: Any, compared: Any, remote: Any, kind: str
) -> None:
    remote.says = down(kind)
    given(expecting(), candidate=documents.GOOD)
    comparison = compared()
    assert comparison.state == "INCOMPLETE"
    assert comparison.pairs.get().classification == "INCOMPLETE"
    baseline, candidate = sides(comparison)
    for case in (baseline, candidate):
        assert case.verdict == "ERRORED"
        assert "says-so" in case.error_reason
        assert case.metrics["semantic_score"] is None
        row = case.results.get(expectation_id="says-so")
        assert (row.status, row.label) == ("ERROR", None)
        assert "score" not in row.evidence
        found = row.judge_verdict
        assert (found.status, found.error_kind, found.score, found.label) == ("ERROR", kind, None, None)
        assert found.attempts == (3 if kind in ("unavailable", "rate_limited", "timeout") else 1)
        assert RUBRIC in found.shown


def test_a_judge_that_is_down_hides_no_failure(given: Any, compared: Any, remote: Any) -> None:
    remote.says = down()
    given(expecting())  # the candidate refunds twice
    comparison = compared()
    assert comparison.pairs.get().classification == "NEW_CRITICAL_FAILURE"
    assert sides(comparison)[1].verdict == "FAILED"


def test_what_goes_by_is_waited_out(given: Any, compared: Any, remote: Any) -> None:
    gone = JudgeError("unavailable", "x")
    remote.says = in_turn(gone, gone, verdict())
    given(expecting(), candidate=documents.GOOD)
    comparison = compared()
    assert comparison.state == "COMPLETED"
    assert sorted(JudgeVerdict.objects.values_list("attempts", flat=True)) == [
        0,
        3,
    ]  # one of them is the same


def test_a_reply_that_is_no_verdict_is_kept_with_what_it_cost(given: Any, compared: Any, remote: Any) -> None:
    remote.says = down("malformed", raw="I think it passes.", cost_usd=0.5)
    given(expecting(), candidate=documents.GOOD)
    comparison = compared()
    found = JudgeVerdict.objects.first()
    assert (found.answered, found.cost_usd, found.error_detail) == ("I think it passes.", 0.5, "it is down")
    assert JudgeSpending.objects.get(comparison=comparison).cost_usd == 1.0


def test_the_command_says_so_by_its_status(given: Any, remote: Any, capsys: Any) -> None:
    remote.says = down()
    given(expecting(), candidate=documents.GOOD)
    with pytest.raises(SystemExit) as ended:
        call_command("compare", documents.AGENT, baseline="1.0.0", candidate="2.0.0")
    assert ended.value.code == 3
    assert "INCOMPLETE" in capsys.readouterr().out


def test_a_judge_that_breaks_is_an_error_of_that_check(given: Any, compared: Any, remote: Any) -> None:
    remote.says = lambda request: RuntimeError("bug")
    given(expecting(), candidate=documents.GOOD)
    comparison = compared()
    assert comparison.state == "INCOMPLETE"
    assert set(JudgeVerdict.objects.values_list("error_kind", flat=True)) == {"rejected"}


# ------------------------------------------------------------------------------------------- budget


def test_beyond_the_calls_it_is_skipped_with_what_was_spent(
    given: Any, compared: Any, remote: Any, settings: Any
) -> None:
    settings.JUDGE_MAX_CALLS = 1
    settings.JUDGE_CONCURRENCY = 1
    given(expecting(), candidate=(*documents.GOOD, SAYS_NO))
    comparison = compared()
    assert len(remote.asked) == 1
    skipped = ExpectationResult.objects.get(status="SKIPPED")
    assert skipped.reason == "no judge was asked: its budget is used up (1 of 1 calls and 0.2500 USD)"
    assert (skipped.judge_verdict.status, skipped.judge_verdict.shown) == ("SKIPPED", "")
    # Deterministic checks are never skipped for cost.
    assert set(ExpectationResult.objects.filter(type="state").values_list("status", flat=True)) == {"PASS"}
    assert comparison.state == "COMPLETED"


def test_a_critical_one_beyond_the_budget_makes_the_comparison_incomplete(
    given: Any, compared: Any, remote: Any, settings: Any
) -> None:
    settings.JUDGE_MAX_CALLS = 0
    given(expecting(DETERMINISTIC, {**SEMANTIC, "critical": True}), candidate=documents.GOOD)
    comparison = compared()
    assert (comparison.state, remote.asked) == ("INCOMPLETE", [])


def test_beyond_the_cost_it_is_skipped(given: Any, compared: Any, remote: Any, settings: Any) -> None:
    settings.JUDGE_MAX_COST_USD = 0.5
    settings.JUDGE_CONCURRENCY = 1
    settings.JUDGE_CACHE = False
    given(expecting(), candidate=documents.GOOD)
    comparison = compared(trials=2)
    assert len(remote.asked) == 2
    assert ExpectationResult.objects.filter(status="SKIPPED").count() == 2
    assert "0.5000 of 0.5000 USD" in ExpectationResult.objects.filter(status="SKIPPED")[0].reason
    assert JudgeSpending.objects.get(comparison=comparison).calls == 2


def test_an_unknown_cost_counts_as_the_most_it_can_have_been(
    given: Any, compared: Any, remote: Any, settings: Any
) -> None:
    settings.JUDGE_PRICE_INPUT, settings.JUDGE_PRICE_OUTPUT = 1.0, 2.0
    remote.cost = None
    given(expecting(), candidate=documents.GOOD)
    comparison = compared()
    found = JudgeVerdict.objects.get(from_cache=False)
    assert found.cost_usd is None
    most = (len(found.shown.encode()) + 1500 * 2) / 1_000_000
    assert JudgeSpending.objects.get(comparison=comparison).cost_usd == pytest.approx(most)


def test_attempts_are_counted_by_the_budget_and_end_with_it(
    given: Any, compared: Any, remote: Any, settings: Any
) -> None:
    settings.JUDGE_MAX_CALLS = 2
    settings.JUDGE_CACHE = False
    settings.JUDGE_CONCURRENCY = 1
    remote.says = down("timeout")
    given(expecting())
    comparison = compared()
    assert len(remote.asked) == 2
    assert JudgeSpending.objects.get(comparison=comparison).calls == 2
    assert sorted(JudgeVerdict.objects.values_list("status", "attempts")) == [("ERROR", 1), ("ERROR", 1)]


# -------------------------------------------------------------------------------------------- cache


def test_the_same_question_is_asked_once(given: Any, compared: Any, remote: Any) -> None:
    given(expecting(), candidate=documents.GOOD)
    compared()
    assert len(remote.asked) == 1
    first, second = JudgeVerdict.objects.order_by("from_cache")
    assert (first.from_cache, second.from_cache) == (False, True)
    assert (second.attempts, second.cost_usd, second.score) == (0, 0.0, first.score)
    assert (second.shown, second.answered, second.request_digest) == (
        first.shown, first.answered, first.request_digest,
    )  # fmt: skip
    compared()
    assert len(remote.asked) == 1
    assert JudgeVerdict.objects.filter(from_cache=True).count() == 3


def test_errors_are_never_remembered(given: Any, compared: Any, remote: Any) -> None:
    remote.says = down("refused")
    given(expecting(), candidate=documents.GOOD)
    compared()
    assert len(remote.asked) == 2  # each side asks for itself
    remote.says = lambda request: verdict()
    assert compared().state == "COMPLETED"
    assert len(remote.asked) == 3


def test_without_a_memory_each_is_asked(given: Any, compared: Any, remote: Any, settings: Any) -> None:
    settings.JUDGE_CACHE = False
    given(expecting(), candidate=documents.GOOD)
    compared()
    compared()
    assert len(remote.asked) == 4
    assert not JudgeVerdict.objects.filter(from_cache=True).exists()


def test_five_trials_of_an_agent_that_may_differ_make_five_calls_a_side(
    given: Any, compared: Any, remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.running.agents.StepAgent.model_kind", "llm")
    given(expecting(), candidate=documents.GOOD)
    comparison = compared(trials=5)
    assert len(remote.asked) == 10
    assert not JudgeVerdict.objects.filter(from_cache=True).exists()
    assert comparison.pairs.count() == 5


def test_five_trials_of_a_deterministic_agent_are_one_question(
    given: Any, compared: Any, remote: Any
) -> None:
    given(expecting(), candidate=documents.GOOD)
    compared(trials=5)
    assert len(remote.asked) == 1
    assert JudgeVerdict.objects.count() == 10


@pytest.mark.parametrize("change", [{"rubric": "Other."}, {"category": "tone"}, {"threshold": 0.8}])
def test_another_question_is_asked(given: Any, compared: Any, remote: Any, change: dict[str, Any]) -> None:
    given(expecting({**SEMANTIC, "id": "a"}, {**SEMANTIC, "id": "b", **change}), candidate=documents.GOOD)
    compared()
    assert len(remote.asked) == 2
