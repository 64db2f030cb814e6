"""Documents: from the text a person wrote to values the engine can trust, with every problem told at
once.

Pure: no Django, no files but the shipped schemas. A twin's document ends here; scenarios, agents and
calls stand on the same reader and checker in ``scenarios.documents``.
"""

from twins.documents.problems import DocumentError, Problem, format_problem
from twins.documents.source import Source, as_source, read_source, source_kind
from twins.documents.twin import load_twin, validate_twin
from twins.documents.yaml_writer import to_yaml

__all__ = [
    "DocumentError",
    "Problem",
    "Source",
    "as_source",
    "format_problem",
    "load_twin",
    "read_source",
    "source_kind",
    "to_yaml",
    "validate_twin",
]
