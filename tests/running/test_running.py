"""Running cases: what is stored, by whom, how often, and what a failure of anything does to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from evaluations import tasks
from evaluations.models import Case, ExpectationResult, PairedCase, ToolCall
from evaluations.services import claims, concluding, kits, running, storing
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.recovery import recover
from evaluations.services.running import run_chunk
from evaluations.services.waiting import run_here
from tests.running import documents

REFUND = documents.GOOD[1]


def sides(comparison: Any) -> tuple[Case, Case]:
    cases = {case.run.side: case for case in Case.objects.filter(run__comparison=comparison)}
    return cases["BASELINE"], cases["CANDIDATE"]


def expire_leases() -> None:
    Case.objects.filter(state="RUNNING").update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def stored_counts() -> tuple[int, int]:
    return ToolCall.objects.count(), ExpectationResult.objects.count()


# ------------------------------------------------------------------------------- an undisturbed run


def test_a_pair_is_run_stored_and_concluded(given: Any, compared: Any) -> None:
    given()
    comparison = compared()
    assert comparison.state == "COMPLETED"
    assert set(comparison.runs.values_list("state", "model_kind")) == {("FINISHED", "deterministic-fake")}
    pair = comparison.pairs.get()
    assert pair.classification == "NEW_CRITICAL_FAILURE"
    assert pair.newly_failing == ["once"]
    assert pair.first_divergence["step"] == 3
    baseline, candidate = sides(comparison)
    assert (baseline.verdict, candidate.verdict) == ("PASSED", "FAILED")
    assert (baseline.tool_call_count, candidate.tool_call_count) == (2, 3)
    assert baseline.initial_state_digest == candidate.initial_state_digest == pair.initial_state_id
    assert baseline.final_state_digest != candidate.final_state_digest
    assert candidate.contradiction
    assert [call.seq for call in candidate.tool_calls.order_by("seq")] == [1, 2, 3]
    assert baseline.claim_token == ""
    assert baseline.attempts == 1


def test_an_improvement_and_a_regression(given: Any, compared: Any) -> None:
    retry = (
        'call lookup {"order_id": "none"}',
        'call refund {"order_id": "A"}',
        'call refund {"order_id": "A"}',
    )
    given(baseline=documents.GOOD, candidate=(*documents.GOOD, *retry))
    assert compared().pairs.get().classification == "REGRESSED"
    assert compared(baseline="2.0.0", candidate="1.0.0").pairs.get().classification == "IMPROVED"


def test_trials_are_cases_of_their_own(given: Any, compared: Any) -> None:
    given()
    comparison = compared(trials=3)
    assert list(comparison.pairs.order_by("position").values_list("trial", flat=True)) == [1, 2, 3]
    assert len(set(comparison.pairs.values_list("seed", flat=True))) == 3
    assert Case.objects.filter(state="FINISHED").count() == 6


def test_cases_share_nothing(given: Any, compared: Any) -> None:
    """An agent that changes everything it is handed does not reach the next case (trap 13)."""
    given(documents.scenario("a", input={"message": "m", "context": {"tenant": "t1"}}), baseline=("mutate",))
    comparison = compared(candidate="1.0.0", trials=3)
    assert set(comparison.pairs.values_list("classification", flat=True)) == {"UNCHANGED"}
    assert set(Case.objects.values_list("final_state_digest", flat=True)).__len__() == 1
    assert set(Case.objects.values_list("verdict", flat=True)) == {"PASSED"}


# ------------------------------------------------------------------------------ what agents do wrong


@pytest.mark.parametrize(
    ("step", "label", "said"),
    [
        ("crash", "AGENT_CRASHED", "out of cheese"),
        ("hang", "AGENT_TIMEOUT", "no answer within 0.2 s"),
        ("garbage type", "AGENT_GARBAGE", "output: must be a text"),
        ("garbage big", "AGENT_GARBAGE", "bytes"),
        ('repeat 201 lookup {"order_id": "A"}', "AGENT_CALL_LIMIT", "more than 200 tool calls"),
    ],
)
def test_a_failing_agent_is_a_critical_finding(
    given: Any, compared: Any, step: str, label: str, said: str
) -> None:
    given(
        documents.scenario("refund", timeoutSeconds=0.2 if step == "hang" else 60), candidate=(REFUND, step)
    )
    comparison = compared()
    _, candidate = sides(comparison)
    finding = candidate.results.get(type="agentRun")
    assert (finding.status, finding.critical, finding.label) == ("FAIL", True, label)
    assert said in finding.reason
    assert candidate.verdict == "FAILED"
    assert candidate.answer is None
    # What it did before is graded all the same.
    assert candidate.results.get(expectation_id="once").status == "PASS"
    pair = comparison.pairs.get()
    assert pair.classification == "NEW_CRITICAL_FAILURE"
    assert comparison.state == "COMPLETED"


@pytest.mark.parametrize("step", ["refuse", "no-version"])
def test_an_agent_that_never_got_to_work_is_not_judged(given: Any, compared: Any, step: str) -> None:
    given(candidate=(step,))
    comparison = compared()
    _, candidate = sides(comparison)
    assert candidate.verdict == "ERRORED"
    assert candidate.results.get(type="agentRun").status == "ERROR"
    assert set(candidate.results.exclude(type="agentRun").values_list("status", flat=True)) == {"SKIPPED"}
    assert comparison.pairs.get().classification == "INCOMPLETE"
    assert comparison.state == "INCOMPLETE"
    assert "1 of 1 cases could not be compared: the candidate did not finish" in comparison.reason


def test_the_kept_answer_is_cut_but_judged_whole(given: Any, compared: Any) -> None:
    ends = {"id": "end", "type": "outputContains", "value": "END"}
    given(documents.scenario("a", expectations=[ends]), baseline=("long-answer 50000",))
    comparison = compared(candidate="1.0.0")
    baseline, _ = sides(comparison)
    assert baseline.results.get().status == "PASS"
    assert len(baseline.answer["output"]) == 20_000
    assert baseline.answer["output_cut"]


@pytest.mark.parametrize(
    "arguments", ['{"order_id": "A", "amount": NaN}', '{"order_id": "\\u0000"}', '{"order_id": "\\ud800"}']
)
def test_hostile_arguments_are_refused_and_stored(given: Any, compared: Any, arguments: str) -> None:
    given(candidate=(f"call refund {arguments}",))
    _, candidate = sides(compared())
    call = candidate.tool_calls.get()
    assert (call.http_status, call.error_code) == (400, "INVALID_ARGUMENT")


def test_an_argument_of_five_megabytes_is_refused_and_not_kept(given: Any, compared: Any) -> None:
    given(candidate=("flood 5000000",))
    _, candidate = sides(compared())
    call = candidate.tool_calls.get()
    assert (call.http_status, call.error_code) == (413, "ARGUMENTS_TOO_LARGE")
    assert len(str(call.arguments)) < 1000


# --------------------------------------------------------------------------------- what we do wrong


def test_a_bug_of_the_twin_errors_the_case_and_is_not_judged(
    given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given()
    real = running.run_case.__globals__["CaseTools"]
    import evaluations.agents.tools as tools

    step = tools.call_tool

    def broken(spec: Any, state: Any, name: Any, *rest: Any) -> Any:
        if name == "refund":
            raise ZeroDivisionError("adapter")
        return step(spec, state, name, *rest)

    monkeypatch.setattr(tools, "call_tool", broken)
    comparison = compared()
    assert real is tools.CaseTools
    baseline, candidate = sides(comparison)
    for case in (baseline, candidate):
        assert case.verdict == "ERRORED"
        assert case.error_reason == "the twin broke: ZeroDivisionError: adapter"
        assert set(case.results.values_list("status", flat=True)) == {"SKIPPED"}
        assert [call.tool for call in case.tool_calls.all()] == ["lookup"]
    assert comparison.state == "INCOMPLETE"
    assert comparison.pairs.get().classification == "INCOMPLETE"


def test_a_bug_in_a_check_is_an_error_of_that_check(
    given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from evaluations.grading import EXPECTATION_TYPES

    def broken(params: Any, evidence: Any) -> Any:
        raise KeyError("bug")

    kits._cache.clear()
    monkeypatch.setitem(
        EXPECTATION_TYPES, "maxRetries", replace(EXPECTATION_TYPES["maxRetries"], check=broken)
    )
    given(candidate=documents.GOOD)
    comparison = compared()
    _, candidate = sides(comparison)
    statuses = dict(candidate.results.values_list("expectation_id", "status"))
    assert statuses == {"once": "PASS", "no-retry": "ERROR"}
    assert candidate.verdict == "ERRORED"
    assert comparison.pairs.get().classification == "INCOMPLETE"
    kits._cache.clear()


def test_a_bug_of_the_harness_errors_one_case_and_stops_nothing(
    given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    real = running.run_case

    def broken(order: Any, keep_waiting: Any) -> Any:
        if order.kit.scenario.name == "a":
            raise RuntimeError("ours")
        return real(order, keep_waiting)

    monkeypatch.setattr(running, "run_case", broken)
    comparison = compared()
    assert set(Case.objects.filter(pair__scenario_name="a").values_list("verdict", flat=True)) == {"ERRORED"}
    assert "the harness failed: RuntimeError: ours" in comparison.reason
    assert comparison.pairs.get(scenario_name="b").classification == "NEW_CRITICAL_FAILURE"


def test_an_outcome_the_database_refuses_errors_its_case_alone(
    given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(documents.scenario("a"), documents.scenario("b"), candidate=documents.GOOD)
    real = storing._result_rows

    def rows(one: Any) -> Any:
        made = list(real(one))
        if one.kit.scenario.name == "a" and one.outcome.records:
            made.append(made[0])
        return made

    monkeypatch.setattr(storing, "_result_rows", rows)
    comparison = compared()
    a, b = comparison.pairs.order_by("scenario_name")
    assert a.classification == "INCOMPLETE"
    assert "cannot be stored" in a.reason
    assert b.classification == "UNCHANGED"


def test_a_comparison_that_cannot_be_concluded_fails_visibly(
    given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError("bug")

    monkeypatch.setattr(concluding, "compare_pair", broken)
    given()
    comparison = compared()
    assert comparison.state == "FAILED"
    assert "LookupError: bug" in comparison.reason


# --------------------------------------------------------------------------------- claims and leases


def test_a_case_is_claimed_once(given: Any, start: Any) -> None:
    given()
    comparison = start()
    first = claims.claim_cases(comparison.pk, token="one")
    assert len(first) == 2
    assert claims.claim_cases(comparison.pk, token="two") == []
    assert set(Case.objects.values_list("attempts", "claim_token")) == {(1, "one")}


def test_an_expired_claim_can_be_taken_alone(given: Any, start: Any) -> None:
    """One case a claim: whatever killed the first worker takes at most one case with it again."""
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = start()
    claims.claim_cases(comparison.pk, token="one")
    expire_leases()
    assert len(claims.claim_cases(comparison.pk, token="two")) == 1
    assert Case.objects.get(claim_token="two").attempts == 2


def test_a_stolen_lease_keeps_the_first_worker_from_storing(given: Any, start: Any) -> None:
    given(candidate=documents.GOOD)
    comparison = start()
    ids = claims.claim_cases(comparison.pk, token="slow")
    slow = [storing.Finished(row.case_id, kit, _ran(row.case_id)) for row, kit in running._with_kits(ids)]
    expire_leases()
    run_here(comparison.pk)
    before = stored_counts()
    assert storing.store(slow, "slow").cases == 0
    assert stored_counts() == before
    assert set(Case.objects.values_list("state", "attempts")) == {("FINISHED", 2)}


def _ran(case_id: int) -> Any:
    [order] = running._loaded([case_id])
    return running.run_case(order, lambda: True)


def test_a_case_is_given_up_after_three_attempts(given: Any, start: Any) -> None:
    given()
    comparison = start()
    for attempt in range(3):
        for token in ("x", "y"):
            claims.claim_cases(comparison.pk, token=f"{token}{attempt}")
        expire_leases()
    assert set(Case.objects.values_list("attempts", flat=True)) == {3}
    report = recover(wake=lambda *_: None)
    assert report.given_up == 2
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert "given up after 3 attempts" in comparison.reason
    assert set(Case.objects.values_list("verdict", flat=True)) == {"ERRORED"}
    assert set(ExpectationResult.objects.values_list("status", flat=True)) == {"SKIPPED"}


def test_a_delivery_more_than_needed_changes_nothing(given: Any, compared: Any) -> None:
    given()
    comparison = compared()
    before = stored_counts()
    tasks.run_chunk(comparison.pk)
    tasks.run_chunk(comparison.pk)
    tasks.recover()
    assert stored_counts() == before
    assert set(Case.objects.values_list("attempts", flat=True)) == {1}


def test_a_task_makes_room_after_its_turn(given: Any, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given(*(documents.scenario(f"s{number}") for number in range(6)))
    comparison = start()
    monkeypatch.setattr(tasks, "TURN_SECONDS", 0.0)
    queue: list[Any] = [((comparison.pk,), {"limit": 4})]
    monkeypatch.setattr(
        "evaluations.tasks.run_chunk.apply_async", lambda args, kwargs, **_: queue.append((args, kwargs))
    )
    turns = 0
    while queue:
        args, kwargs = queue.pop()
        tasks.run_chunk(*args, **kwargs)
        turns += 1
    assert turns > 1
    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"


@pytest.mark.parametrize(
    ("cases", "seconds", "limit", "following"),
    [(4, 0.01, 4, 16), (4, 8.0, 4, 1), (16, 1.0, 16, 8), (100, 0.0001, 100, 100), (1, 60.0, 1, 1)],
)
def test_chunks_grow_with_the_speed_of_the_cases(
    cases: int, seconds: float, limit: int, following: int
) -> None:
    assert tasks.next_limit(cases, seconds, limit) == following


def test_a_failing_database_releases_what_was_not_tried(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = start()

    def away(*_: Any) -> Any:
        raise OperationalError("the server went away")

    with monkeypatch.context() as patch:
        patch.setattr(running, "run_case", away)
        with pytest.raises(OperationalError):
            run_chunk(comparison.pk)
    # The first was being tried; the others get their attempt back.
    assert (
        list(Case.objects.order_by("pk").values_list("state", "attempts"))
        == [("QUEUED", 1)] + [("QUEUED", 0)] * 3
    )
    run_here(comparison.pk)
    assert set(Case.objects.values_list("state", flat=True)) == {"FINISHED"}


def test_cancelling_wins_over_a_case_that_is_being_run(given: Any, start: Any) -> None:
    given()
    comparison = start()
    ids = claims.claim_cases(comparison.pk, token="t")
    finished = [storing.Finished(row.case_id, kit, _ran(row.case_id)) for row, kit in running._with_kits(ids)]
    cancel_comparison(comparison)
    assert storing.store(finished, "t").cases == 0
    assert stored_counts() == (0, 0)
    assert concluding.conclude_if_done(comparison.pk) is False
    comparison.refresh_from_db()
    assert comparison.state == "CANCELLED"


def test_cancelling_wins_over_a_conclusion_under_way(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given()
    comparison = start()
    real = concluding.classify_pairs

    def cancelled_meanwhile(comparison_id: int) -> int:
        classified = real(comparison_id)
        cancel_comparison(comparison)
        return classified

    monkeypatch.setattr(concluding, "classify_pairs", cancelled_meanwhile)
    run_here(comparison.pk)
    comparison.refresh_from_db()
    assert comparison.state == "CANCELLED"


def test_a_worker_notices_a_cancellation_while_an_agent_works(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(baseline=("sleep 30",))
    comparison = start()
    real = claims.renew

    def renew(token: str) -> int:
        if Case.objects.filter(state="RUNNING").exists():
            cancel_comparison(comparison)
        return real(token)

    monkeypatch.setattr(claims, "renew", renew)
    started = timezone.now()
    run_here(comparison.pk)
    assert (timezone.now() - started).total_seconds() < 10
    assert stored_counts() == (0, 0)


def test_a_long_case_keeps_its_short_lease(given: Any, start: Any, settings: Any) -> None:
    settings.AGENTTWIN_LEASE_SECONDS = 1
    given(baseline=("sleep 2.2", *documents.GOOD), candidate=documents.GOOD)
    comparison = start()
    renewed: list[int] = []
    run_chunk(comparison.pk, on_stored=renewed.append)
    assert set(Case.objects.values_list("state", "attempts")) == {("FINISHED", 1)}


# -------------------------------------------------------------- what each side actually ran with


def test_a_side_that_ran_with_another_seed_makes_the_pair_incomplete(given: Any, start: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = start()
    run_chunk(comparison.pk, limit=1)
    PairedCase.objects.filter(scenario_name="a").update(seed=12345)
    run_here(comparison.pk)
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    pair = comparison.pairs.get(scenario_name="a")
    assert pair.classification == "INCOMPLETE"
    assert "the baseline ran with seed" in pair.reason
    assert "instead of 12345" in pair.reason
    assert pair.reason in comparison.reason
    assert comparison.pairs.get(scenario_name="b").classification == "NEW_CRITICAL_FAILURE"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("initial_state_digest", "f" * 64, "initial state"),
        ("used_twin_version_id", None, "twin version"),
        ("used_scenario_version_id", None, "scenario version"),
    ],
)
def test_every_pin_is_held_against_what_was_stored(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch, column: str, value: Any, said: str
) -> None:
    given()
    real = storing._case_columns
    monkeypatch.setattr(storing, "_case_columns", lambda one, now: {**real(one, now), column: value})
    comparison = start()
    run_here(comparison.pk)
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert f"ran with {said}" in comparison.reason


# ------------------------------------------------------------------------------------------ queries


def test_the_queries_of_a_chunk_do_not_grow_with_it(
    given: Any, start: Any, django_assert_num_queries: Any
) -> None:
    given(*(documents.scenario(f"s{number:02}") for number in range(20)))
    start()
    run_here(start().pk)  # compiles everything
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for limit in (2, 20):
        comparison = start()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            run_chunk(comparison.pk, limit=limit)
        counts.append(len([q for q in queries if not q["sql"].startswith(("SAVEPOINT", "RELEASE"))]))
    assert counts[0] == counts[1]


def test_documents_that_this_worker_cannot_use_error_their_case(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unusable(*_: Any) -> Any:
        raise ValueError("no adapter 'ledger' is registered")

    given()
    comparison = start()
    kits._cache.clear()
    monkeypatch.setattr(kits, "build_kit", unusable)
    run_here(comparison.pk)
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert "no adapter 'ledger' is registered" in comparison.reason
    assert set(Case.objects.values_list("verdict", flat=True)) == {"ERRORED"}
