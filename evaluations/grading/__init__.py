"""Grading: from what was recorded to verdicts, trajectories and classes. Pure; knows no Django and no agent.

Grades an agent on what verifiably happened, never on what it says happened.
"""

from evaluations.grading.alignment import AlignedRow, align
from evaluations.grading.classification import CLASSES, Classification, SideResults, classify
from evaluations.grading.divergence import Divergence, first_divergence
from evaluations.grading.evidence import OUTCOMES, Answer, Evidence, Usage
from evaluations.grading.expectations import (
    EXPECTATION_TYPES,
    CompiledExpectation,
    ExpectationType,
    compile_expectations,
    expectation_type,
    grade,
    result_of,
)
from evaluations.grading.metrics import METRICS, compare_metrics, metrics, steps_taken
from evaluations.grading.results import STATUSES, Finding, Result
from evaluations.grading.run_findings import AGENT_RUN, AGENT_RUN_KINDS, agent_run_result, is_judged
from evaluations.grading.signals import is_retry, retry_seqs
from evaluations.grading.trajectory import STEP_KINDS, TrajectoryStep, trajectory
from evaluations.grading.verdicts import VERDICTS, case_verdict, contradiction, verification

__all__ = [
    "AGENT_RUN",
    "AGENT_RUN_KINDS",
    "CLASSES",
    "EXPECTATION_TYPES",
    "METRICS",
    "OUTCOMES",
    "STATUSES",
    "STEP_KINDS",
    "VERDICTS",
    "AlignedRow",
    "Answer",
    "Classification",
    "CompiledExpectation",
    "Divergence",
    "Evidence",
    "ExpectationType",
    "Finding",
    "Result",
    "SideResults",
    "TrajectoryStep",
    "Usage",
    "agent_run_result",
    "align",
    "case_verdict",
    "classify",
    "compare_metrics",
    "compile_expectations",
    "contradiction",
    "expectation_type",
    "first_divergence",
    "grade",
    "is_judged",
    "is_retry",
    "metrics",
    "result_of",
    "retry_seqs",
    "steps_taken",
    "trajectory",
    "verification",
]
