"""What goes wrong with a call that may be made: steps 7 to 10 of FORMATS 2.1 under a rule of the scenario.

Only the two facts of a fault are read here: what the dependency did, and what the caller sees.
"""

from __future__ import annotations

from typing import Any, Final

from .definition import Tool
from .dependency import Attempt, attempt, template_error
from .faults import Did, FaultRule, Sees, SeesError, first_match
from .handlers import render_answer
from .records import RETRY_AFTER, Answer, Transport, error, first_half, success
from .spec import Call, CaseSpec, CaseState, Outcome
from .templates import Scope, Template, TemplateError
from .values import MISSING, text_form

_COMPLETE: Final = (Did.EVERYTHING, Did.EVERYTHING_TWICE)


def deliver(spec: CaseSpec, state: CaseState, call: Call, tool: Tool) -> Outcome:
    """The call under the first rule that matches it, or as it should be."""
    if spec.faults:
        rule = first_match(spec.faults, spec.seed, tool.name, call.number, call.admitted.value)
        if rule is not None:
            return _Injection(spec, state, call, tool, rule).outcome()
    done = deliver_once(spec, state, call, tool)
    return Outcome(done.answer, attempt=done, stores=True)


def deliver_once(spec: CaseSpec, state: CaseState, call: Call, tool: Tool) -> Attempt:
    """One delivery to the dependency with nothing in the way."""
    return _attempt(spec, state, call, tool, call.scope(spec, state.root))


def _attempt(
    spec: CaseSpec, state: CaseState, call: Call, tool: Tool, scope: Scope, first_effect_only: bool = False
) -> Attempt:
    return attempt(
        tool,
        scope,
        key=call.key_text,
        stored=state.stored_answers,
        seed=spec.seed,
        growth=state.growth,
        first_effect_only=first_effect_only,
    )


class _Injection:
    """One call under one rule."""

    def __init__(self, spec: CaseSpec, state: CaseState, call: Call, tool: Tool, rule: FaultRule) -> None:
        self.spec, self.state, self.call, self.tool, self.rule = spec, state, call, tool, rule
        self.did, self.sees = rule.fault.did, rule.fault.sees
        self.scope = call.scope(spec, self._start())

    def _start(self) -> Any:
        """The state the call meets. A stale read runs on the initial state (FORMATS 8)."""
        stale_read = self.sees is Sees.A_STALE_ANSWER and not self.tool.handler.mutates
        return self.spec.initial_state if stale_read else self.state.root

    def outcome(self) -> Outcome:
        """What was done and what is seen. If the rule cannot be rendered, 500 and nothing happens."""
        done = self._run(self.scope, self.did is Did.FIRST_EFFECT) if self.did is not Did.NOTHING else None
        try:
            if self.sees is Sees.A_SUCCESS:
                return self._reported_success()
            answer, transport = self._seen(done)
        except TemplateError as problem:
            return Outcome(template_error(problem), rule=self.rule)
        return Outcome(answer, transport, done, self.did in _COMPLETE, self.rule)

    def _run(self, scope: Scope, first_effect_only: bool = False) -> Attempt:
        return _attempt(self.spec, self.state, self.call, self.tool, scope, first_effect_only)

    def _reported_success(self) -> Outcome:
        """The answer the call would have had, and none of its effects; a known key is replayed as ever."""
        tried = self._run(self.scope)
        done = tried if tried.replayed else None
        return Outcome(tried.answer, attempt=done, rule=self.rule)

    def _seen(self, done: Attempt | None) -> tuple[Answer, Transport]:
        """What reaches the caller, and how."""
        if isinstance(self.sees, SeesError):
            return self._error(self.sees, done), "normal"
        if self.sees is Sees.NO_ANSWER:
            return Answer(0, None), "drop"
        if self.sees is Sees.A_GIVEN_RESULT:
            return success(self._rendered(self.rule.body, done)), "normal"
        if done is None:
            raise AssertionError(f"{self.sees} shows an answer of a dependency that did nothing")
        if self.sees is Sees.HALF_AN_ANSWER:
            own = done.answer
            return Answer(own.status, first_half(own.body), own.code, own.headers), "partial"
        if self.sees is Sees.BROKEN_JSON:
            return Answer(200, first_half(done.answer.body), None, done.answer.headers), "malformed"
        if self.sees is Sees.THE_PREVIOUS_ANSWER:
            return self.state.last_replies.get(self.tool.name, done.answer), "normal"
        if self.sees is Sees.A_STALE_ANSWER:
            return self._stale(done), "normal"
        return done.answer, "normal"

    def _error(self, sees: SeesError, done: Attempt | None) -> Answer:
        headers = {} if self.rule.retry_after is None else {RETRY_AFTER: self.rule.retry_after}
        if self.rule.body is not None:
            return Answer(sees.status, self._rendered(self.rule.body, done), sees.code, headers)
        message = sees.message
        if self.rule.message is not None:
            message = text_form(self._rendered(self.rule.message, done))
        return error(sees.status, sees.code, message, headers)

    def _stale(self, done: Attempt) -> Answer:
        """A write that succeeded answers from the state before it; a read has run on the initial state.

        The write stands also where its answer needs what only the write creates: a replica that lags behind
        does not undo what was done, it only fails to tell of it.
        """
        if not done.mutated:
            return done.answer
        before = self.call.scope(self.spec, self.state.root)
        try:
            return self.tool.handler.answer(before) or done.answer
        except TemplateError as problem:
            return template_error(problem)

    def _rendered(self, template: Template | None, done: Attempt | None) -> Any:
        """A body or message of the rule. `{result}` is what the tool answered, or would have answered."""
        if template is None:
            return None
        after = self.state.root if done is None or not done.mutated else done.root
        scope = self.call.scope(self.spec, after)
        if "result" in template.reads:
            scope.result = self._result(done)
        if "value" in template.reads:
            scope.value = self.tool.handler.record(scope)
        return render_answer(template, scope)

    def _result(self, done: Attempt | None) -> Any:
        if done is None or self.did not in _COMPLETE:
            done = self._run(self.call.scope(self.spec, self.state.root))
        return done.answer.result if done.answer.ok else MISSING
