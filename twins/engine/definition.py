"""A twin, compiled: everything a document says, parsed once and frozen (FORMATS 2)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from .handlers import EFFECT_OPS, HANDLER_KINDS, Handler, compile_handler
from .paths import Path, parse_path
from .schemas import Schema, compile_schema
from .templates import PathTemplate, Template, parse_path_template, parse_template
from .values import digest as digest_of

__all__ = ["EFFECT_OPS", "HANDLER_KINDS", "RISKS", "Definition", "Idempotency", "Tool", "compile_definition"]

RISKS: Final = ("READ", "WRITE_REVERSIBLE", "WRITE_IRREVERSIBLE", "EXECUTE", "ADMIN")
DEFAULT_KB_PATH: Final = "kb"

_CACHE_SIZE: Final = 64


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Where the idempotency key of a call comes from: an argument, else a header (in lower case here)."""

    argument: str | None
    header: str | None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, compiled. The raw schemas are kept to be shown and handed to agents."""

    name: str
    description: str
    input_schema: Any
    output_schema: Any
    risk: str
    idempotency: Idempotency | None
    effect_key: Template | None
    tenant_path: PathTemplate | None
    handler: Handler
    handler_kind: str
    input_validator: Schema | None
    output_validator: Schema | None

    @property
    def expects_mutation(self) -> bool:
        """Whether every call is meant to change state."""
        return self.handler.mutates


@dataclass(frozen=True, slots=True)
class Definition:
    """One twin, compiled. `initial_state` is shared by all cases and never changed."""

    name: str
    description: str
    initial_state: dict[str, Any]
    tenant_key: str | None
    secrets: tuple[str, ...]
    kb_path: Path
    tools: Mapping[str, Tool]
    digest: str
    # By tool the argument that is its idempotency key; none, or one in a header, is not here.
    key_arguments: Mapping[str, str]


def compile_definition(document: Mapping[str, Any], *, digest: str | None = None) -> Definition:
    """The definition of a document that has been validated; the same content is compiled once.

    `digest`: the document's canonical SHA-256 if the caller has it, else it is computed. Raises ValueError
    for what validation should have refused, UnknownAdapter for an adapter that this process lacks.
    """
    key = digest or digest_of(document)
    cached = _CACHE.get(key)
    if cached is None:
        cached = _compile(document, key)
        _CACHE.put(key, cached)
    return cached


def risk_of(tool: Mapping[str, Any]) -> str:
    """The risk of a tool as a validated document writes it: known also where its adapter is missing."""
    return tool.get("risk") or ("READ" if tool["handler"]["kind"] == "read" else "WRITE_IRREVERSIBLE")


class _DefinitionCache:
    """The definitions used last, by content hash; bounded, and safe between threads."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Definition] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Definition | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: str, definition: Definition) -> None:
        with self._lock:
            self._entries[key] = definition
            if len(self._entries) > _CACHE_SIZE:
                self._entries.popitem(last=False)


_CACHE: Final = _DefinitionCache()


def _compile(document: Mapping[str, Any], digest: str) -> Definition:
    metadata, spec = document["metadata"], document["spec"]
    tools = {name: _compile_tool(name, tool) for name, tool in spec["tools"].items()}
    return Definition(
        name=metadata["name"],
        description=metadata.get("description") or "",
        initial_state=spec.get("initialState") or {},
        tenant_key=spec.get("tenantKey"),
        secrets=tuple(spec.get("secrets") or ()),
        kb_path=parse_path((spec.get("retrieval") or {}).get("statePath", DEFAULT_KB_PATH)),
        tools=MappingProxyType(tools),
        digest=digest,
        key_arguments=MappingProxyType(key_arguments(spec["tools"])),
    )


def key_arguments(tools: Mapping[str, Any]) -> dict[str, str]:
    """`Definition.key_arguments` of the tools of a document, which needs nothing compiled."""
    keys = {name: (tool.get("idempotency") or {}).get("argument") for name, tool in tools.items()}
    return {name: key for name, key in keys.items() if key is not None}


def _compile_tool(name: str, spec: Mapping[str, Any]) -> Tool:
    handler, kind = compile_handler(spec["handler"]), spec["handler"]["kind"]
    return Tool(
        name=name,
        description=spec.get("description") or "",
        input_schema=spec.get("inputSchema"),
        output_schema=spec.get("outputSchema"),
        risk=risk_of(spec),
        idempotency=_compile_idempotency(spec.get("idempotency")),
        effect_key=parse_template(spec["effectKey"]) if spec.get("effectKey") is not None else None,
        tenant_path=parse_path_template(spec["tenantPath"]) if spec.get("tenantPath") is not None else None,
        handler=handler,
        handler_kind=kind,
        input_validator=_compile_schema(spec.get("inputSchema")),
        output_validator=_compile_schema(spec.get("outputSchema")),
    )


def _compile_schema(schema: Any) -> Schema | None:
    return None if schema is None else compile_schema(schema)


def _compile_idempotency(spec: Mapping[str, Any] | None) -> Idempotency | None:
    if not spec:
        return None
    header = spec.get("header")
    return Idempotency(spec.get("argument"), header.lower() if header is not None else None)
