"""The six kinds of handlers (FORMATS 2): what a tool does once a call has reached it.

A handler answers and may leave a draft of the changed state. It knows nothing of gates, faults, keys and
records. Rendering problems come out as MissingArgument, TemplateError and EffectError; `dependency.py`
turns them into answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from .adapters import AdapterAnswer, AdapterCall, AdapterRefusal, RegisteredAdapter, find_adapter
from .bounds import MAX_ANSWER, TooLarge, weigh
from .comparators import COMPARATORS, ComparatorError, Comparators, compile_check, compile_comparators
from .paths import Segments, length_of, lookup
from .patterns import PatternError
from .records import Answer, error, success
from .state import Draft
from .templates import (
    PathTemplate,
    Scope,
    Template,
    TemplateError,
    parse_path_template,
    parse_template,
)
from .values import MISSING, contains, text_form


@dataclass(slots=True)
class Work:
    """What a handler did: its answer, and the draft of the state if it applied effects."""

    answer: Answer
    draft: Draft | None = None


@dataclass(slots=True)
class Job:
    """One run of a handler: the scope of its templates, and what only some kinds need."""

    tool: str
    scope: Scope
    seed: int
    growth: int = 0
    first_effect_only: bool = False


class Handler(Protocol):
    """One kind. `mutates`: every call of the tool is meant to change state."""

    @property
    def mutates(self) -> bool:
        """Whether the tool is meant to change state."""

    def record(self, scope: Scope) -> Any:
        """The record the handler reads or changes, before it runs; MISSING for kinds without one."""

    def run(self, job: Job) -> Work:
        """Do it. Moves `scope.state` and `scope.value` on to what a response sees."""

    def answer(self, scope: Scope) -> Answer | None:
        """The success answer of a handler that writes, over another state; None where there is none."""


@dataclass(frozen=True, slots=True)
class ErrorTemplate:
    """An error a document words: `{status, code, message}`."""

    status: int
    code: str
    message: Template

    def render(self, scope: Scope) -> Answer:
        """The answer, with the placeholders of the message filled in."""
        return error(self.status, self.code, text_form(self.message.render(scope)))


def compile_error(spec: Mapping[str, Any] | None, status: int, code: str, message: str) -> ErrorTemplate:
    """The error of a document over its defaults."""
    spec = spec or {}
    return ErrorTemplate(
        spec.get("status", status), spec.get("code", code), parse_template(spec.get("message", message))
    )


def render_answer(template: Template, scope: Scope) -> Any:
    """A rendered answer. TemplateError when it would be larger than an answer may be."""
    value = template.render(scope)
    if not template.constant:
        try:
            weigh(value, MAX_ANSWER)
        except TooLarge as problem:
            raise TemplateError(f"the answer is too large: {problem}") from None
    return value


def _find(path: PathTemplate, segments: Segments, root: Any) -> Any:
    value = lookup(root, segments)
    return length_of(value) if path.length else value


class _WithoutRecord:
    """The kinds that answer and have neither a record nor effects."""

    __slots__ = ()

    @property
    def mutates(self) -> bool:
        return False

    def record(self, scope: Scope) -> Any:
        return MISSING

    def answer(self, scope: Scope) -> Answer | None:
        return None


@dataclass(frozen=True, slots=True)
class Read:
    """`read`: answers the record at a path, or what a response makes of it."""

    path: PathTemplate
    not_found: ErrorTemplate
    response: Template | None

    mutates = False

    def record(self, scope: Scope) -> Any:
        """The record, or MISSING."""
        return _find(self.path, self.path.render(scope), scope.state)

    def run(self, job: Job) -> Work:
        """The record or notFound."""
        scope = job.scope
        scope.value = self.record(scope)
        if scope.value is MISSING:
            return Work(self.not_found.render(scope))
        if self.response is None:
            return Work(success(scope.value))
        return Work(success(render_answer(self.response, scope)))

    def answer(self, scope: Scope) -> Answer | None:
        """A read is computed again instead."""
        return None


# --- mutate ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EffectOp:
    """An effect operation: the field of its operand, the operand when that is left out, the edit."""

    operand: str | None
    default: Any
    apply: Callable[[Draft, Segments, Any], None]


EFFECT_OPS: Final[Mapping[str, EffectOp]] = {
    "set": EffectOp("value", MISSING, Draft.set),
    "increment": EffectOp("by", 1, Draft.increment),
    "decrement": EffectOp("by", 1, Draft.decrement),
    "append": EffectOp("value", MISSING, Draft.append),
    "delete": EffectOp(None, None, Draft.delete),
    "merge": EffectOp("value", MISSING, Draft.merge),
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One compiled effect."""

    op: EffectOp
    path: PathTemplate
    operand: Template

    def apply(self, draft: Draft, scope: Scope) -> None:
        """Edit the draft; the scope is the state after the effects before this one."""
        self.op.apply(draft, self.path.render(scope), self.operand.render(scope))


