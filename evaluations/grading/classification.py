"""The class of one case of a comparison, from its expectations alone (FORMATS 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evaluations.grading.results import ERROR, FAIL, PASS, SKIPPED, Result
from evaluations.grading.run_findings import AGENT_RUN
from evaluations.grading.verdicts import ERRORED, case_verdict
from evaluations.grading.wording import listed

NEW_CRITICAL_FAILURE = "NEW_CRITICAL_FAILURE"
REGRESSED = "REGRESSED"
INCOMPLETE = "INCOMPLETE"
IMPROVED = "IMPROVED"
UNCHANGED = "UNCHANGED"
#: Worst first, which is also the order in which they are decided.
CLASSES = (NEW_CRITICAL_FAILURE, REGRESSED, INCOMPLETE, IMPROVED, UNCHANGED)

BASELINE_NOT_EVALUATED = "baseline_not_evaluated"


@dataclass(frozen=True, slots=True)
class SideResults:
    """One side of a case. `results` carry the statuses that count now (after reviews).

    `finished` is False when the side was never run to its end; `reason` then says why.
    """

    results: tuple[Result, ...] = ()
    finished: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Classification:
    """The class and why; the expectation ids that newly fail or pass.

    `flags` are `baseline_not_evaluated:ID` for a new failure whose baseline had no measurement.
    """

    klass: str
    reason: str
    newly_failing: tuple[str, ...] = ()
    newly_passing: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def classify(baseline: SideResults | None, candidate: SideResults) -> Classification:
    """Decide in the order of `CLASSES`: missing evidence hides no new failure and is never an improvement.

    A failure is new where the baseline did not fail the same expectation; one fixed expectation does not make
    up for another broken one. Without a baseline (None) every failure is new and nothing can improve.
    """
    if baseline is None:
        return _alone(candidate)
    before = {result.id: result for result in baseline.results}
    after = {result.id: result for result in candidate.results}
    failing = tuple(
        result for result in candidate.results if result.status == FAIL and _status(before, result.id) != FAIL
    )
    passing = _newly_passing(before, after, candidate)
    newly_failing = tuple(result.id for result in failing)
    unmeasured = [result.id for result in failing if not _measured(before, baseline, result.id)]
    flags = tuple(f"{BASELINE_NOT_EVALUATED}:{identity}" for identity in unmeasured)
    critical = [result for result in failing if result.critical]
    incomplete = _incomplete("baseline", baseline) or _incomplete("candidate", candidate)
    unknown = f"; the baseline was not evaluated on {listed(unmeasured)}" if unmeasured else ""
    if critical:
        klass, reason = NEW_CRITICAL_FAILURE, f"critical and newly failing: {_named(critical)}{unknown}"
    elif failing:
        klass, reason = REGRESSED, f"newly failing: {_named(failing)}{unknown}"
    elif incomplete:
        klass, reason = INCOMPLETE, incomplete
    elif passing:
        klass, reason = IMPROVED, f"failed for the baseline, passing now: {listed(passing)}"
    else:
        klass, reason = UNCHANGED, _unchanged(before, after)
    return Classification(klass, reason, newly_failing, passing, flags)


def _alone(candidate: SideResults) -> Classification:
    failing = tuple(result for result in candidate.results if result.status == FAIL)
    names = tuple(result.id for result in failing)
    if critical := [result for result in failing if result.critical]:
        return Classification(NEW_CRITICAL_FAILURE, f"critical and failing: {_named(critical)}", names)
    if failing:
        return Classification(REGRESSED, f"failing: {_named(failing)}", names)
    if incomplete := _incomplete("candidate", candidate):
        return Classification(INCOMPLETE, incomplete)
    return Classification(UNCHANGED, "nothing fails")


def _newly_passing(
    before: Mapping[str, Result], after: Mapping[str, Result], candidate: SideResults
) -> tuple[str, ...]:
    passing = [
        identity
        for identity, result in before.items()
        if result.status == FAIL and _status(after, identity) == PASS
    ]
    # A finding about the run is only stored when there is one: a run without one came to its end.
    run = before.get(AGENT_RUN)
    if run is not None and run.status == FAIL and AGENT_RUN not in after and candidate.finished and after:
        passing.append(AGENT_RUN)
    return tuple(passing)


def _status(results: Mapping[str, Result], identity: str) -> str | None:
    result = results.get(identity)
    return None if result is None else result.status


def _measured(before: Mapping[str, Result], baseline: SideResults, identity: str) -> bool:
    if identity == AGENT_RUN and identity not in before:
        return baseline.finished
    return _status(before, identity) in (PASS, FAIL)


def _incomplete(side: str, results: SideResults) -> str | None:
    """Why a side cannot be compared, or None."""
    if not results.finished:
        return f"the {side} did not finish{': ' if results.reason else ''}{results.reason}"
    unmeasured = [
        result
        for result in results.results
        if result.status == ERROR or (result.status == SKIPPED and result.critical)
    ]
    if unmeasured:
        first = unmeasured[0]
        return f"the {side} could not be graded: {listed([r.id for r in unmeasured])} ({first.reason})"
    if case_verdict(results.results) == ERRORED:
        return f"the {side} could not be graded: no expectation was evaluated"
    return None


def _named(results: tuple[Result, ...] | list[Result]) -> str:
    return listed([f"{result.id} ({result.label or result.type})" for result in results])


def _unchanged(before: Mapping[str, Result], after: Mapping[str, Result]) -> str:
    failing = [identity for identity, result in after.items() if result.status == FAIL]
    unknown = [
        identity
        for identity, result in before.items()
        if result.status == FAIL and _status(after, identity) not in (PASS, FAIL)
    ]
    told = [f"both sides fail {listed(failing)}"] if failing else []
    if unknown:
        told.append(f"the baseline fails {listed(unknown)}, not measured on the candidate")
    return "; ".join(told) or "nothing fails on either side"
