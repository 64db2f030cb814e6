"""What grading is shown: where a case started, where it ended, what was recorded, what the agent answered.

Grading sees nothing else. Where evidence comes from (a twin, later a test database or production traces) is
not known here. Records are the twin's own and hold real values; the answer is a claim and is never graded as
a fact.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from twins.engine.case import CaseSpec, CaseState
from twins.engine.records import CallRecord
from twins.engine.redaction import Redactor, redactor

#: Containers inside one another that a document may have (FORMATS, limits).
MAX_NESTING = 64
OUTCOMES = ("SUCCESS", "PARTIAL", "FAILURE", "ESCALATED", "REFUSED", "UNKNOWN")


@dataclass(frozen=True, slots=True)
class Usage:
    """What the model used, as the agent reports it; None is not reported, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The keys of FORMATS 5."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The agent's answer (FORMATS 5), already typed and bounded. `tool_calls` and `transcript` are its own
    account, kept for people and never looked at by a check."""

    output: str | None = None
    claimed_outcome: str | None = None
    business_outcome: str | None = None
    proposal: Any = None
    status: str | None = None
    steps: int | None = None
    latency_ms: float | None = None
    tool_calls: Any = None
    transcript: Any = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    model_kind: str | None = None
    trace_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """One key per field, absent ones as null."""
        plain = {name: getattr(self, name) for name in _ANSWER_FIELDS}
        plain["usage"] = self.usage.to_json()
        return plain

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Answer:
        """From a validated object (a calls file, a stored answer); unknown keys are dropped.

        Latency and cost count as unknown unless they are numbers: `true` and `"12"` are not measurements.
        """
        usage = value.get("usage")
        usage = usage if isinstance(usage, Mapping) else {}
        fields = {name: value.get(name) for name in _ANSWER_FIELDS}
        fields["latency_ms"] = _number(fields["latency_ms"])
        fields["steps"] = _number(fields["steps"])
        return cls(
            **fields,
            usage=Usage(
                input_tokens=_number(usage.get("input_tokens")),
                output_tokens=_number(usage.get("output_tokens")),
                cost_usd=_number(usage.get("cost_usd")),
            ),
        )


_ANSWER_FIELDS = tuple(name for name in Answer.__dataclass_fields__ if name != "usage")


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a check may look at. `hidden` are texts to keep out of results beside the twin's secrets.

    What several checks derive from it is computed once, on first use.
    """

    spec: CaseSpec
    final: CaseState
    records: tuple[Any, ...]
    answer: Answer | None = None
    customer_message: str = ""
    hidden: tuple[str, ...] = ()
    _derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def deliveries(self) -> tuple[CallRecord, ...]:
        """Every tool call the twin met, network redeliveries included."""
        return self._once("deliveries", lambda: tuple(r for r in self.records if r.kind == "tool_call"))

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        """The agent's calls: refused ones included, redeliveries not (FORMATS 3.1)."""
        return self._once("calls", lambda: tuple(r for r in self.deliveries if not r.redelivered))

    @property
    def retrievals(self) -> tuple[Any, ...]:
        """The agent's searches of the knowledge base."""
        return self._once("retrievals", lambda: tuple(r for r in self.records if r.kind == "retrieval"))

    def calls_of(self, tool: str | None) -> tuple[CallRecord, ...]:
        """The agent's calls of one tool, or all of them."""
        if tool is None:
            return self.calls
        return tuple([call for call in self.calls if call.tool == tool])

    @property
    def claim(self) -> str | None:
        """The claimed outcome, None when nothing was claimed."""
        return None if self.answer is None else self.answer.claimed_outcome

    @property
    def output(self) -> str | None:
        """The answer's text; an answer without one is no answer (FORMATS 8, "And")."""
        return None if self.answer is None else self.answer.output

    @property
    def folded_output(self) -> str:
        """The answer's text in the form in which texts are compared ("" without one)."""
        return self._once("folded_output", lambda: folded(self.output or ""))

    @property
    def json_output(self) -> Any:
        """The answer as JSON, or the `ValueError` that says why it is none; no answer is none."""
        return self._once("json_output", lambda: _json_output(self.output or ""))

    @property
    def redact(self) -> Callable[[Any], Any]:
        """Hides planted secrets in a value of any shape; the identity when there are none."""
        return self._once("redact", lambda: result_redactor((*self.spec.definition.secrets, *self.hidden)))

    def _once(self, name: str, compute: Callable[[], Any]) -> Any:
        derived = self._derived
        if name not in derived:
            derived[name] = compute()
        return derived[name]


@lru_cache(maxsize=64)
def result_redactor(secrets: tuple[str, ...]) -> Redactor:
    """The twin's redactor; kept, because one is used for every case of a twin."""
    return redactor(secrets)


def folded(text: str) -> str:
    """Unicode NFKC and case folded; composed again, because folding can take a text apart."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _json_output(text: str) -> Any:
    stripped = text.strip()
    try:
        return _strict_json(stripped)
    except ValueError as problem:
        reason = problem
    blocks = _fenced_blocks(stripped)
    if len(blocks) > 1:
        return ValueError(f"it holds {len(blocks)} fenced blocks, one is allowed")
    try:
        return _strict_json(blocks[0]) if blocks else reason
    except ValueError as problem:
        return problem


def _fenced_blocks(text: str) -> list[str]:
    """The contents of the fenced blocks, by lines; a block that is never closed is none."""
    if text.startswith("```") and text.endswith("```") and "\n" not in text and len(text) > 6:
        return [text[3:-3].strip().removeprefix("json")]
    blocks: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        mark = line.strip()
        if inside is None:
            inside = [] if mark.startswith("```") and "`" not in mark[3:] else None
        elif mark == "```":
            blocks.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    return blocks


def _strict_json(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except json.JSONDecodeError as problem:
        raise ValueError(f"{problem.msg} at line {problem.lineno}, column {problem.colno}") from None
    if text.count("[") + text.count("{") > MAX_NESTING and _deeper_than(value, MAX_NESTING):
        raise ValueError(f"it is nested deeper than {MAX_NESTING}")
    return value


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return any(isinstance(item, dict | list) for item in level)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return number
