"""The engine's case with four checks, graded: what one core runs, records and decides, nothing stored.

Beside it the way most harnesses keep evidence: a full copy of the state and a full comparison at every call.
"""

from __future__ import annotations

import copy
import gc
import statistics
import time
from collections.abc import Callable

from bench.engine import ROUNDS, SECONDS_PER_ROUND, run_case, spec_with
from evaluations.grading import Answer, Evidence, case_verdict, compile_expectations, grade
from scenarios.documents.scenario import load_scenario
from twins.engine import CaseSpec, changes_between

CHECKS = [
    {"type": "state", "path": "orders.ORD-1001.refund_count", "equals": 1, "critical": True},
    {"type": "noDuplicateSideEffect", "critical": True},
    {"type": "order", "mustCall": ["get_policy"], "before": ["refund_payment"]},
    {"type": "onlyChanged", "paths": ["orders.ORD-1001", "emails"]},
]
_EXPECTATIONS = compile_expectations(
    load_scenario(
        {
            "apiVersion": "agenttwin.dev/v1",
            "kind": "Scenario",
            "metadata": {"name": "bench"},
            "spec": {"expectations": CHECKS},
        },
        rehearsal=True,
    ).expectations
)
_ANSWER = Answer.from_json({"output": "Your refund of 80 is on its way.", "claimed_outcome": "SUCCESS"})


def graded_case(spec: CaseSpec) -> None:
    """One fresh case from its first call to its verdict."""
    steps = run_case(spec)
    records = tuple(record for step in steps for record in step.records)
    evidence = Evidence(spec, steps[-1].state, records, _ANSWER, "Please refund 80 of ORD-1001.")
    verdict = case_verdict(grade(_EXPECTATIONS, evidence))
    assert verdict == "PASSED", verdict


def copied_case(spec: CaseSpec) -> None:
    """The same case where each call keeps a whole copy of the state and looks for its changes everywhere."""
    before = copy.deepcopy(spec.initial_state)
    for step in run_case(spec):
        after = copy.deepcopy(step.state.root)
        changes_between(before, after)
        before = after


def _rate(run: Callable[[CaseSpec], None], spec: CaseSpec) -> float:
    count, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < SECONDS_PER_ROUND:
        run(spec)
        count += 1
    return count / elapsed


def graded_figures() -> dict[str, float]:
    """Medians of alternating rounds, in cases per second of processor time."""
    small, large = spec_with(orders=14, lines=2), spec_with(orders=1_500, lines=28)
    kinds: dict[str, tuple[Callable[[CaseSpec], None], CaseSpec]] = {
        "graded": (graded_case, small),
        "graded_large_state": (graded_case, large),
        "copied": (copied_case, small),
        "copied_large_state": (copied_case, large),
    }
    for run, spec in kinds.values():
        run(spec)
    gc.freeze()  # a big fixture is not walked by every collection: what a worker does after loading, too
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        for name, (run, spec) in kinds.items():
            rates[name].append(_rate(run, spec))
    gc.unfreeze()
    return {name: statistics.median(found) for name, found in rates.items()}


if __name__ == "__main__":
    for name, figure in graded_figures().items():
        print(f"{name:24} {figure:12,.1f} cases/s")
