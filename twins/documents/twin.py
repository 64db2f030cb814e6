"""``kind: TwinDefinition`` (FORMATS 2): from a document to a compiled definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from twins.documents.problems import DocumentError, Problem
from twins.documents.source import DOCUMENT_BYTES, Finding, as_source
from twins.documents.validation import DocumentSchema, Mention
from twins.engine.definition import Definition, compile_definition
from twins.engine.redaction import SHORTEST_SECRET
from twins.engine.values import compact_json, digest

STATE_BYTES = DOCUMENT_BYTES
TWIN_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "twin.schema.json")


def validate_twin(document: Any) -> list[Problem]:
    """Every problem of a twin's document: a Source or a parsed value. Empty for a valid one."""
    return TWIN_SCHEMA.problems(as_source(document), _state_fits)


def load_twin(document: Any) -> Definition:
    """The definition of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document)
    problems = validate_twin(source)
    if problems:
        raise DocumentError(problems)
    return compile_definition(source.value, digest=digest(source.value))


def planted_secrets(document: Any) -> tuple[str, ...]:
    """The secrets that a twin's document plants, as far as they can be read: it may be invalid."""
    spec = document.get("spec") if isinstance(document, dict) else None
    secrets = spec.get("secrets") if isinstance(spec, dict) else None
    return tuple(
        secret
        for secret in (secrets if isinstance(secrets, list) else ())
        if isinstance(secret, str) and len(secret) >= SHORTEST_SECRET
    )


def state_finding(state: Any, what: str) -> str | None:
    """Why an initial state is too large, or None. Its size is that of its compact JSON in UTF-8."""
    size = len(compact_json(state).encode("utf-8", "surrogatepass"))
    return f"{what} is larger than 1 MiB ({size:,} bytes)" if size > STATE_BYTES else None


def _state_fits(document: Any, _mentions: Sequence[Mention]) -> Iterator[Finding]:
    spec = document.get("spec") if isinstance(document, dict) else None
    if isinstance(spec, dict) and "initialState" in spec:
        detail = state_finding(spec["initialState"], "the initial state")
        if detail is not None:
            yield Finding(("spec", "initialState"), detail)
