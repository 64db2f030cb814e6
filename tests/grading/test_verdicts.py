from __future__ import annotations

import pytest

from evaluations.grading import AGENT_RUN_KINDS, agent_run_result, case_verdict, contradiction, verification
from tests.grading.building import result

P, F, E, S = "PASS", "FAIL", "ERROR", "SKIPPED"


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ([P], "PASSED"),
        ([P, S], "PASSED"),
        ([P, F], "FAILED"),
        ([F, E], "FAILED"),
        ([P, E], "ERRORED"),
        ([S], "ERRORED"),
        ([S, S], "ERRORED"),
        ([E], "ERRORED"),
        ([], "ERRORED"),
    ],
)
def test_case_verdict(statuses: list[str], verdict: str) -> None:
    assert case_verdict([result(f"e{n}", status) for n, status in enumerate(statuses)]) == verdict


def test_a_skipped_critical_expectation_is_errored_and_a_failure_wins() -> None:
    skipped = result("a", S, critical=True)
    assert case_verdict([skipped, result("b")]) == "ERRORED"
    assert case_verdict([skipped, result("b", F)]) == "FAILED"


def test_one_lucky_pass_among_errors_is_no_pass() -> None:
    # TRAPS 1: one pass and three infrastructure errors, or errors alone: neither is green.
    assert case_verdict([result("a"), *(result(f"e{n}", E) for n in range(3))]) == "ERRORED"
    assert case_verdict([result(f"e{n}", E) for n in range(4)]) == "ERRORED"


@pytest.mark.parametrize(
    ("claimed", "verified", "status", "contradicts"),
    [
        ("SUCCESS", True, "FAILURE", True),
        ("SUCCESS", True, "PARTIAL", True),
        ("SUCCESS", True, "SUCCESS", False),
        ("SUCCESS", False, "FAILURE", False),
        ("PARTIAL", True, "FAILURE", False),
        (None, True, "FAILURE", False),
        ("SUCCESS", True, None, False),
    ],
)
def test_contradiction(claimed: str | None, verified: bool, status: str | None, contradicts: bool) -> None:
    assert contradiction(claimed, verified, status) is contradicts


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result("a"), result("b", type="goalState")], (True, "SUCCESS")),
        ([result("a", F), result("b", type="outcomeVerified")], (True, "PARTIAL")),
        ([result("a", F)], (True, "FAILURE")),
        ([result("a", E)], (False, None)),
        ([result("a", S)], (False, None)),
        ([result("a", F, type="order"), result("b", F, type="maxRetries")], (False, None)),
        ([], (False, None)),
    ],
)
def test_only_measured_checks_of_the_outcome_verify(results: list, expected: tuple) -> None:
    assert verification(results) == expected


@pytest.mark.parametrize("kind", AGENT_RUN_KINDS)
def test_agent_run_findings_are_critical_facts(kind: str) -> None:
    finding = agent_run_result(kind, "detail\x00 of it")
    error = kind in ("unreachable", "refused", "version_unavailable")
    assert (finding.id, finding.type, finding.critical) == ("agentRun", "agentRun", True)
    assert finding.status == (E if error else F)
    assert (finding.label is None) is error
    assert "detail  of it" in finding.reason


def test_an_unknown_agent_run_kind_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="known: unreachable, refused"):
        agent_run_result("tired")
