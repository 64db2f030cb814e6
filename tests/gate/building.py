"""Evidence for the rules: the smallest clean comparison, of which a test changes what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evaluations.gate import CaseEvidence, CheckResult, Fact, GateEvidence, SideOfTrial, Trial
from evaluations.grading.verdicts import ERRORED, FAILED, PASSED
from scenarios.documents.gate_policy import GatePolicy

POLICY = GatePolicy(name="test")


def check(status: str = "PASS", *, name: str = "paid-once", **more: Any) -> CheckResult:
    given = {"type": "state", "critical": False, "reason": f"it is {status}", **more}
    return CheckResult(id=name, status=status, **given)


def side(*checks: CheckResult, **more: Any) -> SideOfTrial:
    """A finished side; its verdict follows from the checks (none: one that passes)."""
    results = checks or (check(),)
    if any(one.failed for one in results):
        verdict = FAILED
    else:
        verdict = ERRORED if any(one.is_missing for one in results) else PASSED
    return SideOfTrial(**{"verdict": verdict, "results": results, **more})


FAILING = check("FAIL", label="STATE_MISMATCH", reason="expected 1, got 2")
CRITICAL = replace(FAILING, critical=True)


def trial(candidate: SideOfTrial | None = None, baseline: SideOfTrial | None = None, **more: Any) -> Trial:
    given = {"number": 1, "klass": "UNCHANGED", "link": "/comparisons/1/cases/2/", **more}
    return Trial(candidate=candidate or side(), baseline=baseline or side(), **given)


def trials(
    passed: int, of: int, *, baseline: int | None = None, failing: CheckResult = FAILING
) -> tuple[Trial, ...]:
    """`of` trials of which the first `passed` pass, for the baseline the first `baseline` (None: all)."""
    before = of if baseline is None else baseline
    return tuple(
        trial(
            side() if number < passed else side(failing),
            side() if number < before else side(failing),
            number=number + 1,
        )
        for number in range(of)
    )


def case(*given: Trial, name: str = "pays-once", **more: Any) -> CaseEvidence:
    return CaseEvidence(scenario=name, **{"severity": "high", "trials": given or (trial(),), **more})


def evidence(*cases: CaseEvidence, **more: Any) -> GateEvidence:
    given = {
        "agent": "desk-bot",
        "candidate": "1.1.0",
        "baseline": "1.0.0",
        "comparison": 1,
        "state": "COMPLETED",
        "link": "/comparisons/1/",
        **more,
    }
    return GateEvidence(cases=cases or (case(),), **given)


def with_fact(kind: str, **more: Any) -> GateEvidence:
    return evidence(case(trial(side(facts=(Fact(kind, "refund:1 was applied twice"),))), **more))


def alone(found: GateEvidence) -> GateEvidence:
    """The same without a baseline."""
    cases = tuple(
        replace(one, trials=tuple(replace(each, baseline=None) for each in one.trials)) for one in found.cases
    )
    return replace(found, baseline=None, cases=cases)
