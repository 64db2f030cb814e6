"""How far the evidence itself can be trusted."""

from __future__ import annotations

from collections.abc import Iterator

from evaluations.gate.evidence import CaseEvidence, GateEvidence
from evaluations.gate.outcomes import WARN
from evaluations.gate.rules.bars import regressions
from evaluations.gate.rules.registry import Found, Observation, found, rule, seen
from evaluations.grading.wording import cut, listed, plural
from scenarios.documents.gate_policy import GatePolicy


@rule("uncalibrated-judge", WARN, "A judge that is not calibrated decided a check.")
def uncalibrated_judge(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """Expectations were decided by a judge whose agreement with people is not shown for their criterion."""
    observations = [
        Observation(
            f"{use.judge} on {use.criterion} is {use.words}"
            f"{f' ({cut(use.sentence, 200)})' if use.sentence else ''}: {listed(list(use.scenarios))}",
            link=evidence.link,
        )
        for use in evidence.judges
        if not use.is_calibrated
    ]
    return found(f"{len(observations)} {'criterion' if len(observations) == 1 else 'criteria'}", observations)


@rule("too-few-trials", WARN, "Too few trials to decide.")
def too_few_trials(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """A scenario has fewer graded trials than the policy asks for, or a critical one fewer than the k of its
    reliability bar; or it fails more often than the baseline by so little that it could be noise.
    """
    observations = [seen(case, None, told) for case in evidence.counted for told in _undecided(policy, case)]
    return found(f"{plural(len({one.scenario for one in observations}), 'scenario')} undecided", observations)


@rule("generated-unreviewed", WARN, "Generated cases wait for a person's approval.")
def generated_unreviewed(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """The suite holds generated scenarios that nobody has approved: they were run and do not count."""
    observations = [
        seen(case, None, f"generated, not approved: {case.tally}")
        for case in evidence.cases
        if not case.counts
    ]
    return found(plural(len(observations), "generated case"), observations)


def _undecided(policy: GatePolicy, case: CaseEvidence) -> Iterator[str]:
    graded, bar = case.graded_trials, policy.reliability
    if graded < policy.minimum_trials:
        yield f"{plural(graded, 'graded trial')}, at least {policy.minimum_trials} are asked"
    if bar is not None and case.is_critical and len(case.trials) < bar.k:
        yield f"pass^{bar.k} is not available from {plural(len(case.trials), 'trial')}"
    if perhaps := regressions(case).perhaps:
        yield listed(perhaps, 2)
