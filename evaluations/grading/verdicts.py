"""From results to one verdict of a case, and what that says about the agent's claim (FORMATS 3.2)."""

from __future__ import annotations

from collections.abc import Iterable

from evaluations.grading.results import ERROR, FAIL, PASS, SKIPPED, Result

PASSED, FAILED, ERRORED = "PASSED", "FAILED", "ERRORED"
VERDICTS = (PASSED, FAILED, ERRORED)

#: Expectation types that look at what the case left behind. Only these can disprove a claim: a detour or a
#: slow answer says nothing about whether the work was done.
OUTCOME_TYPES = frozenset(
    {"state", "stateUnchanged", "onlyChanged", "stateCount", "goalState", "outcomeVerified"}
)


def case_verdict(results: Iterable[Result]) -> str:
    """FAILED if any failed; else ERRORED if one is ERROR, a critical one skipped, or none was measured."""
    statuses = set()
    critical_skipped = False
    for result in results:
        statuses.add(result.status)
        critical_skipped = critical_skipped or (result.critical and result.status == SKIPPED)
    if FAIL in statuses:
        return FAILED
    if ERROR in statuses or critical_skipped or PASS not in statuses:
        return ERRORED
    return PASSED


def verification(results: Iterable[Result]) -> tuple[bool, str | None]:
    """(verified, outcome) from the checks of `OUTCOME_TYPES` alone.

    SUCCESS when all that were measured pass, FAILURE when all fail, else PARTIAL; (False, None) when none was
    measured, because a claim nobody could check is not disproved.
    """
    measured = [result.status for result in results if result.type in OUTCOME_TYPES]
    measured = [status for status in measured if status in (PASS, FAIL)]
    if not measured:
        return False, None
    if FAIL not in measured:
        return True, "SUCCESS"
    return True, "PARTIAL" if PASS in measured else "FAILURE"


def contradiction(claimed: str | None, verified: bool, status: str | None) -> bool:
    """The agent claims success and a verification says otherwise."""
    return verified and claimed == "SUCCESS" and status in ("FAILURE", "PARTIAL")
