"""What changed from the baseline and is no failure, but worth a look before a release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from evaluations.gate.evidence import CaseEvidence, GateEvidence, SideOfTrial, Trial
from evaluations.gate.outcomes import WARN
from evaluations.gate.rules.registry import Found, Observation, found, rule, seen
from evaluations.grading.wording import plural
from scenarios.documents.gate_policy import GatePolicy

Figure = Callable[[SideOfTrial], float | None]


@rule("slower", WARN, "A scenario got slower than the policy tolerates.")
def slower(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The median time of a scenario's trials rose by more than the policy tolerates.

    Only trials that the candidate passed, with a time on both sides, are compared: a quick failure is no
    gain. Each scenario is looked at on its own, so a faster one never makes up for it.
    """

    def observed() -> Iterator[Observation]:
        for case, before, after in _grown(evidence, lambda side: side.latency_ms):
            rise = after - before
            if rise > policy.latency_ignored_ms and rise > before * policy.latency_percent / 100:
                yield seen(
                    case, None, f"{before:,.0f} ms before, {after:,.0f} ms now{_percent(before, after)}"
                )

    observations = list(observed())
    return found(f"{plural(len(observations), 'scenario')} slower", observations)


@rule("dearer", WARN, "A scenario got dearer than the policy tolerates.")
def dearer(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The median cost of a scenario's trials rose by more than the policy tolerates.

    Compared like the time: per scenario, where the candidate passed and both costs are known.
    """

    def observed() -> Iterator[Observation]:
        for case, before, after in _grown(evidence, lambda side: side.cost_usd):
            rise = after - before
            if rise > before * policy.cost_percent / 100 + 1e-9:
                yield seen(
                    case, None, f"{before:.4f} USD before, {after:.4f} USD now{_percent(before, after)}"
                )

    observations = list(observed())
    return found(f"{plural(len(observations), 'scenario')} dearer", observations)


@rule("new-tool-without-case", WARN, "The candidate may do something new that no passing scenario shows.")
def new_tool_without_case(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The candidate declares a tool or a right that the baseline did not have, and no scenario that it passes
    calls it or names it under covers.

    A right is a higher risk of a tool, an approval that is no longer needed, a new source to search. Without
    a baseline everything the candidate declares is new.
    """
    observations = [
        Observation(f"{tool.name}: {tool.change}; no passing scenario covers it", link=evidence.link)
        for tool in evidence.tools
        if tool.change and not tool.passing
    ]
    return found(f"{len(observations)} new without a passing scenario", observations)


def _grown(evidence: GateEvidence, figure: Figure) -> Iterator[tuple[CaseEvidence, float, float]]:
    for case in evidence.counted:
        pairs = [pair for trial in case.trials if (pair := _both(trial, figure)) is not None]
        if pairs:
            yield case, median(before for before, _ in pairs), median(after for _, after in pairs)


def _both(trial: Trial, figure: Figure) -> tuple[float, float] | None:
    if trial.baseline is None or not trial.candidate.passed:
        return None
    before, after = figure(trial.baseline), figure(trial.candidate)
    return None if before is None or after is None else (before, after)


def _percent(before: float, after: float) -> str:
    return f" (+{100 * (after - before) / before:.0f}%)" if before else ""
