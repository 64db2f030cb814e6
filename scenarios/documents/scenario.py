"""``kind: Scenario`` (FORMATS 3): from a document to a typed scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.documents.expectations import Expectation, read_expectations, unusable_ids
from scenarios.documents.mentions import tool_findings
from twins.documents.problems import DocumentError, Problem
from twins.documents.source import Finding, as_source
from twins.documents.twin import state_finding
from twins.documents.validation import DocumentSchema, Mention
from twins.documents.wording import found
from twins.engine.definition import Definition
from twins.engine.faults import FaultRule, compile_fault_rules
from twins.engine.redaction import SHORTEST_SECRET
from twins.engine.state import merge_patch
from twins.engine.values import digest

SCENARIO_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "scenario.schema.json")
DEFAULT_TIMEOUT_SECONDS = 60.0
# What a rehearsal, which has no agent to talk to, does not ask for.
_NOT_IN_A_REHEARSAL = (("spec", "input"), ("spec", "input", "message"))


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """A document the scenario puts into the knowledge base."""

    id: str
    content: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class Scenario:
    """A valid scenario. ``allowed_tools`` is None where the scenario does not restrict them.

    ``document`` is the JSON it was read from and ``digest`` the SHA-256 of its canonical form.
    """

    name: str
    severity: str
    tags: tuple[str, ...]
    description: str
    owner: str
    source: str
    source_trace_id: str
    generated: Any
    agent: str
    twin: str
    message: str
    context: Mapping[str, Any]
    documents: tuple[PlantedDocument, ...]
    state_patch: Mapping[str, Any]
    allowed_tools: frozenset[str] | None
    covers: tuple[str, ...]
    faults: tuple[FaultRule, ...]
    expectations: tuple[Expectation, ...]
    seed: int | None
    timeout_seconds: float
    trials: int
    simulation_mode: str
    document: Mapping[str, Any]
    digest: str

    @property
    def tenant(self) -> str | None:
        """The tenant whose case this is, or None."""
        return self.context.get("tenant")

    @property
    def now(self) -> str | None:
        """The case's clock, or None for the default one."""
        return self.context.get("now")


def validate_scenario(
    document: Any, *, twin: Definition | None = None, rehearsal: bool = False
) -> list[Problem]:
    """Every problem of a scenario's document: a Source or a parsed value. Empty for a valid one.

    With ``twin`` the scenario must be written for it: its name, its tools, the size of its patched state.
    In a rehearsal a scenario needs a name and expectations only.
    """

    def fits_twin(value: Any, mentions: Sequence[Mention]) -> Iterator[Finding]:
        yield from unusable_ids(value)
        yield from tool_findings(mentions, None if twin is None else twin.tools)
        if twin is not None:
            yield from _names_twin(value, twin)
            yield from _patched_state_fits(value, twin)

    optional = _NOT_IN_A_REHEARSAL if rehearsal else ()
    return SCENARIO_SCHEMA.problems(as_source(document), fits_twin, optional=optional)


def load_scenario(document: Any, *, twin: Definition | None = None, rehearsal: bool = False) -> Scenario:
    """The scenario of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document)
    problems = validate_scenario(source, twin=twin, rehearsal=rehearsal)
    if problems:
        raise DocumentError(problems)
    return _scenario(source.value)


def looked_for_secrets(document: Any) -> list[str]:
    """The texts that a scenario's own checks call secrets, as far as they can be read: it may be invalid."""
    expectations = _spec(document).get("expectations")
    listed = [
        one.get("secrets")
        for one in (expectations if isinstance(expectations, list) else ())
        if isinstance(one, dict)
    ]
    return [
        secret
        for secrets in listed
        for secret in (secrets if isinstance(secrets, list) else ())
        if isinstance(secret, str) and len(secret) >= SHORTEST_SECRET
    ]


def _scenario(document: Mapping[str, Any]) -> Scenario:
    metadata, spec = document["metadata"], document["spec"]
    given = spec.get("input", {})
    allowed = spec.get("allowedTools")
    seed = spec.get("seed")
    return Scenario(
        name=metadata["name"],
        severity=metadata.get("severity", "medium"),
        tags=tuple(metadata.get("tags", ())),
        description=metadata.get("description", ""),
        owner=metadata.get("owner", ""),
        source=metadata.get("source", "manual"),
        source_trace_id=metadata.get("sourceTraceId", ""),
        generated=metadata.get("generated"),
        agent=spec.get("agent", ""),
        twin=spec.get("twin", ""),
        message=given.get("message", ""),
        context=given.get("context", {}),
        documents=tuple(
            PlantedDocument(one["id"], one["content"], one.get("trusted", False))
            for one in given.get("documents", ())
        ),
        state_patch=spec.get("state", {}),
        allowed_tools=None if allowed is None else frozenset(allowed),
        covers=tuple(spec.get("covers", ())),
        faults=compile_fault_rules(spec.get("faults", ())),
        expectations=read_expectations(spec["expectations"]),
        seed=None if seed is None else int(seed),
        timeout_seconds=float(spec.get("timeoutSeconds", DEFAULT_TIMEOUT_SECONDS)),
        trials=int(spec.get("trials", 1)),
        simulation_mode=spec.get("simulationMode", ""),
        document=document,
        digest=digest(document),
    )


def _names_twin(document: Any, twin: Definition) -> Iterator[Finding]:
    named = _spec(document).get("twin")
    if isinstance(named, str) and named and named != twin.name:
        yield Finding(("spec", "twin"), f"found {found(named)}, the given twin is {twin.name}")


def _patched_state_fits(document: Any, twin: Definition) -> Iterator[Finding]:
    patch = _spec(document).get("state")
    if isinstance(patch, dict):
        detail = state_finding(
            merge_patch(twin.initial_state, patch), "the twin's initial state with this patch"
        )
        if detail is not None:
            yield Finding(("spec", "state"), detail)


def _spec(document: Any) -> Mapping[str, Any]:
    spec = document.get("spec") if isinstance(document, dict) else None
    return spec if isinstance(spec, dict) else {}