PRECONDITION_ROOTS: Final = ("args", "state", "value", "tenant")


@dataclass(frozen=True, slots=True)
class Precondition:
    """A place below args, state, value or tenant that must compare."""

    path: PathTemplate
    comparators: Comparators | None
    templates: Mapping[str, Template]
    error: ErrorTemplate

    def refusal(self, scope: Scope) -> Answer | None:
        """None when it holds, else its error."""
        root, *segments = self.path.render(scope)
        base = getattr(scope, str(root))
        actual = _find(self.path, tuple(segments), base)
        return None if self._holds(actual, scope) else self.error.render(scope)

    def _holds(self, actual: Any, scope: Scope) -> bool:
        if self.comparators is not None:
            return self.comparators.check(actual) is None
        try:
            checks = [
                compile_check(name, template.render(scope)) for name, template in self.templates.items()
            ]
        except (ComparatorError, PatternError) as problem:
            raise TemplateError(f"a precondition cannot be checked: {problem}") from None
        return all(check(actual) is None for check in checks)


@dataclass(frozen=True, slots=True)
class Mutate:
    """`mutate`: finds its record, checks preconditions, applies effects, answers the changed record."""

    path: PathTemplate | None
    not_found: ErrorTemplate
    preconditions: tuple[Precondition, ...]
    effects: tuple[Effect, ...]
    response: Template | None

    mutates = True

    def record(self, scope: Scope) -> Any:
        """The record as it is, or MISSING."""
        return MISSING if self.path is None else _find(self.path, self.path.render(scope), scope.state)

    def run(self, job: Job) -> Work:
        """notFound, then the preconditions, then all effects or none, then the response."""
        scope = job.scope
        place = None if self.path is None else self.path.render(scope)
        self._look(place, scope)
        if place is not None and scope.value is MISSING:
            return Work(self.not_found.render(scope))
        for precondition in self.preconditions:
            refusal = precondition.refusal(scope)
            if refusal is not None:
                return Work(refusal)
        draft = Draft(scope.state, job.growth)
        for effect in self.effects[:1] if job.first_effect_only else self.effects:
            effect.apply(draft, scope)
            scope.state = draft.root
            self._look(place, scope)
        if job.first_effect_only:
            return Work(success(None), draft)
        return Work(self._answer(scope), draft)

    def answer(self, scope: Scope) -> Answer | None:
        """The answer this call would give if its effects had left the scope's state."""
        self._look(None if self.path is None else self.path.render(scope), scope)
        return self._answer(scope)

    def _look(self, place: Segments | None, scope: Scope) -> None:
        if place is not None and self.path is not None:
            scope.value = _find(self.path, place, scope.state)

    def _answer(self, scope: Scope) -> Answer:
        if self.response is not None:
            return success(render_answer(self.response, scope))
        return success({"ok": True} if scope.value is MISSING else scope.value)


# --- the others -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Static(_WithoutRecord):
    """`static`: answers its response template."""

    response: Template

    def run(self, job: Job) -> Work:
        """The rendered response."""
        return Work(success(render_answer(self.response, job.scope)))


@dataclass(frozen=True, slots=True)
class Echo(_WithoutRecord):
    """`echo`: answers the tool and its arguments."""

    def run(self, job: Job) -> Work:
        """`{tool, arguments}`."""
        return Work(success({"tool": job.tool, "arguments": job.scope.args}))


@dataclass(frozen=True, slots=True)
class Recorded(_WithoutRecord):
    """`recorded`: answers the first fixture whose match is contained in the arguments, literally."""

    fixtures: tuple[tuple[Any, Answer], ...]

    def run(self, job: Job) -> Work:
        """The fixture's answer, or 404 NO_FIXTURE."""
        for match, answer in self.fixtures:
            if contains(match, job.scope.args):
                return Work(answer)
        return Work(error(404, "NO_FIXTURE", f"No recorded answer of {job.tool} matches these arguments"))


