"""What is new about the tools and sources a candidate declares."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.gate.tools import SEARCH, tools_of
from scenarios.documents.agent import load_agent
from tests.documents.samples import agent


def changes(before: Any, after: Any, **sources: Any) -> dict[str, str]:
    baseline = None if before is None else load_agent(agent(tools=before))
    candidate = load_agent(agent(tools=after, **sources))
    return {tool.name: tool.change for tool in tools_of(candidate, baseline, {})}


READS, PAYS = {"name": "t", "risk": "READ"}, {"name": "t", "risk": "WRITE_IRREVERSIBLE"}
ASKS = {**PAYS, "approval": {"requiredWhen": "always"}}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([READS], [READS], ""),
        ([], [READS], "a new tool (READ)"),
        (None, [READS], "a new tool (READ)"),
        ([], [{"name": "t"}], "a new tool (WRITE_IRREVERSIBLE)"),
        ([READS], [PAYS], "its risk rose from READ to WRITE_IRREVERSIBLE"),
        ([PAYS], [READS], ""),
        ([PAYS], [{"name": "t"}], ""),
        ([ASKS], [PAYS], "it no longer needs an approval"),
        ([PAYS], [ASKS], ""),
    ],
)
def test_what_is_new_is_said(before: Any, after: Any, change: str) -> None:
    assert changes(before, after) == {"t": change}


def test_a_new_source_is_a_right_that_a_search_shows() -> None:
    sources = {"retrieval": {"sources": [{"name": "kb"}]}}
    assert changes([READS], [READS], **sources) == {"t": "", "the source kb": "a new source to search"}
    assert changes([READS], [READS]) == {"t": ""}
    shown = tools_of(load_agent(agent(tools=[], **sources)), None, {SEARCH: ["asks"], "t": ["b", "a"]})
    assert shown[0].passing == ("asks",)


def test_a_tool_names_the_scenarios_that_show_it() -> None:
    (tool,) = tools_of(load_agent(agent(tools=[PAYS])), None, {"t": {"b", "a"}})
    assert (tool.passing, tool.is_irreversible) == (("a", "b"), True)
