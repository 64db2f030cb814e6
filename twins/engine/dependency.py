"""What the dependency does with a call that nothing stops: the idempotency key, the handler, the contract.

Steps 8 to 10 of FORMATS 2.1. An attempt is a value: the case takes its state or drops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .definition import Tool
from .handlers import Job, Work
from .records import IDEMPOTENT_REPLAYED, Answer, error
from .state import Change, EffectError, changes_between
from .templates import MissingArgument, Scope, TemplateError
from .values import json_equal


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A success kept under an idempotency key, with the arguments it belongs to."""

    arguments: dict[str, Any]
    status: int
    body: Any


StoredAnswers = Mapping[tuple[str, str], StoredAnswer]
"""By tool and the text of the key."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the dependency did: its own answer, the state it left and how that came about."""

    answer: Answer
    root: Any
    growth: int
    mutated: bool = False
    replayed: bool = False
    changes: tuple[Change, ...] = ()


def template_error(problem: Exception) -> Answer:
    """The twin cannot render what its document says."""
    return error(500, "TWIN_TEMPLATE_ERROR", str(problem))


def attempt(
    tool: Tool,
    scope: Scope,
    *,
    key: str | None,
    stored: StoredAnswers,
    seed: int,
    growth: int,
    first_effect_only: bool,
) -> Attempt:
    """One delivery of a call to the dependency.

    `scope` holds the arguments and the state before, and is moved on to what a response sees.
    """
    before = scope.state
    known = stored.get((tool.name, key)) if key is not None else None
    if known is not None:
        return _repeated(known, scope, growth)
    work = _work(tool, scope, seed, growth, first_effect_only)
    answer = work.answer
    if answer.ok and not first_effect_only and tool.output_validator is not None:
        problems = tool.output_validator.problems(answer.result)
        if problems:
            text = f"The answer of {tool.name} breaks its own schema: {'; '.join(problems)}"
            answer = error(500, "TWIN_CONTRACT_VIOLATION", text)
    draft = work.draft
    if draft is None or not answer.ok:
        return Attempt(answer, before, growth)
    changes = changes_between(before, draft.root, draft.touched)
    return Attempt(answer, draft.root, draft.growth, mutated=True, changes=changes)


def _repeated(known: StoredAnswer, scope: Scope, growth: int) -> Attempt:
    if json_equal(known.arguments, scope.args):
        answer = Answer(known.status, known.body, None, {IDEMPOTENT_REPLAYED: "true"})
        return Attempt(answer, scope.state, growth, replayed=True)
    text = "This idempotency key was used with other arguments"
    return Attempt(error(409, "IDEMPOTENCY_CONFLICT", text), scope.state, growth)


def _work(tool: Tool, scope: Scope, seed: int, growth: int, first_effect_only: bool) -> Work:
    job = Job(tool.name, scope, seed, growth, first_effect_only)
    try:
        return tool.handler.run(job)
    except MissingArgument as problem:
        return Work(error(422, "MISSING_ARGUMENT", str(problem)))
    except TemplateError as problem:
        return Work(template_error(problem))
    except EffectError as problem:
        return Work(error(500, "TWIN_EFFECT_ERROR", str(problem)))
