"""What a page tells of a scenario: the customer's message, the faults, what each check is about.

Read from the stored document with open eyes: a part that is not there is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluations.grading.wording import clean, cut, listed, shown
from reviews.presenting.calls import fault_in_short
from twins.engine.redaction import redactor

_MESSAGE = 4000
_DESCRIPTION = 300
_FAULTS = 20


@dataclass(frozen=True, slots=True)
class FaultLine:
    """One fault rule: on what, when, of which type, and its two facts in short."""

    target: str
    when: str
    type: str
    facts: str


@dataclass(frozen=True, slots=True)
class ScenarioBrief:
    """`checks` are the descriptions of the expectations by id. Planted secrets are hidden in all of it."""

    message: str = ""
    description: str = ""
    faults: tuple[FaultLine, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)


def scenario_brief(document: Any, secrets: tuple[str, ...] = ()) -> ScenarioBrief:
    """`secrets` are the twin's; those that a check of the scenario looks for are found here."""
    spec = _object(_object(document).get("spec"))
    expectations = [entry for entry in _list(spec.get("expectations")) if isinstance(entry, dict)]
    looked_for = [
        secret for entry in expectations for secret in _list(entry.get("secrets")) if isinstance(secret, str)
    ]
    hide = redactor([*secrets, *looked_for])
    return ScenarioBrief(
        message=_text(_object(spec.get("input")).get("message"), hide, _MESSAGE),
        description=_text(_object(_object(document).get("metadata")).get("description"), hide, _MESSAGE),
        faults=tuple(
            _fault_line(rule, hide) for rule in _list(spec.get("faults"))[:_FAULTS] if isinstance(rule, dict)
        ),
        checks={
            str(entry.get("id") or f"e{number}"): _text(entry.get("description"), hide, _DESCRIPTION)
            for number, entry in enumerate(expectations, start=1)
        },
    )


def _fault_line(rule: dict[str, Any], hide: Callable[[Any], Any]) -> FaultLine:
    fault = str(_object(rule.get("behavior")).get("type", ""))
    target = str(rule.get("target", ""))
    return FaultLine(
        target="every tool" if target == "*" else cut(clean(hide(target)), 100),
        when=_when(_object(rule.get("when")), hide),
        type=cut(clean(fault), 60),
        facts=fault_in_short(fault),
    )


def _when(when: dict[str, Any], hide: Callable[[Any], Any]) -> str:
    parts = []
    if when.get("everyCall") is False:
        parts.append("never")
    if when.get("callNumber") is not None:
        parts.append(f"call {when['callNumber']}")
    if numbers := _list(when.get("callNumbers")):
        parts.append(f"calls {listed([str(number) for number in numbers])}")
    if when.get("firstN") is not None:
        parts.append(f"the first {when['firstN']}")
    if when.get("argsMatch") is not None:
        parts.append(f"with {shown(hide(when['argsMatch']))}")
    if when.get("probability") is not None:
        parts.append(f"with probability {when['probability']}")
    return ", ".join(parts) or "every call"


def _text(value: Any, hide: Callable[[Any], Any], limit: int) -> str:
    return cut(hide(value), limit) if isinstance(value, str) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
