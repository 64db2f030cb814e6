"""What the scripted agents of the demos share: reading instructions sentence by sentence, and what they are
handed.

A sentence of the instructions is a directive when it *begins* with the row's pattern, so "Never read
get_refund_policy first" switches nothing on. Everything else in the text is tone, and changes nothing. Pure:
no Django, no knowledge of any scenario.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

Rules = TypeVar("Rules", bound=Any)


def _yes(_: re.Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Directive:
    """One row: a sentence that begins like `pattern` sets the rule `name` to what `read` makes of it."""

    name: str
    pattern: str
    effect: str
    read: Callable[[re.Match[str]], Any] = _yes
    compiled: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile(self.pattern, re.IGNORECASE))


def sentences(text: str) -> list[str]:
    """The sentences of a text, bullets and line breaks folded away."""
    plain = re.sub(r"\s+", " ", re.sub(r"(?m)^\s*[-*]\s+", "", text)).strip()
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+", plain) if sentence]


def follow(directives: Iterable[Directive], told_nothing: Rules, instructions: str) -> Rules:
    """The rules that the instructions spell out; of a directive given twice the last one counts."""
    rules = told_nothing
    directives = tuple(directives)
    for sentence in sentences(instructions):
        for directive in directives:
            if match := directive.compiled.match(sentence):
                rules = replace(rules, **{directive.name: directive.read(match)})
    return rules


class Manifest(Protocol):
    """What a scripted agent needs of its manifest."""

    @property
    def instructions(self) -> str | None: ...


class Reply(Protocol):
    """What it needs of a tool's reply; `result` is None unless a whole 2xx answer arrived."""

    @property
    def status(self) -> int: ...

    @property
    def transport(self) -> str: ...

    @property
    def ok(self) -> bool: ...

    @property
    def result(self) -> Any: ...


class Tools(Protocol):
    """The tools object of a case."""

    def call(self, name: str, arguments: Any, headers: Mapping[str, str] | None = None) -> Reply: ...

    def search(self, query: str, limit: int | None = None) -> list[dict[str, str]]: ...


class Caller:
    """Calls the tools and keeps the agent's own account of it."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.calls: list[dict[str, Any]] = []

    def __call__(self, tool: str, **arguments: Any) -> Reply:
        reply = self._tools.call(tool, arguments)
        self.calls.append({"tool": tool, "arguments": arguments, "status": reply.status})
        return reply


def record(reply: Reply) -> dict[str, Any] | None:
    """The record that a whole good answer carried."""
    return reply.result if reply.ok and isinstance(reply.result, dict) else None


def is_unknown(reply: Reply) -> bool:
    """Whether the caller cannot know what happened: no whole answer, a timeout or a server error."""
    return reply.transport != "normal" or reply.status == 408 or reply.status >= 500


def number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def whole(amount: float) -> int | float:
    return int(amount) if float(amount).is_integer() else amount
