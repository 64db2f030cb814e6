"""What the rules of the gate are shown: one comparison, read from its rows into frozen values.

A *case* is one scenario of the suite with all its trials; a trial holds both sides, or the candidate alone
where there is no baseline. Statuses are those that count now, after reviews.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from evaluations.grading.results import ERROR, FAIL, SKIPPED
from evaluations.grading.statistics import TaskTrials, task_trials
from evaluations.grading.verdicts import ERRORED, PASSED
from evaluations.grading.wording import listed

#: Kinds of facts, each of them enough to stop a release whatever the checks of the scenario say.
DUPLICATE, DISPROVED, DISCLOSURE, CROSS_TENANT, APPROVAL = (
    "duplicate_effect", "disproved_success", "disclosure", "cross_tenant", "missing_approval",
)  # fmt: skip
FACT_KINDS = (DUPLICATE, DISPROVED, DISCLOSURE, CROSS_TENANT, APPROVAL)

#: Where a scenario comes from when it keeps a failure that has happened.
REGRESSION_SOURCES = frozenset({"production_regression"})
REGRESSION_TAG = "regression"

COMPLETED, INCOMPLETE = "COMPLETED", "INCOMPLETE"
_STANDINGS = {
    "never": "not calibrated yet",
    "not_calibrated": "not calibrated",
    "stale": "calibrated for something else",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One expectation on one side of a trial, with the status that counts now."""

    id: str
    type: str
    critical: bool
    status: str
    label: str | None = None
    reason: str = ""

    @property
    def failed(self) -> bool:
        return self.status == FAIL

    @property
    def is_missing(self) -> bool:
        """It should have been measured and was not."""
        return self.status == ERROR or (self.critical and self.status == SKIPPED)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened and must not, with the words for it."""

    kind: str
    observed: str


@dataclass(frozen=True, slots=True)
class SideOfTrial:
    """What one version did in a trial. `verdict` None: it did not finish, `reason` says why."""

    verdict: str | None
    results: tuple[CheckResult, ...] = ()
    facts: tuple[Fact, ...] = ()
    latency_ms: float | None = None
    cost_usd: float | None = None
    reason: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict == PASSED

    @property
    def graded(self) -> bool:
        """Whether there is a measurement: neither unfinished nor errored."""
        return self.verdict is not None and self.verdict != ERRORED

    def failing(self, *, critical: bool = False) -> tuple[CheckResult, ...]:
        return tuple(one for one in self.results if one.failed and (one.critical or not critical))

    @property
    def ending(self) -> str:
        """The verdict in words, with the checks that failed."""
        if self.verdict is None:
            return f"did not finish{f': {self.reason}' if self.reason else ''}"
        names = listed([one.id for one in self.failing()], 4)
        return f"{self.verdict}{f' ({names})' if names else ''}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One pinned trial. `klass` None: it was never compared. `link` is the page of the pair."""

    number: int
    candidate: SideOfTrial
    baseline: SideOfTrial | None = None
    klass: str | None = None
    reason: str = ""
    first_divergence: Mapping[str, Any] | None = None
    newly_failing: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """One scenario of the suite. `case_id` is its name in the dataset, the scenario's where there is none.

    `counts` False: it was generated and nobody has approved it, so it can neither pass nor block a release.
    """

    scenario: str
    severity: str
    trials: tuple[Trial, ...]
    case_id: str = ""
    tags: tuple[str, ...] = ()
    source: str = "manual"
    counts: bool = True

    @property
    def name(self) -> str:
        return self.case_id or self.scenario

    @property
    def is_critical(self) -> bool:
        return self.severity == "critical"

    @property
    def is_known_regression(self) -> bool:
        return self.source in REGRESSION_SOURCES or REGRESSION_TAG in self.tags

    @property
    def passed_trials(self) -> int:
        return sum(trial.candidate.passed for trial in self.trials)

    @property
    def counts_of_trials(self) -> TaskTrials:
        """The candidate's trials in numbers, an errored one in the denominator like any other."""
        return task_trials(trial.candidate.verdict for trial in self.trials)

    @property
    def graded_trials(self) -> int:
        return sum(trial.candidate.graded for trial in self.trials)

    def is_passed(self, rate: float = 1.0) -> bool:
        """Whether enough of its trials pass, and at least one, however low the rate; a trial that was not
        graded is none that passed.
        """
        return self.passed_trials > 0 and self.passed_trials >= rate * len(self.trials) - 1e-9

    @property
    def worst_trial(self) -> Trial | None:
        """The first trial that did not pass, else the first."""
        missed = (trial for trial in self.trials if not trial.candidate.passed)
        return next(missed, self.trials[0] if self.trials else None)

    @property
    def tally(self) -> str:
        """`passed`, `7 of 10 trials passed`."""
        total = len(self.trials)
        if total == 1:
            return "passed" if self.passed_trials else self.trials[0].candidate.ending
        errored = total - self.graded_trials
        return f"{self.passed_trials} of {total} trials passed{f', {errored} not graded' if errored else ''}"


