"""The tools and faults that a scenario names, held against those that exist.

A misspelt tool must not make a check that passes because it looks at nothing. Where a check needs a tool
of the twin to mean anything, the tool must be one of the twin's. Where it forbids calls it may also be one
the twin does not have (an agent can call any name, and the twin records it) unless the name looks like a
slip.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Sequence

from twins.documents.source import Finding
from twins.documents.validation import Mention
from twins.documents.wording import allowed, found, not_allowed, suggestion
from twins.engine.faults import FAULTS

_EVERY_TOOL = "*"
_SLIP = 0.8


def tool_findings(mentions: Sequence[Mention], tools: Collection[str] | None) -> Iterator[Finding]:
    """What is named and does not exist. Without a twin (``tools`` None) only the faults can be judged."""
    for mention in mentions:
        if mention.use == "covers":
            detail = _covered(mention.name, tools)
        elif (
            tools is None
            or mention.name in tools
            or (mention.use == "target" and mention.name == _EVERY_TOOL)
        ):
            detail = None
        elif mention.use == "any":
            detail = _slip(mention.name, tools)
        else:
            detail = _unknown(mention.name, tools)
        if detail is not None:
            yield Finding(mention.segments, detail)


def _covered(name: str, tools: Collection[str] | None) -> str | None:
    kind, _, what = name.partition(":")
    if kind == "fault" and what not in FAULTS:
        return not_allowed(what, tuple(FAULTS))
    if kind == "tool" and tools is not None and what not in tools:
        return _unknown(what, tools)
    return None


def _unknown(name: str, tools: Collection[str]) -> str:
    there_are = f"it has {allowed(tools)}" if tools else "it has none"
    return f"the twin has no tool {found(name)}; {there_are}{suggestion(name, tools)}"


def _slip(name: str, tools: Collection[str]) -> str | None:
    close = difflib.get_close_matches(name, tools, n=1, cutoff=_SLIP) if len(name) <= 100 else []
    return f"the twin has no tool {found(name)}; did you mean {close[0]}?" if close else None
