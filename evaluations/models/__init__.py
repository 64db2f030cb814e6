"""Rows of the evaluations room: agents, comparisons with their pinned pairs, cases with what was recorded."""

from evaluations.models.agents import Agent, AgentVersion
from evaluations.models.calibration import (
    Calibration,
    CalibrationOutcome,
    CalibrationResult,
    CalibrationState,
    Criterion,
    CriterionVersion,
    Example,
    Label,
    LabelValue,
    Onlooker,
)
from evaluations.models.cases import (
    Case,
    CaseState,
    ExpectationResult,
    RecordKind,
    ResultStatus,
    StateSnapshot,
    ToolCall,
    Verdict,
)
from evaluations.models.comparisons import (
    CLASS_RANKS,
    UNCLASSIFIED_RANK,
    CaseClass,
    Comparison,
    ComparisonState,
    PairedCase,
    Run,
    RunState,
    Side,
)
from evaluations.models.datasets import DatasetUse
from evaluations.models.manual import ManualSession, ManualState

__all__ = [
    "CLASS_RANKS",
    "UNCLASSIFIED_RANK",
    "Agent",
    "AgentVersion",
    "Calibration",
    "CalibrationOutcome",
    "CalibrationResult",
    "CalibrationState",
    "Case",
    "CaseClass",
    "CaseState",
    "Comparison",
    "ComparisonState",
    "Criterion",
    "CriterionVersion",
    "DatasetUse",
    "Example",
    "ExpectationResult",
    "Label",
    "LabelValue",
    "ManualSession",
    "ManualState",
    "Onlooker",
    "PairedCase",
    "RecordKind",
    "ResultStatus",
    "Run",
    "RunState",
    "Side",
    "StateSnapshot",
    "ToolCall",
    "Verdict",
]