@dataclass(frozen=True, slots=True)
class ToolEvidence:
    """A tool or another right that the candidate declares. `change` says what is new about it, if anything.

    `passing` are the scenarios that call it or name it under `covers` and that the candidate passes.
    """

    name: str
    risk: str | None = None
    change: str = ""
    passing: tuple[str, ...] = ()

    @property
    def is_irreversible(self) -> bool:
        return self.risk in (None, "WRITE_IRREVERSIBLE")


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """A judge that decided expectations of this comparison, and how far it can be trusted."""

    judge: str
    criterion: str
    state: str
    sentence: str = ""
    scenarios: tuple[str, ...] = ()

    @property
    def is_calibrated(self) -> bool:
        return self.state == "calibrated"

    @property
    def words(self) -> str:
        """`not calibrated yet`, `calibrated for something else`."""
        return _STANDINGS.get(self.state, self.state.replace("_", " "))


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Everything a decision rests on. `baseline` None: the candidate was tried alone."""

    agent: str
    candidate: str
    baseline: str | None
    comparison: int
    state: str
    cases: tuple[CaseEvidence, ...]
    reason: str = ""
    dataset: str | None = None
    purpose: str = ""
    # Cases the dataset lists that the comparison does not hold.
    absent: tuple[str, ...] = ()
    # Planned and left out of the count: an errored trial that was run again.
    run_again: int = 0
    tools: tuple[ToolEvidence, ...] = ()
    judges: tuple[JudgeUse, ...] = ()
    link: str = ""

    @property
    def counted(self) -> tuple[CaseEvidence, ...]:
        """The cases that decide."""
        return tuple(case for case in self.cases if case.counts)

    @property
    def sha256(self) -> str:
        """One hash of everything the rules are shown: the same rows give the same."""
        whole = hashlib.sha256()

        def add(*values: Any) -> None:
            whole.update(json.dumps(values, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace"))

        add(self.agent, self.candidate, self.baseline, self.comparison, self.state, self.reason)
        add(self.dataset, self.purpose, self.absent, self.run_again)
        add([astuple(tool) for tool in self.tools], [astuple(use) for use in self.judges])
        for case in self.cases:
            add(case.scenario, case.severity, case.case_id, case.tags, case.source, case.counts)
            for trial in case.trials:
                add(trial.number, trial.klass, trial.reason, trial.first_divergence, trial.newly_failing)
                for side in (trial.baseline, trial.candidate):
                    if side is not None:
                        add(side.verdict, side.latency_ms, side.cost_usd, side.reason)
                        add([(fact.kind, fact.observed) for fact in side.facts])
                        add([(r.id, r.type, r.critical, r.status, r.label, r.reason) for r in side.results])
        return whole.hexdigest()

    def counted_trials(self) -> Iterator[tuple[CaseEvidence, Trial]]:
        return ((case, trial) for case in self.counted for trial in case.trials)
