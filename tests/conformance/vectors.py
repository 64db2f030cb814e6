"""The vectors of this folder: how they are read, and what a part of an outcome means (README.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twins.documents.source import read_source
from twins.engine.values import json_equal

FOLDER = Path(__file__).parent
DOCUMENTS = ("twin", "scenario", "calls")


@dataclass(frozen=True)
class Vector:
    """One file: documents as values or as raw text, and what a rehearsal does with them."""

    name: str
    fields: dict[str, Any]

    @property
    def seed(self) -> int:
        return int(self.fields.get("seed", 0))

    @property
    def trial(self) -> int:
        return int(self.fields.get("trial", 1))

    @property
    def expects_refusal(self) -> bool:
        return "expect_problems" in self.fields

    def write(self, folder: Path) -> list[str]:
        """Write the documents as files; the arguments of `rehearse` that name them."""
        arguments: list[str] = []
        for what in DOCUMENTS:
            if what in self.fields:
                path = folder / f"{what}.json"
                path.write_text(json.dumps(self.fields[what]))
            elif f"{what}_text" in self.fields:
                path = folder / f"{what}.yaml"
                path.write_text(self.fields[f"{what}_text"])
            else:
                continue
            arguments += [f"--{what}", str(path)]
        return [*arguments, "--seed", str(self.seed), "--trial", str(self.trial), "--format", "json"]

    def values(self) -> dict[str, Any]:
        """The documents as the function takes them; raw text as a Source, which knows its lines."""
        documents: dict[str, Any] = {}
        for what in DOCUMENTS:
            if what in self.fields:
                documents[what] = self.fields[what]
            elif f"{what}_text" in self.fields:
                documents[what] = read_source(self.fields[f"{what}_text"])
        return documents


def vectors() -> list[Vector]:
    """Every vector of the folder, by name. They are YAML themselves, read by the product's own reader."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        source = read_source(path.read_text())
        assert not source.problems, f"{path.name}: {source.problems}"
        found.append(Vector(path.stem, source.value))
    return found


def disagreement(expected: Any, actual: Any, place: str = "$") -> str | None:
    """Where `actual` does not have the part `expected`, or None: objects by subset, lists by position."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{place}: expected an object, got {actual!r}"
        for key, value in expected.items():
            if key not in actual:
                return f"{place}.{key}: is not there"
            found = disagreement(value, actual[key], f"{place}.{key}")
            if found:
                return found
        return None
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{place}: expected {len(expected)} entries, got {actual!r}"
        for index, value in enumerate(expected):
            found = disagreement(value, actual[index], f"{place}[{index}]")
            if found:
                return found
        return None
    return None if json_equal(expected, actual) else f"{place}: expected {expected!r}, got {actual!r}"
