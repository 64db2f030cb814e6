"""What a session starts from, as it is stored, and the engine's case that this makes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from twins.engine.case import DEFAULT_NOW, CaseSpec, Document
from twins.engine.faults import compile_fault_rules
from twins.engine.state import merge_patch
from twins.engine.values import compact_json
from twins.models import TwinVersion
from twins.services import twin_definition

DEFAULT_MAX_CALLS = 200


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """A case of a stored twin, in plain JSON values.

    `state_patch` is merged into the twin's initial state (RFC 7396). `faults` are a scenario's rules as it
    writes them, `documents` planted ones: ``{"id", "title", "text", "trusted"}``. `allowed_tools` None allows
    every tool. A call after `max_calls` ends the session.
    """

    twin_version_id: int
    seed: int = 0
    state_patch: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    allowed_tools: tuple[str, ...] | None = None
    tenant: str | None = None
    now: str = DEFAULT_NOW
    caller_role: str = "agent"
    documents: tuple[Mapping[str, Any], ...] = ()
    max_calls: int = DEFAULT_MAX_CALLS

    def to_json(self) -> dict[str, Any]:
        """The spec as one JSON value."""
        return {"schema_version": 1, **asdict(self)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> SessionSpec:
        """The spec of what `to_json` wrote."""
        known = {name: fields[name] for name in cls.__slots__}
        known["faults"], known["documents"] = tuple(known["faults"]), tuple(known["documents"])
        if known["allowed_tools"] is not None:
            known["allowed_tools"] = tuple(known["allowed_tools"])
        return cls(**known)

    @property
    def digest(self) -> str:
        """SHA-256 of the spec as it is written, the order of keys included: it shows in a cut answer."""
        return hashlib.sha256(compact_json(self.to_json()).encode()).hexdigest()

    def case_spec(self) -> CaseSpec:
        """The engine's case, compiled once per content and process. Raises TwinVersion.DoesNotExist."""
        twins = TwinVersion.objects.filter(pk=self.twin_version_id)
        return _compiled(_Key(self.digest, twins.values_list("digest", flat=True).get(), self))


class _Key:
    """What a compiled case depends on, by digest: the values inside a spec cannot be hashed."""

    __slots__ = ("digests", "spec")

    def __init__(self, digest: str, twin_digest: str, spec: SessionSpec) -> None:
        self.digests = (digest, twin_digest)
        self.spec = spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.digests == other.digests

    def __hash__(self) -> int:
        return hash(self.digests)


@lru_cache(maxsize=128)
def _compiled(key: _Key) -> CaseSpec:
    spec = key.spec
    definition = twin_definition(TwinVersion.objects.defer("source_text").get(pk=spec.twin_version_id))
    return CaseSpec(
        definition=definition,
        initial_state=merge_patch(definition.initial_state, dict(spec.state_patch)),
        seed=spec.seed,
        faults=compile_fault_rules(spec.faults),
        allowed_tools=None if spec.allowed_tools is None else frozenset(spec.allowed_tools),
        tenant=spec.tenant,
        now=spec.now,
        caller_role=spec.caller_role,
        documents=tuple(Document(**one) for one in spec.documents),
    )
