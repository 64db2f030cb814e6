"""An expectation as its author wrote it: the fields all types share, and the parameters of its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twins.documents.source import Finding
from twins.documents.wording import found

#: The id of the finding about the run itself, kept beside the expectations' results (FORMATS 3.1, end).
RUN_FINDING = "agentRun"

_SHARED = ("id", "type", "critical", "description", "category")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One check of a scenario. ``params`` holds the fields of its type under their names in the document."""

    id: str
    type: str
    critical: bool
    description: str
    category: str
    params: Mapping[str, Any]


def read_expectations(written: Sequence[Mapping[str, Any]]) -> tuple[Expectation, ...]:
    """The expectations of a valid scenario; without an ``id`` they are e1, e2, … by position."""
    return tuple(
        Expectation(
            id=one.get("id", default_id(position)),
            type=one["type"],
            critical=one.get("critical", False),
            description=one.get("description", ""),
            category=one.get("category", ""),
            params={name: value for name, value in one.items() if name not in _SHARED},
        )
        for position, one in enumerate(written)
    )


def default_id(position: int) -> str:
    """The id of the expectation at this position, counted from 0."""
    return f"e{position + 1}"


def unusable_ids(document: Any) -> Iterator[Finding]:
    """Two expectations with one id, the ids given by position among them, and the id that is not theirs."""
    spec = document.get("spec") if isinstance(document, dict) else None
    written = spec.get("expectations") if isinstance(spec, dict) else None
    if not isinstance(written, list):
        return
    taken: dict[str, int] = {}
    for position, one in enumerate(written):
        if not isinstance(one, dict):
            continue
        name = one.get("id", default_id(position))
        if not isinstance(name, str):
            continue
        if name == RUN_FINDING:
            yield Finding(
                ("spec", "expectations", position, "id"),
                f"the id {found(name)} belongs to the finding about the run itself",
            )
        if name in taken:
            yield Finding(
                ("spec", "expectations", position, *(("id",) if "id" in one else ())),
                f"the id {found(name)} is taken by spec.expectations[{taken[name]}]",
            )
        taken.setdefault(name, position)
