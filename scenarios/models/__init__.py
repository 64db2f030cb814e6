"""Scenarios with their versions, and the frozen lists of them."""

from scenarios.models.datasets import Dataset, DatasetCase, DatasetVersion, Purpose
from scenarios.models.scenarios import SEVERITY_RANKS, Scenario, ScenarioVersion, Severity

__all__ = [
    "SEVERITY_RANKS",
    "Dataset",
    "DatasetCase",
    "DatasetVersion",
    "Purpose",
    "Scenario",
    "ScenarioVersion",
    "Severity",
]
