"""What a report of a gate decision holds: the stored decision, how it reads now, and whether it verifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from evaluations.gate import EXIT_STATUS, Fired, Observation
from evaluations.gate.outcomes import COULD_NOT_DECIDE
from evaluations.models import GateDecision
from evaluations.services.gate import Verification, fired_in, is_stale, read_content, verification
from evaluations.services.gate_overrides import Standing, standing_of
from scenarios.holdouts import sight_of

PASSED, FAILED, ERRORED, NOT_COUNTED = "passed", "failed", "errored", "not counted"


@dataclass(frozen=True, slots=True)
class GateCase:
    """One case as it was decided on. `status` counts each case once: passed, failed, errored, not counted."""

    case_id: str
    scenario: str
    severity: str
    trials: int
    passed: int
    graded: int
    baseline_passed: int
    status: str
    # How its worst trial ended and where it parted from the baseline, where a rule fired for it.
    ending: str = ""
    first_divergence: str = ""
    link: str = ""

    @property
    def name(self) -> str:
        """`REF-USD-01 (refund-usd)`, or the scenario alone."""
        return f"{self.case_id} ({self.scenario})" if self.case_id else self.scenario

    @property
    def tally(self) -> str:
        """`failed`, `7 of 10 trials passed, 1 not graded`."""
        if self.trials == 1:
            return self.status if self.status != NOT_COUNTED else PASSED if self.passed else FAILED
        missing = self.trials - self.graded
        return f"{self.passed} of {self.trials} trials passed{f', {missing} not graded' if missing else ''}"


@dataclass(frozen=True, slots=True)
class GateReport:
    """A decision as its reports show it. One that does not verify is shown, and is never a pass."""

    id: int
    revision: int
    agent: str
    candidate: str
    baseline: str | None
    dataset: str | None
    is_holdout: bool
    policy: str
    comparison: int
    seed: int
    decided_at: datetime
    decided_by: str | None
    sha256: str
    standing: Standing
    verification: Verification
    is_stale: bool
    fired: tuple[Fired, ...]
    cases: tuple[GateCase, ...]
    link: str

    @property
    def is_hidden(self) -> bool:
        """Whether cases are shown without saying which they are."""
        return any(case.scenario == HIDDEN for case in self.cases)

    @property
    def exit_status(self) -> int:
        """0 pass or overridden, 2 warn, 3 block, 4 the stored decision cannot be trusted."""
        return EXIT_STATUS[self.standing.reads] if self.verification.holds else COULD_NOT_DECIDE

    @property
    def title(self) -> str:
        return (
            f"{self.candidate} alone"
            if self.baseline is None
            else f"{self.candidate} against {self.baseline}"
        )

    @property
    def counts(self) -> dict[str, int]:
        """Cases by status, each in exactly one."""
        found = dict.fromkeys((PASSED, FAILED, ERRORED, NOT_COUNTED), 0)
        for case in self.cases:
            found[case.status] += 1
        return found

    @property
    def counted(self) -> str:
        """`6 of 9 cases passed, 2 failed, 1 errored`."""
        counts = self.counts
        total = len(self.cases) - counts[NOT_COUNTED]
        more = [f"{count} {name}" for name, count in counts.items() if name != PASSED and count]
        head = f"{counts[PASSED]} of {total} case{'' if total == 1 else 's'} passed"
        return ", ".join([head, *more])


def load_gate_report(decision_id: int) -> GateReport:
    """Read a decision for reporting: three queries."""
    decision = GateDecision.objects.with_names().defer(None).get(pk=decision_id)
    return gate_report(decision)


def gate_report(decision: GateDecision, standing: Standing | None = None) -> GateReport:
    """The report of a decision with its names and content loaded. Cases come worst first."""
    comparison, content = decision.comparison, read_content(decision) or {}
    dataset, fired = comparison.dataset_version, fired_in(content)
    told = {one.scenario: one for rule in reversed(fired) for one in reversed(rule.observations)}
    cases = [_case(stored, told.get(stored["scenario"])) for stored in _cases(content)]
    return GateReport(
        id=decision.pk,
        revision=decision.revision,
        agent=comparison.agent.name,
        candidate=comparison.candidate.version,
        baseline=comparison.baseline_version,
        dataset=None if dataset is None else str(dataset),
        is_holdout=dataset is not None and dataset.is_holdout,
        policy=str(decision.policy_version),
        comparison=comparison.pk,
        seed=comparison.seed,
        decided_at=decision.decided_at,
        decided_by=decision.decided_by.get_username() if decision.decided_by else None,
        sha256=decision.sha256,
        standing=standing or standing_of(decision),
        verification=verification(decision),
        is_stale=is_stale(decision),
        fired=fired,
        cases=tuple(sorted(cases, key=lambda case: _WORST.index(case.status))),
        link=decision.get_absolute_url(),
    )


HIDDEN = "[holdout]"


def as_seen(report: GateReport, person: Any) -> GateReport:
    """The report for this person: of a holdout, those who may not look into it see rules and counts alone.

    Elsewhere the same goes for scenarios that are held out by now.
    """
    sight = sight_of(person)
    if sight.sees_all:
        return report
    if report.is_holdout:
        fired = tuple(_nameless(one) for one in report.fired)
        return replace(report, fired=fired, cases=tuple(map(_hidden, report.cases)))
    return replace(
        report,
        fired=tuple(_nameless(one) if any(map(sight.hides, one.where)) else one for one in report.fired),
        cases=tuple(_hidden(case) if sight.hides(case.scenario) else case for case in report.cases),
    )


_WORST = (ERRORED, FAILED, NOT_COUNTED, PASSED)


def _nameless(fired: Fired) -> Fired:
    seen = len(fired.where)
    told = f"{seen} case{'' if seen == 1 else 's'} of a holdout, shown to those who may look into it"
    return replace(fired, observations=(Observation(told),), where=(), more=0)


def _hidden(case: GateCase) -> GateCase:
    return replace(
        case, case_id="", scenario=HIDDEN, severity="hidden", trials=1, passed=0, graded=0, baseline_passed=0,
        ending="", first_divergence="", link="",
    )  # fmt: skip


def _cases(content: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The cases in what was hashed; none where somebody has spoilt it, which the verification tells."""
    inputs = content.get("inputs")
    cases = inputs.get("cases") if isinstance(inputs, Mapping) else None
    whole = isinstance(cases, list) and all(isinstance(one, Mapping) and one.keys() >= _KEYS for one in cases)
    return cases if whole and cases is not None else ()


_KEYS = {
    "case_id", "scenario", "severity", "counts", "trials", "passed", "graded", "reaches_rate",
    "baseline_passed",
}  # fmt: skip


def _case(stored: Mapping[str, Any], told: Observation | None) -> GateCase:
    trials, passed, graded = stored["trials"], stored["passed"], stored["graded"]
    if not stored["counts"]:
        status = NOT_COUNTED
    elif graded < trials or not trials:
        # Missing evidence is told before anything else: it is what has to be repaired first.
        status = ERRORED
    elif stored["reaches_rate"]:
        status = PASSED
    else:
        status = FAILED
    return GateCase(
        case_id=stored["case_id"],
        scenario=stored["scenario"],
        severity=stored["severity"],
        trials=trials,
        passed=passed,
        graded=graded,
        baseline_passed=stored["baseline_passed"],
        status=status,
        ending=told.candidate if told is not None else "",
        first_divergence=told.first_divergence if told is not None else "",
        link=told.link if told is not None else "",
    )
