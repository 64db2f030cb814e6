"""Documents of scenarios, datasets, agents and rehearsed calls: from text to typed values, every problem
told at once.

Pure: no Django. Stands on the reader and checker of ``twins.documents``.
"""

from scenarios.documents.agent import AgentManifest, load_agent, validate_agent
from scenarios.documents.bundle import Bundle, BundleDocument, FileProblem, read_bundle
from scenarios.documents.calls import Calls, SearchRequest, ToolCallRequest, load_calls, validate_calls
from scenarios.documents.cases import case_seed, case_spec
from scenarios.documents.dataset import Dataset, load_dataset, validate_dataset
from scenarios.documents.expectations import Expectation
from scenarios.documents.scenario import Scenario, load_scenario, validate_scenario
from twins.documents import to_yaml

__all__ = [
    "AgentManifest",
    "Bundle",
    "BundleDocument",
    "Calls",
    "Dataset",
    "Expectation",
    "FileProblem",
    "Scenario",
    "SearchRequest",
    "ToolCallRequest",
    "case_seed",
    "case_spec",
    "load_agent",
    "load_calls",
    "load_dataset",
    "load_scenario",
    "read_bundle",
    "to_yaml",
    "validate_agent",
    "validate_calls",
    "validate_dataset",
    "validate_scenario",
]
