from __future__ import annotations

import pytest

from evaluations.grading import CLASSES, SideResults, agent_run_result, classify
from tests.grading.building import result

P, F, E, S = "PASS", "FAIL", "ERROR", "SKIPPED"


def side(**statuses: str) -> SideResults:
    """Expectations by name; a name in capitals is critical."""
    return SideResults(
        tuple(result(name, status, critical=name.isupper()) for name, status in statuses.items())
    )


@pytest.mark.parametrize(
    ("baseline", "candidate", "klass"),
    [
        (side(a=P), side(a=P), "UNCHANGED"),
        (side(a=F), side(a=F), "UNCHANGED"),
        (side(a=P, b=S), side(a=P, b=S), "UNCHANGED"),
        (side(a=P, b=F), side(a=P, b=P), "IMPROVED"),
        (side(a=P), side(a=F), "REGRESSED"),
        (side(A=P), side(A=F), "NEW_CRITICAL_FAILURE"),
        # TRAPS 5: one fixed check does not cancel one broken check.
        (side(a=P, b=F), side(a=F, b=P), "REGRESSED"),
        (side(a=P, A=F), side(a=F, A=P), "REGRESSED"),
        (side(a=P, A=P), side(a=F, A=F), "NEW_CRITICAL_FAILURE"),
        # Missing evidence is never read as a pass.
        (side(a=P), side(a=E), "INCOMPLETE"),
        (side(a=E), side(a=P), "INCOMPLETE"),
        (side(a=P, A=P), side(a=P, A=S), "INCOMPLETE"),
        (side(a=P, A=S), side(a=P, A=S), "INCOMPLETE"),
        (side(a=S), side(a=S), "INCOMPLETE"),
        (side(a=P, b=F), side(a=E, b=P), "INCOMPLETE"),
        (side(a=F, b=P), side(a=F, b=E), "INCOMPLETE"),
        (side(a=F, A=P), side(a=F, A=S), "INCOMPLETE"),
        (side(a=F, A=S), side(a=F, A=P), "INCOMPLETE"),
        # A new failure stands also where something else could not be evaluated.
        (side(a=P, b=P), side(a=F, b=E), "REGRESSED"),
        (side(A=P, b=P), side(A=F, b=E), "NEW_CRITICAL_FAILURE"),
        (side(A=E), side(A=F), "NEW_CRITICAL_FAILURE"),
        (side(a=S, b=P), side(a=F, b=P), "REGRESSED"),
        # An improvement needs a failure that now passes.
        (side(a=F, b=P), side(a=S, b=P), "UNCHANGED"),
        (side(a=S, b=P), side(a=P, b=P), "UNCHANGED"),
    ],
)
def test_classes(baseline: SideResults, candidate: SideResults, klass: str) -> None:
    assert classify(baseline, candidate).klass == klass
    assert klass in CLASSES


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        (side(a=P), side(a=P), "nothing fails on either side"),
        (side(a=F, b=P), side(a=F, b=P), "both sides fail a"),
        (side(a=F, b=P), side(a=S, b=P), "the baseline fails a, not measured on the candidate"),
        (side(a=F, b=P), side(b=P), "the baseline fails a, not measured on the candidate"),
        (
            side(a=F, b=F),
            side(a=F, b=S),
            "both sides fail a; the baseline fails b, not measured on the candidate",
        ),
    ],
)
def test_an_unchanged_pair_says_what_fails_and_what_is_not_known(
    baseline: SideResults, candidate: SideResults, reason: str
) -> None:
    assert classify(baseline, candidate).reason == reason


def test_new_failures_and_passes_are_named() -> None:
    found = classify(side(A=P, b=P, c=F, d=F), side(A=F, b=F, c=P, d=F))
    assert found.newly_failing == ("A", "b")
    assert found.newly_passing == ("c",)
    assert found.reason == "critical and newly failing: A (STATE_MISMATCH)"
    assert found.flags == ()


@pytest.mark.parametrize("baseline", [side(a=E), side(a=S), SideResults((), finished=False)])
def test_a_failure_without_a_measured_baseline_is_new_and_flagged(baseline: SideResults) -> None:
    found = classify(baseline, side(a=F))
    assert (found.klass, found.flags) == ("REGRESSED", ("baseline_not_evaluated:a",))
    assert found.reason.endswith("; the baseline was not evaluated on a")


@pytest.mark.parametrize(
    ("baseline", "candidate", "who"),
    [
        (
            SideResults((), finished=False, reason="cancelled"),
            side(a=P),
            "the baseline did not finish: cancelled",
        ),
        (side(a=P), SideResults((), finished=False), "the candidate did not finish"),
        (side(a=P), SideResults(()), "the candidate could not be graded"),
        (side(a=P), side(a=E), "the candidate could not be graded: a (because)"),
    ],
)
def test_incomplete_says_why(baseline: SideResults, candidate: SideResults, who: str) -> None:
    found = classify(baseline, candidate)
    assert found.klass == "INCOMPLETE"
    assert found.reason.startswith(who)


def with_run(kind: str, **statuses: str) -> SideResults:
    return SideResults((*side(**statuses).results, agent_run_result(kind)))


def test_a_candidate_that_crashed_is_a_new_critical_failure() -> None:
    found = classify(side(a=P), with_run("crashed", a=P))
    assert (found.klass, found.newly_failing, found.flags) == ("NEW_CRITICAL_FAILURE", ("agentRun",), ())


def test_a_candidate_that_could_not_be_reached_is_incomplete() -> None:
    assert classify(side(a=P), with_run("unreachable")).klass == "INCOMPLETE"


def test_a_baseline_that_crashed_and_a_candidate_that_ran_is_improved() -> None:
    assert classify(with_run("timeout", a=P), side(a=P)).newly_passing == ("agentRun",)
    assert classify(with_run("timeout", a=P), with_run("timeout", a=P)).klass == "UNCHANGED"


@pytest.mark.parametrize("statuses", [P, F, E, S])
def test_a_side_against_itself_never_changes(statuses: str) -> None:
    same = side(a=statuses, B=statuses, c=P)
    assert classify(same, same).klass in ("UNCHANGED", "INCOMPLETE")
    assert classify(same, same).newly_failing == ()
