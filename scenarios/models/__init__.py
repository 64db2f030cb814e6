"""Scenarios with their versions, and the frozen lists of them."""

from scenarios.models.approvals import ScenarioApproval
from scenarios.models.datasets import Dataset, DatasetCase, DatasetVersion, Purpose
from scenarios.models.scenarios import SEVERITY_RANKS, Scenario, ScenarioVersion, Severity
from scenarios.querysets import GENERATED

__all__ = [
    "GENERATED",
    "SEVERITY_RANKS",
    "Dataset",
    "DatasetCase",
    "DatasetVersion",
    "Purpose",
    "Scenario",
    "ScenarioApproval",
    "ScenarioVersion",
    "Severity",
]
