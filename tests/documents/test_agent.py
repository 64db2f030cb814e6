"""What an agent's manifest may say (FORMATS 5)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from scenarios.documents.agent import Limits, load_agent, validate_agent
from tests.documents.samples import agent, only, said, with_metadata, without
from twins.documents.problems import DocumentError

FULL = agent(
    description="d",
    instructions="Be careful.",
    model={"provider": "p", "name": "n", "temperature": 0, "maxTokens": 10, "params": {"any": [1]}},
    limits={"maxSteps": 5, "maxToolCalls": 6.0, "maxDurationSeconds": 1.5, "maxCostUsd": 0},
    tools=[
        {"name": "a", "risk": "READ", "version": "1", "description": "d", "inputSchema": {"type": "object"}},
        {
            "name": "b",
            "risk": {
                "level": "EXECUTE",
                "dimensions": {"financial": "high", "privacy": "none"},
                "compensatingAction": {"available": True, "tool": "undo"},
            },
            "approval": {"requiredWhen": "amount > 100"},
        },
    ],
    retrieval={"sources": [{"name": "kb", "kind": "articles"}]},
    data={"captureContent": True, "contentMode": "redacted", "piiMode": "hash"},
    runtime={"endpoint": "http://localhost:9000/agent"},
    expectedOutcomes=["refunded"],
    dependencies=[
        {
            "tool": "a",
            "dependsOn": [{"kind": "QUEUE", "name": "q", "relation": "writes", "criticality": "high"}],
        }
    ],
)


@pytest.mark.parametrize(
    "document",
    [
        agent(),
        agent(tools=[]),
        agent(promptRef={"name": "p", "sha256": "a" * 64}),
        with_metadata(FULL, description="d", labels={"team": "support"}),
    ],
)
def test_a_valid_manifest_has_no_problem_and_loads(document: Any) -> None:
    assert said(validate_agent(document)) == ""
    assert load_agent(document).version == "1.2.4"


def test_a_manifest_is_loaded_with_its_types() -> None:
    loaded = load_agent(FULL)
    assert loaded.limits == Limits(5, 6, 1.5, 0)
    assert loaded.model.max_tokens == 10
    assert [tool.risk for tool in loaded.tools] == ["READ", "EXECUTE"]
    assert loaded.tools[1].approval_required_when == "amount > 100"
    assert loaded.endpoint == "http://localhost:9000/agent"


@pytest.mark.parametrize("version", ["0.0.1", "1.2.4", "2.0.0-rc.1", "1.0.0+build.5", "1.0.0-x-y.7+z"])
def test_a_version_is_semantic(version: str) -> None:
    assert validate_agent(with_metadata(agent(), version=version)) == []


@pytest.mark.parametrize(
    "version", ["1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.x", ""]
)
def test_another_version_is_refused(version: str) -> None:
    assert "allowed a semantic version such as 1.2.4" in only(
        validate_agent(with_metadata(agent(), version=version))
    )


PROBLEMS: list[tuple[Any, str]] = [
    (without(agent(), "metadata", "name"), "metadata.name: is required"),
    (without(agent(), "metadata", "version"), "metadata.version: is required"),
    (with_metadata(agent(), version=1.2), "metadata.version: must be text, found 1.2 (quote it)"),
    (with_metadata(agent(), labels={"a": 1}), "metadata.labels.a: must be text, found 1 (quote it)"),
    (without(agent(), "spec", "tools"), "spec.tools: is required"),
    (agent(model={"name": "n"}), "spec.model.provider: is required"),
    (agent(model={"provider": "p", "name": "n", "top_p": 1}), "spec.model.top_p: is not a known field here"),
    (agent(limits={"maxSteps": "5"}), "spec.limits.maxSteps: must be a whole number"),
    (
        agent(instructions="x", promptRef={"name": "p", "sha256": "a" * 64}),
        "spec.promptRef: cannot be given together",
    ),
    (agent(promptRef={"name": "p", "sha256": "abc"}), "spec.promptRef.sha256: found"),
    (agent(tools=[{"name": "a b"}]), "spec.tools[0].name: found"),
    (agent(tools=[{"name": "a"}, {"name": "a"}]), "spec.tools[1].name: the tool a is listed twice"),
    (agent(tools=[{"name": "a", "risk": "HIGH"}]), 'spec.tools[0].risk: found "HIGH", allowed READ'),
    (agent(tools=[{"name": "a", "risk": {}}]), "spec.tools[0].risk.level: is required"),
    (agent(tools=[{"name": "a", "risk": {"level": "X"}}]), "spec.tools[0].risk.level: found"),
    (
        agent(tools=[{"name": "a", "risk": {"level": "READ", "dimensions": {"privacy": "huge"}}}]),
        'dimensions.privacy: found "huge", allowed none, low, medium, high',
    ),
    (
        agent(tools=[{"name": "a", "inputSchema": {"pattern": "("}}]),
        "spec.tools[0].inputSchema.pattern: is not JSON",
    ),
    (agent(data={"contentMode": "all"}), "spec.data.contentMode: found"),
    (agent(data={"piiMode": "none"}), 'spec.data.piiMode: found "none", allowed redact, drop, hash, mask'),
    (agent(runtime={"endpoint": "ftp://x"}), "spec.runtime.endpoint: found"),
    (agent(runtime={"endpoint": "http://user:pw@x"}), "spec.runtime.endpoint: found"),
    (
        agent(dependencies=[{"tool": "a", "dependsOn": [{"kind": "CLOUD", "name": "x"}]}]),
        "spec.dependencies[0].dependsOn[0].kind: found",
    ),
]


def test_a_missing_object_is_told_by_the_fields_it_needs() -> None:
    problems = [str(problem) for problem in validate_agent(without(agent(), "spec", "model"))]
    assert problems == ["spec.model.provider: is required", "spec.model.name: is required"]


@pytest.mark.parametrize(("document", "problem"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_wrong_manifest_is_refused_with_place_and_reason(document: Any, problem: str) -> None:
    assert problem in only(validate_agent(document))
    with pytest.raises(DocumentError):
        load_agent(document)


def test_the_instructions_have_a_digest_of_their_own() -> None:
    text = hashlib.sha256("Sei höflich.".encode()).hexdigest()
    assert load_agent(agent(instructions="Sei höflich.")).instructions_digest == text
    assert load_agent(agent(promptRef={"name": "p", "sha256": "A" * 64})).instructions_digest == "a" * 64
    assert load_agent(agent()).instructions_digest is None
