"""Bars that a policy sets: how reliable, how many regressions, how much of the tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluations.gate.evidence import CaseEvidence, GateEvidence, ToolEvidence
from evaluations.gate.outcomes import BLOCK
from evaluations.gate.rules.registry import Found, Observation, found, overall, rule, seen
from evaluations.grading.results import FAIL, PASS
from evaluations.grading.run_findings import AGENT_RUN
from evaluations.grading.statistics import fisher_exact
from evaluations.grading.wording import listed, plural
from scenarios.documents.gate_policy import GatePolicy


@rule("reliability-below-bar", BLOCK, "A critical scenario does not succeed often enough in a row.")
def reliability_below_bar(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The pass^k of a scenario of severity critical is below the policy's bar.

    pass^k is the chance that k tries in a row all succeed. Fewer than k trials decide nothing: that is a
    warning of its own.
    """
    bar = policy.reliability
    if bar is None:
        return None
    observations = []
    for case in evidence.counted:
        reached = case.counts_of_trials.pass_hat_k(bar.k) if case.is_critical else None
        if reached is not None and reached < bar.at_least - 1e-9:
            told = f"pass^{bar.k} is {reached:.2f} ({case.tally}), at least {bar.at_least:g} is asked"
            observations.append(seen(case, None, told))
    return found(f"{plural(len(observations), 'critical scenario')} below the bar", observations)


@rule("too-many-regressions", BLOCK, "More scenarios got worse than the policy tolerates.")
def too_many_regressions(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """More scenarios newly fail a check than the policy tolerates, which is none unless it says so.

    With one trial the classes of the cases decide. With several a check counts when it fails in all trials of
    the candidate and none of the baseline, or significantly more often; what could be noise is a warning of
    too few trials. Without a baseline every failing check is new.
    """
    worse = [(case, parted) for case in evidence.counted if (parted := regressions(case).certain)]
    if len(worse) <= policy.regressions_allowed:
        return None
    observations = [seen(case, None, listed(parted, 3)) for case, parted in worse]
    return found(f"{plural(len(worse), 'regression')}, {policy.regressions_allowed} tolerated", observations)


@rule("coverage-below-bar", BLOCK, "Too few of the candidate's tools are proven by a passing scenario.")
def coverage_below_bar(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The share of tools that a passing scenario calls or names under covers is below the policy's bar."""
    bars = (
        ("tools", policy.tools_covered, evidence.tools),
        (
            "irreversible tools",
            policy.irreversible_tools_covered,
            tuple(tool for tool in evidence.tools if tool.is_irreversible),
        ),
    )
    observations = [line for what, bar, tools in bars for line in _uncovered(what, bar, tools, evidence)]
    return found("; ".join(one.observed.partition(":")[0] for one in observations), observations)


@dataclass(frozen=True, slots=True)
class Regressions:
    """What a case fails more often than its baseline: for certain, and perhaps."""

    certain: tuple[str, ...]
    perhaps: tuple[str, ...]


def regressions(case: CaseEvidence) -> Regressions:
    """The checks of a case that got worse, each in a sentence."""
    certain: list[str] = []
    perhaps: list[str] = []
    for identity in dict.fromkeys(result.id for trial in case.trials for result in trial.candidate.failing()):
        failed, measured = _counted(case, identity, "candidate")
        before, of = _counted(case, identity, "baseline")
        if of and before / of >= failed / measured:
            continue
        if len(case.trials) == 1:
            certain.append(f"{identity} newly fails")
            continue
        told = f"{identity} fails in {failed} of {measured} trials"
        if not of:
            certain.append(f"{told}, the baseline was not measured" if _has_baseline(case) else told)
            continue
        told += f", for the baseline in {before} of {of}"
        test = fisher_exact((of - before, before), (measured - failed, failed))
        words = f"{told} ({test.words})" if test is not None else told
        is_certain = (before == 0 and failed == measured) or (test is not None and test.significant)
        (certain if is_certain else perhaps).append(words)
    return Regressions(tuple(certain), tuple(perhaps))


def _counted(case: CaseEvidence, identity: str, side: str) -> tuple[int, int]:
    """In how many trials of a side the check failed, and in how many it was measured."""
    failed = measured = 0
    for trial in case.trials:
        shown = getattr(trial, side)
        if shown is None:
            continue
        status = next((one.status for one in shown.results if one.id == identity), None)
        # A finding about the run is only stored when there is one: a run without one came to its end.
        ended = identity == AGENT_RUN and status is None and shown.verdict is not None
        measured += status in (PASS, FAIL) or ended
        failed += status == FAIL
    return failed, measured


def _has_baseline(case: CaseEvidence) -> bool:
    return any(trial.baseline is not None for trial in case.trials)


def _uncovered(
    what: str, bar: float | None, tools: tuple[ToolEvidence, ...], evidence: GateEvidence
) -> Iterator[Observation]:
    missing = [tool.name for tool in tools if not tool.passing]
    if bar is None or not tools:
        return
    covered = 100 * (len(tools) - len(missing)) / len(tools)
    if covered < bar - 1e-9:
        share = f"{len(tools) - len(missing)} of {len(tools)} {what} are covered, {bar:g}% is asked"
        yield overall(f"{share}: {listed(missing, 10)} without a passing scenario", evidence)
