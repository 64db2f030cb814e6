"""``kind: Agent`` (FORMATS 5): the manifest of one version of an agent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twins.documents.problems import DocumentError, Problem
from twins.documents.source import Finding, as_source
from twins.documents.validation import DocumentSchema, Mention
from twins.engine.values import digest

AGENT_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "agent.schema.json")


@dataclass(frozen=True, slots=True)
class Model:
    """The model the agent declares to use."""

    provider: str
    name: str
    temperature: float | None = None
    max_tokens: int | None = None
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What the agent declares as its own limits; None where it declares none."""

    max_steps: int | None = None
    max_tool_calls: int | None = None
    max_duration_seconds: float | None = None
    max_cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool the agent declares to use. ``risk`` is its level, None where undeclared."""

    name: str
    version: str
    description: str
    risk: str | None
    dimensions: Mapping[str, str]
    compensating_action: Mapping[str, Any] | None
    input_schema: Any
    approval_required_when: Any


@dataclass(frozen=True, slots=True)
class AgentManifest:
    """A valid manifest.

    ``instructions`` is None where the text stays elsewhere (``prompt_ref``) or there is none.
    ``instructions_digest`` is the SHA-256 of the instructions, of those elsewhere as the manifest states
    it, and None without any. ``document`` is the JSON it was read from, ``digest`` the SHA-256 of its
    canonical form.
    """

    name: str
    version: str
    description: str
    labels: Mapping[str, str]
    instructions: str | None
    prompt_ref: Mapping[str, str] | None
    model: Model
    limits: Limits
    tools: tuple[AgentTool, ...]
    retrieval: tuple[Mapping[str, str], ...]
    data: Mapping[str, Any]
    endpoint: str | None
    expected_outcomes: tuple[str, ...]
    dependencies: tuple[Mapping[str, Any], ...]
    document: Mapping[str, Any]
    digest: str
    instructions_digest: str | None


def validate_agent(document: Any) -> list[Problem]:
    """Every problem of a manifest: a Source or a parsed value. Empty for a valid one."""
    return AGENT_SCHEMA.problems(as_source(document), _tools_once)


def load_agent(document: Any) -> AgentManifest:
    """The manifest of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document)
    problems = validate_agent(source)
    if problems:
        raise DocumentError(problems)
    return _manifest(source.value)


def _manifest(document: Mapping[str, Any]) -> AgentManifest:
    metadata, spec = document["metadata"], document["spec"]
    instructions, prompt_ref = spec.get("instructions"), spec.get("promptRef")
    return AgentManifest(
        name=metadata["name"],
        version=metadata["version"],
        description=metadata.get("description", spec.get("description", "")),
        labels=metadata.get("labels", {}),
        instructions=instructions,
        prompt_ref=prompt_ref,
        model=_model(spec["model"]),
        limits=_limits(spec.get("limits", {})),
        tools=tuple(_tool(one) for one in spec["tools"]),
        retrieval=tuple(spec.get("retrieval", {}).get("sources", ())),
        data=spec.get("data", {}),
        endpoint=spec.get("runtime", {}).get("endpoint"),
        expected_outcomes=tuple(spec.get("expectedOutcomes", ())),
        dependencies=tuple(spec.get("dependencies", ())),
        document=document,
        digest=digest(document),
        instructions_digest=_instructions_digest(instructions, prompt_ref),
    )


def _model(written: Mapping[str, Any]) -> Model:
    return Model(
        provider=written["provider"],
        name=written["name"],
        temperature=written.get("temperature"),
        max_tokens=_whole(written.get("maxTokens")),
        params=written.get("params"),
    )


def _limits(written: Mapping[str, Any]) -> Limits:
    return Limits(
        max_steps=_whole(written.get("maxSteps")),
        max_tool_calls=_whole(written.get("maxToolCalls")),
        max_duration_seconds=written.get("maxDurationSeconds"),
        max_cost_usd=written.get("maxCostUsd"),
    )


def _tool(written: Mapping[str, Any]) -> AgentTool:
    risk = written.get("risk")
    told: Mapping[str, Any] = risk if isinstance(risk, dict) else {"level": risk}
    return AgentTool(
        name=written["name"],
        version=written.get("version", ""),
        description=written.get("description", ""),
        risk=told["level"],
        dimensions=told.get("dimensions", {}),
        compensating_action=told.get("compensatingAction"),
        input_schema=written.get("inputSchema"),
        approval_required_when=written.get("approval", {}).get("requiredWhen"),
    )


def _whole(number: float | None) -> int | None:
    """JSON writes whole numbers as 40 or 40.0; both are 40."""
    return None if number is None else int(number)


def _instructions_digest(instructions: str | None, prompt_ref: Mapping[str, str] | None) -> str | None:
    if instructions is not None:
        return hashlib.sha256(instructions.encode()).hexdigest()
    return None if prompt_ref is None else prompt_ref["sha256"].lower()


def _tools_once(document: Any, _mentions: Sequence[Mention]) -> Iterator[Finding]:
    spec = document.get("spec") if isinstance(document, dict) else None
    tools = spec.get("tools") if isinstance(spec, dict) else None
    seen: set[str] = set()
    for position, tool in enumerate(tools if isinstance(tools, list) else ()):
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str):
            if name in seen:
                yield Finding(("spec", "tools", position, "name"), f"the tool {name} is listed twice")
            seen.add(name)
