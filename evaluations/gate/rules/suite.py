"""Whether the suite says enough, and whether what must pass passes."""

from __future__ import annotations

from collections.abc import Iterator

from evaluations.gate.evidence import COMPLETED, CaseEvidence, GateEvidence, Trial
from evaluations.gate.outcomes import BLOCK
from evaluations.gate.rules.registry import Found, Observation, found, overall, rule, seen
from evaluations.grading.wording import listed, plural
from scenarios.documents.gate_policy import GatePolicy, Mandatory


@rule("mandatory-not-passed", BLOCK, "A scenario that must pass did not.")
def mandatory_not_passed(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """A mandatory scenario has fewer passing trials than the policy asks for, or is not in the suite.

    Failing like the baseline is not enough. A trial that ended in an error is none that passed.
    """
    mandatory, rate = policy.mandatory, policy.mandatory.pass_rate
    missed = [
        seen(case, None, f"{case.tally}{_share_asked(case, rate)}")
        for case in evidence.counted
        if _is_mandatory(mandatory, case) and not case.is_passed(rate)
    ]
    absent = list(_absent(mandatory, evidence))
    return found(_mandatory_detail(len(missed), len(absent)), [*missed, *absent])


@rule("known-regression-back", BLOCK, "A failure that had been repaired is back.")
def known_regression_back(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """A scenario that keeps a failure which happened once fails in any trial.

    Such a scenario has the source production_regression or the tag regression.
    """
    observations = [
        seen(case, trial, _checks(trial))
        for case, trial in evidence.counted_trials()
        if case.is_known_regression and trial.candidate.graded and not trial.candidate.passed
    ]
    return found(plural(len({one.scenario for one in observations}), "known regression"), observations)


@rule("incomplete-evidence", BLOCK, "Evidence is missing or incomplete.")
def incomplete_evidence(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """A trial did not finish, could not be graded or was not compared; a case of the dataset was not run; the
    comparison did not come to its end.

    Where the policy accepts calibrated judges only, the verdict of another judge is missing evidence too.
    """
    observations = [*_unfinished(evidence), *_unmeasured(evidence)]
    if policy.calibrated_judges_only:
        observations += [
            Observation(
                f"{use.judge} judged {use.criterion} and is {use.words}, the policy "
                f"accepts calibrated judges only ({listed(list(use.scenarios))})",
                link=evidence.link,
            )
            for use in evidence.judges
            if not use.is_calibrated
        ]
    return found(plural(len(observations), "gap"), observations)


@rule("empty-suite", BLOCK, "The suite proves nothing.")
def empty_suite(policy: GatePolicy, evidence: GateEvidence) -> Found | None:
    """No case that counts was run, or the candidate passed none of them.

    A suite of failures alone shows nothing that works, even where the baseline fails the same way.
    """
    if not evidence.counted:
        left = len(evidence.cases)
        waiting = f"; {plural(left, 'generated case')} without approval" if left else ""
        return found("no case counts", [overall(f"no case counts{waiting}", evidence)])
    if any(case.is_passed(policy.mandatory.pass_rate) for case in evidence.counted):
        return None
    total = plural(len(evidence.counted), "case")
    return found("nothing passes", [overall(f"the candidate passes none of {total}", evidence)])


def _is_mandatory(mandatory: Mandatory, case: CaseEvidence) -> bool:
    return (
        mandatory.everything
        or case.scenario in mandatory.scenarios
        or case.severity in mandatory.severities
        or any(tag in mandatory.tags for tag in case.tags)
    )


def _absent(mandatory: Mandatory, evidence: GateEvidence) -> Iterator[Observation]:
    """What the policy names and the suite does not hold: nothing selected must never look like success."""
    held = {case.scenario for case in evidence.counted}
    for name in mandatory.scenarios:
        if name not in held:
            yield Observation("not in the suite, or not approved", name, link=evidence.link)
    tags = {tag for case in evidence.counted for tag in case.tags}
    for tag in mandatory.tags:
        if tag not in tags:
            yield overall(f"no scenario of the suite carries the mandatory tag {tag}", evidence)


def _mandatory_detail(missed: int, absent: int) -> str:
    parts = []
    if missed:
        parts.append(f"{plural(missed, 'mandatory scenario')} did not pass")
    if absent:
        parts.append(f"{absent} named by the policy {'is' if absent == 1 else 'are'} not in the suite")
    return "; ".join(parts)


def _share_asked(case: CaseEvidence, rate: float) -> str:
    if len(case.trials) == 1:
        return ""
    return "; all must" if rate == 1 else f"; {rate:.0%} must"


def _checks(trial: Trial) -> str:
    failing = trial.candidate.failing()
    return f"{failing[0].id}: {failing[0].reason}" if failing else trial.candidate.ending


def _unfinished(evidence: GateEvidence) -> Iterator[Observation]:
    # An INCOMPLETE comparison says which cases are missing; those are told one by one.
    if evidence.state not in (COMPLETED, "INCOMPLETE"):
        reason = f": {evidence.reason}" if evidence.reason else ""
        yield overall(f"the comparison is {evidence.state}{reason}", evidence)
    for name in evidence.absent:
        yield Observation("is in the dataset and was not run", name, link=evidence.link)
    for case in evidence.counted:
        if not case.trials:
            yield Observation("has no trial", case.scenario, case.case_id, link=evidence.link)


def _unmeasured(evidence: GateEvidence) -> Iterator[Observation]:
    for case, trial in evidence.counted_trials():
        if (gap := _gap(trial)) is not None:
            yield seen(case, trial, gap)


def _gap(trial: Trial) -> str | None:
    """What is missing of a trial, or None. The candidate's own gap is said before the baseline's."""
    sides = [("candidate", trial.candidate)]
    if trial.baseline is not None:
        sides.append(("baseline", trial.baseline))
    for name, side in sides:
        if side.verdict is None:
            return f"the {name} {side.ending}"
        missing = [one for one in side.results if one.is_missing]
        if missing:
            first = missing[0]
            return f"the {name} was not graded on {listed([one.id for one in missing])}: {first.reason}"
        if not side.graded:
            return f"the {name} could not be graded{f': {side.reason}' if side.reason else ''}"
    if trial.klass is None:
        return f"was not compared{f': {trial.reason}' if trial.reason else ''}"
    if trial.klass == "INCOMPLETE":
        return trial.reason or "the pair is incomplete"
    return None
