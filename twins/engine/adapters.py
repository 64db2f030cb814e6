"""Custom handlers: Python functions that a document may name and never carries (FORMATS 2).

An adapter is pure: it reads the call and answers a result with the effects to apply, or a refusal. The
engine applies the effects, so faults, rollback and recorded changes work as for any other tool. An
exception out of an adapter is a bug of the twin and is let through: the case is errored, never judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from .paths import Segments


@dataclass(frozen=True, slots=True)
class AdapterCall:
    """What an adapter may know of a call. `arguments` and `state` are shared: to be read, never changed."""

    tool: str
    arguments: dict[str, Any]
    state: dict[str, Any]
    tenant: str | None
    now: str
    seq: int
    number: int
    idempotency_key: Any
    seed: int


@dataclass(frozen=True, slots=True)
class AdapterEffect:
    """One edit: `op` of the effect operations, the exact segments of the place, the value or amount."""

    op: str
    segments: Segments
    operand: Any = None


@dataclass(frozen=True, slots=True)
class AdapterAnswer:
    """A success: the result and the effects, applied in order, all or nothing."""

    result: Any
    effects: tuple[AdapterEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class AdapterRefusal:
    """An error answer that changes nothing."""

    status: int
    code: str
    message: str


Adapter = Callable[[AdapterCall], AdapterAnswer | AdapterRefusal]


@dataclass(frozen=True, slots=True)
class RegisteredAdapter:
    """An adapter under its name. `mutates`: its tools are meant to change state (`expects_mutation`)."""

    name: str
    run: Adapter
    mutates: bool


_ADAPTERS: Final[dict[str, RegisteredAdapter]] = {}


def adapter(name: str, *, mutates: bool = False) -> Callable[[Adapter], Adapter]:
    """Register a function under a name that documents use. ValueError for a name taken twice."""

    def register(run: Adapter) -> Adapter:
        if name in _ADAPTERS:
            raise ValueError(f"there is already an adapter {name!r}")
        _ADAPTERS[name] = RegisteredAdapter(name, run, mutates)
        return run

    return register


def adapter_names() -> tuple[str, ...]:
    """The known names, sorted."""
    return tuple(sorted(_ADAPTERS))


class UnknownAdapter(ValueError):
    """A document names an adapter that this process does not have.

    A ValueError like all that makes a document unusable: the same document may be fine in a process that
    registers the adapter.
    """


def find_adapter(name: str) -> RegisteredAdapter:
    """The adapter of a name. UnknownAdapter that lists the known ones."""
    try:
        return _ADAPTERS[name]
    except KeyError:
        known = ", ".join(adapter_names()) or "none"
        raise UnknownAdapter(f"there is no adapter {name!r} here; known: {known}") from None
