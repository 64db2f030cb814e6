"""The prompt file: what judges are told, by which criteria, and in which form they answer."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROMPT_FILE = Path(__file__).parent / "prompt.yaml"
_PLACES = ("{criterion}", "{criterion_text}", "{blocks}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The file as it is used. `sha256` is of its bytes; `schema` is the JSON Schema of a verdict."""

    version: str
    sha256: str
    system: str
    request: str
    tool_name: str
    tool_description: str
    criteria: Mapping[str, str]
    schema: Mapping[str, Any]

    def criterion_text(self, criterion: str) -> str:
        """What the file says about a criterion; "" for one that is judged by its rubric alone."""
        return self.criteria.get(criterion, "")


def read_prompt(data: bytes) -> Prompt:
    """The prompt of a file's bytes.

    Raises:
        ValueError: it is no prompt file. The one that is shipped is, which a test sees to.
    """
    value = yaml.safe_load(data)
    if not isinstance(value, dict) or not isinstance(value.get("version"), str):
        raise ValueError("a prompt file is an object with a version that is a text")
    missing = {"system", "request", "tool", "criteria", "schema"} - value.keys()
    if missing:
        raise ValueError(f"the prompt file has no {', '.join(sorted(missing))}")
    if absent := [place for place in _PLACES if value["request"].count(place) != 1]:
        raise ValueError(f"the request of the prompt file must hold {', '.join(absent)} exactly once")
    return Prompt(
        version=value["version"],
        sha256=hashlib.sha256(data).hexdigest(),
        system=value["system"].strip(),
        request=value["request"].strip(),
        tool_name=value["tool"]["name"],
        tool_description=value["tool"]["description"],
        criteria={name: text.strip() for name, text in value["criteria"].items()},
        schema=value["schema"],
    )


@functools.cache
def shipped_prompt() -> Prompt:
    """The prompt that this version of the product judges with."""
    return read_prompt(PROMPT_FILE.read_bytes())
