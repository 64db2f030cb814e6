"""Rows of the evaluations room: agents, comparisons with their pinned pairs, cases with what was recorded."""

from evaluations.models.agents import Agent, AgentVersion
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
from evaluations.models.manual import ManualSession, ManualState

__all__ = [
    "CLASS_RANKS",
    "UNCLASSIFIED_RANK",
    "Agent",
    "AgentVersion",
    "Case",
    "CaseClass",
    "CaseState",
    "Comparison",
    "ComparisonState",
    "ExpectationResult",
    "ManualSession",
    "ManualState",
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
