"""A case: one twin, one start, one sequence of calls. `call_tool` is the whole of FORMATS 2.1.

Everything is a value. A step takes a state and gives the next one, the reply for the caller and the
records; the same case with the same calls gives the same bytes. Nothing a caller sends raises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .bounds import ABSENT, MAX_QUERY, clean_text
from .dependency import Attempt, StoredAnswer
from .faults import Did
from .gates import receive, refusal
from .injection import deliver, deliver_once
from .records import CallRecord, Reply, RetrievalRecord, SearchReply, call_status
from .retrieval import Document, effective_limit, rank, twin_documents
from .spec import DEFAULT_NOW, Call, CaseSpec, CaseState, Outcome, Step
from .templates import MAX_TEXT, TemplateError
from .tenants import carries_foreign
from .values import text_form

__all__ = [
    "ABSENT",
    "DEFAULT_NOW",
    "CallRecord",
    "CaseSpec",
    "CaseState",
    "Document",
    "Reply",
    "RetrievalRecord",
    "SearchReply",
    "Step",
    "begin",
    "call_tool",
    "search",
]


def begin(spec: CaseSpec) -> CaseState:
    """A fresh case. The initial state is shared, not copied: no call changes it."""
    return CaseState(spec.initial_state)


def call_tool(
    spec: CaseSpec, state: CaseState, tool: Any, arguments: Any = ABSENT, headers: Any = None
) -> Step:
    """One call of a tool, from the gates to the records (FORMATS 2.1).

    `arguments` and `headers` may be anything; what is no JSON object is answered 400 and recorded as a
    stand-in. Only an exception inside a custom adapter comes out.
    """
    call = receive(spec, state, tool, arguments, headers)
    outcome = refusal(spec, state, call)
    if outcome is None and call.tool is not None:
        outcome = deliver(spec, state, call, call.tool)
    assert outcome is not None  # an unknown tool has been refused
    step = _first_delivery(spec, state, call, outcome)
    if outcome.rule is not None and outcome.rule.fault.did is Did.EVERYTHING_TWICE:
        return _second_delivery(spec, step, call, outcome)
    return step


def _first_delivery(spec: CaseSpec, state: CaseState, call: Call, outcome: Outcome) -> Step:
    """The step of a call as its caller made it."""
    answer = outcome.answer
    rule = outcome.rule
    delay_ms = 0 if rule is None else rule.delay_ms
    record = _record(spec, state, call, outcome, delay_ms)
    last_replies = state.last_replies
    if call.tool is not None and outcome.transport == "normal":
        last_replies = {**last_replies, call.name: answer}
    following = CaseState(
        _root_after(state, outcome.attempt),
        call.seq,
        {**state.call_counts, call.name: call.number},
        _stored_after(state, call, outcome),
        last_replies,
        state.growth if outcome.attempt is None else outcome.attempt.growth,
    )
    reply = Reply(answer.status, dict(answer.headers), answer.body, delay_ms, outcome.transport)
    return Step(following, reply, (record,))


def _second_delivery(spec: CaseSpec, first: Step, call: Call, outcome: Outcome) -> Step:
    """The same call once more, by the network: a record of its own, no reply, no call of the agent."""
    assert call.tool is not None
    state = first.state
    again = replace(call, seq=state.seq + 1)
    done = deliver_once(spec, state, again, call.tool)
    repeated = Outcome(done.answer, attempt=done, stores=True, rule=outcome.rule)
    record = _record(spec, state, again, repeated, 0, redelivered=True)
    following = replace(
        state,
        root=_root_after(state, done),
        seq=again.seq,
        stored_answers=_stored_after(state, again, repeated),
        growth=done.growth,
    )
    return Step(following, first.reply, (*first.records, record))


def _root_after(state: CaseState, done: Attempt | None) -> dict[str, Any]:
    # An attempt that changed nothing may have run on another state: a stale read.
    return done.root if done is not None and done.mutated else state.root


def _stored_after(state: CaseState, call: Call, outcome: Outcome) -> Any:
    """The stored answers with the dependency's own success, whatever the caller saw of it (FORMATS 8)."""
    done = outcome.attempt
    if call.key_text is None or done is None or not outcome.stores or done.replayed or not done.answer.ok:
        return state.stored_answers
    stored = StoredAnswer(call.admitted.value, done.answer.status, done.answer.body)
    return {**state.stored_answers, (call.name, call.key_text): stored}


# --- the record -----------------------------------------------------------------------------------


def _record(
    spec: CaseSpec, state: CaseState, call: Call, outcome: Outcome, delay_ms: int, redelivered: bool = False
) -> CallRecord:
    answer, done, tool = outcome.answer, outcome.attempt, call.tool
    return CallRecord(
        seq=call.seq,
        call_number=call.number,
        tool=call.name,
        arguments=call.admitted.recorded,
        http_status=answer.status,
        status=call_status(answer.status, answer.code, outcome.transport),
        error_code=answer.code,
        response=answer.body,
        risk=None if tool is None else tool.risk,
        fault=None if outcome.rule is None else outcome.rule.type,
        mutated=done is not None and done.mutated,
        expects_mutation=tool is not None and tool.handler.mutates,
        replayed=done is not None and done.replayed,
        redelivered=redelivered,
        effect_key=_effect_key(spec, state, call),
        cross_tenant=None if redelivered else _cross_tenant(spec, outcome),
        policy_violation=outcome.violation,
        changes=() if done is None else done.changes,
        delay_ms=delay_ms,
        idempotency_key=call.key_text,
        sent_arguments=call.admitted.sent,
        sent_texts=call.admitted.sent_texts,
    )


def _effect_key(spec: CaseSpec, state: CaseState, call: Call) -> str | None:
    """The key of the side effect from the state before the call; None where it cannot be rendered."""
    if call.tool is None or call.tool.effect_key is None:
        return None
    template = call.tool.effect_key
    scope = call.scope(spec, state.root)
    try:
        if "value" in template.reads:
            scope.value = call.tool.handler.record(scope)
        text = text_form(template.render(scope))
    except TemplateError:
        return None
    return text if 0 < len(text) <= MAX_TEXT else None


def _cross_tenant(spec: CaseSpec, outcome: Outcome) -> str | None:
    """`denied` by the check, or `allowed` when the answer carries a record that no check stopped."""
    if outcome.cross_tenant is not None:
        return outcome.cross_tenant
    key = spec.definition.tenant_key
    if key is None or not spec.tenant or outcome.transport != "normal":
        return None
    return "allowed" if carries_foreign(outcome.answer.body, key, spec.tenant) else None


# --- a search -------------------------------------------------------------------------------------


def search(spec: CaseSpec, state: CaseState, query: Any, limit: Any = None) -> Step:
    """One search of the knowledge base: the twin's documents as they are now, and the planted (FORMATS 8).

    `query` and `limit` may be anything; a query that is no text finds nothing.
    """
    text = str.__str__(query) if isinstance(query, str) else ""
    asked = clean_text(text, MAX_QUERY)
    count = effective_limit(limit)
    known = [*twin_documents(spec.definition.kb_path.get(state.root)), *spec.documents]
    found = rank(known, asked, count)
    seq = state.seq + 1
    sent = (clean_text(text, len(text)),) if len(text) > MAX_QUERY else ()
    record = RetrievalRecord(seq, asked, count, tuple((one.id, one.trusted) for one in found), sent)
    reply = SearchReply(tuple(one.to_json() for one in found))
    return Step(replace(state, seq=seq), reply, (record,))
