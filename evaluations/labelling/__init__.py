"""What a file of examples may hold: read, checked, every problem told. Pure."""

from evaluations.labelling.documents import (
    CRITERION_CHARACTERS,
    EXAMPLES_BYTES,
    JSONL,
    RUBRIC_CHARACTERS,
    ExampleDraft,
    ExamplesDocument,
    criterion_problem,
    examples_kind,
    read_examples,
    rubric_problem,
)

__all__ = [
    "CRITERION_CHARACTERS",
    "EXAMPLES_BYTES",
    "JSONL",
    "RUBRIC_CHARACTERS",
    "ExampleDraft",
    "ExamplesDocument",
    "criterion_problem",
    "examples_kind",
    "read_examples",
    "rubric_problem",
]