@dataclass(frozen=True, slots=True)
class Custom(_WithoutRecord):
    """`custom`: asks an adapter registered in code."""

    adapter: RegisteredAdapter

    @property
    def mutates(self) -> bool:
        """As the adapter says of itself."""
        return self.adapter.mutates

    def run(self, job: Job) -> Work:
        """The adapter's answer with its effects applied, or its refusal."""
        answer = self.adapter.run(_adapter_call(job))
        if isinstance(answer, AdapterRefusal):
            return Work(error(answer.status, answer.code, answer.message))
        return self._apply(answer, job)

    def _apply(self, answer: AdapterAnswer, job: Job) -> Work:
        if not answer.effects:
            return Work(success(answer.result))
        if not self.adapter.mutates:
            raise ValueError(
                f"the adapter {self.adapter.name} has effects and was registered without mutates"
            )
        draft = Draft(job.scope.state, job.growth)
        for effect in answer.effects[:1] if job.first_effect_only else answer.effects:
            EFFECT_OPS[effect.op].apply(draft, effect.segments, effect.operand)
        job.scope.state = draft.root
        return Work(success(answer.result), draft)


def _adapter_call(job: Job) -> AdapterCall:
    scope = job.scope
    return AdapterCall(
        tool=job.tool,
        arguments=scope.args,
        state=scope.state,
        tenant=None if scope.tenant is MISSING else scope.tenant,
        now=scope.now,
        seq=scope.seq,
        number=scope.number,
        idempotency_key=None if scope.idempotency_key is MISSING else scope.idempotency_key,
        seed=job.seed,
    )


# --- from documents -------------------------------------------------------------------------------


def _not_found(spec: Mapping[str, Any]) -> ErrorTemplate:
    return compile_error(spec.get("notFound"), 404, "NOT_FOUND", "There is no such record")


def _response(spec: Mapping[str, Any]) -> Template | None:
    return parse_template(spec["response"]) if "response" in spec else None


def _compile_read(spec: Mapping[str, Any]) -> Handler:
    return Read(parse_path_template(spec["path"]), _not_found(spec), _response(spec))


def _compile_mutate(spec: Mapping[str, Any]) -> Handler:
    path = parse_path_template(spec["path"]) if spec.get("path") is not None else None
    return Mutate(
        path,
        _not_found(spec),
        tuple(_compile_precondition(one) for one in spec.get("preconditions") or ()),
        tuple(_compile_effect(one) for one in spec["effects"]),
        _response(spec),
    )


def _compile_precondition(spec: Mapping[str, Any]) -> Precondition:
    path = parse_path_template(spec["path"])
    if path.first not in PRECONDITION_ROOTS:
        raise ValueError(f"{spec['path']}: a precondition starts with one of {', '.join(PRECONDITION_ROOTS)}")
    templates = {name: parse_template(spec[name]) for name in COMPARATORS if name in spec}
    constant = all(template.constant for template in templates.values())
    literal = {name: template.render(_NOWHERE) for name, template in templates.items()} if constant else None
    message = f"The precondition on {spec['path'].replace('{', '{{').replace('}', '}}')} does not hold"
    return Precondition(
        path,
        None if literal is None else compile_comparators(literal),
        templates,
        compile_error(spec.get("error"), 409, "PRECONDITION_FAILED", message),
    )


def _compile_effect(spec: Mapping[str, Any]) -> Effect:
    op = EFFECT_OPS[spec["op"]]
    operand = None if op.operand is None else spec.get(op.operand, op.default)
    if operand is MISSING:
        raise ValueError(f"op {spec['op']} needs a {op.operand}")
    return Effect(op, parse_path_template(spec["path"]), parse_template(operand))


def _compile_static(spec: Mapping[str, Any]) -> Handler:
    return Static(parse_template(spec["response"]))


def _compile_echo(_spec: Mapping[str, Any]) -> Handler:
    return Echo()


def _compile_recorded(spec: Mapping[str, Any]) -> Handler:
    return Recorded(tuple((one["match"], _fixture_answer(one)) for one in spec["fixtures"]))


def _fixture_answer(fixture: Mapping[str, Any]) -> Answer:
    problem = fixture.get("error")
    if problem is None:
        return success(fixture.get("response"), fixture.get("status", 200))
    status = problem.get("status", fixture.get("status", 500))
    return error(
        status, problem.get("code", "RECORDED_ERROR"), problem.get("message", "The recorded call failed")
    )


def _compile_custom(spec: Mapping[str, Any]) -> Handler:
    return Custom(find_adapter(spec["adapter"]))


_NOWHERE: Final = Scope({}, {})

HANDLER_KINDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Handler]]] = {
    "read": _compile_read,
    "mutate": _compile_mutate,
    "static": _compile_static,
    "echo": _compile_echo,
    "recorded": _compile_recorded,
    "custom": _compile_custom,
}


def compile_handler(spec: Mapping[str, Any]) -> Handler:
    """The handler of a validated document."""
    return HANDLER_KINDS[spec["kind"]](spec)
