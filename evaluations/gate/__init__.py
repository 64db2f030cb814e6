"""The release gate: rules over stored evidence, and the decision they make together.

Pure: no Django. The evidence is read from rows elsewhere (`evaluations.services.gate_evidence`).
"""

from evaluations.gate.decision import Decision, Fired, Observation, decide
from evaluations.gate.evidence import (
    APPROVAL,
    CROSS_TENANT,
    DISCLOSURE,
    DISPROVED,
    DUPLICATE,
    CaseEvidence,
    CheckResult,
    Fact,
    GateEvidence,
    JudgeUse,
    SideOfTrial,
    ToolEvidence,
    Trial,
)
from evaluations.gate.outcomes import BLOCK, EXIT_STATUS, OUTCOMES, OVERRIDDEN, PASS, WARN
from evaluations.gate.rules import RULES, Rule

__all__ = [
    "APPROVAL",
    "BLOCK",
    "CROSS_TENANT",
    "DISCLOSURE",
    "DISPROVED",
    "DUPLICATE",
    "EXIT_STATUS",
    "OUTCOMES",
    "OVERRIDDEN",
    "PASS",
    "RULES",
    "WARN",
    "CaseEvidence",
    "CheckResult",
    "Decision",
    "Fact",
    "Fired",
    "GateEvidence",
    "JudgeUse",
    "Observation",
    "Rule",
    "SideOfTrial",
    "ToolEvidence",
    "Trial",
    "decide",
]
