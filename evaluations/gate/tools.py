"""What a candidate declares that it may do, beside what the baseline did, and which scenarios show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from evaluations.gate.evidence import ToolEvidence
from scenarios.documents.agent import AgentManifest, AgentTool

#: From harmless to grave; a tool without a declared risk counts as one that cannot be taken back.
RISKS = ("READ", "WRITE_REVERSIBLE", "WRITE_IRREVERSIBLE", "EXECUTE", "ADMIN")
UNDECLARED = "WRITE_IRREVERSIBLE"
SEARCH = "search"


def tools_of(
    candidate: AgentManifest,
    baseline: AgentManifest | None,
    shown_by: Mapping[str, Collection[str]],
) -> tuple[ToolEvidence, ...]:
    """The candidate's tools and sources with what is new about each.

    `shown_by` names for each tool the passing scenarios that call it or name it under `covers`; the key
    SEARCH stands for searching the knowledge base.
    """
    before = {} if baseline is None else {tool.name: tool for tool in baseline.tools}
    sources = set() if baseline is None else {source["name"] for source in baseline.retrieval}
    tools = [
        ToolEvidence(
            tool.name,
            tool.risk or UNDECLARED,
            _change(before.get(tool.name), tool),
            tuple(sorted(shown_by.get(tool.name, ()))),
        )
        for tool in candidate.tools
    ]
    searched = tuple(sorted(shown_by.get(SEARCH, ())))
    new = [
        ToolEvidence(f"the source {source['name']}", "READ", "a new source to search", searched)
        for source in candidate.retrieval
        if source["name"] not in sources
    ]
    return (*tools, *new)


def _change(before: AgentTool | None, tool: AgentTool) -> str:
    risk = tool.risk or UNDECLARED
    if before is None:
        return f"a new tool ({risk})"
    was = before.risk or UNDECLARED
    if RISKS.index(risk) > RISKS.index(was):
        return f"its risk rose from {was} to {risk}"
    if before.approval_required_when is not None and tool.approval_required_when is None:
        return "it no longer needs an approval"
    return ""
