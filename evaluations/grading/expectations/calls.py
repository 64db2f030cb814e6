"""Expectations about which tools were called, how often, in what order and with what."""

# ruff: noqa: RUF009 - the calls in the parameter classes make dataclass fields

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.comparing import holds, mismatch
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import (
    Comparison,
    comparators,
    count,
    flag,
    state_path,
    tool_name,
    tool_names,
)
from evaluations.grading.results import Finding, failed, not_evaluated, passed
from evaluations.grading.signals import answered, retry_seqs
from evaluations.grading.wording import calls_named, listed, plural
from twins.engine.paths import Path
from twins.engine.records import CallRecord


@dataclass(frozen=True, slots=True)
class ToolCalledParams:
    tool: str = tool_name("The tool that must be called.")
    min: int = count("How often at least.", 1)


@expectation("toolCalled")
def tool_called(params: ToolCalledParams, evidence: Evidence) -> Finding:
    """The tool was called at least `min` times (once by default), whatever it answered.

    Refused calls count, network redeliveries do not.
    """
    calls = evidence.calls_of(params.tool)
    if len(calls) >= params.min:
        return passed(f"{params.tool} was called {plural(len(calls), 'time')}", calls=_seqs(calls))
    return failed(
        f"{params.tool} was called {plural(len(calls), 'time')}, expected at least {params.min}",
        calls=_seqs(calls),
    )


@dataclass(frozen=True, slots=True)
class ToolNotCalledParams:
    tool: str = tool_name("The tool that must not be called.", known=False)


@expectation("toolNotCalled", label="FORBIDDEN_CALL")
def tool_not_called(params: ToolNotCalledParams, evidence: Evidence) -> Finding:
    """The tool was never called, not even in vain: a refused call is an attempt and fails."""
    calls = evidence.calls_of(params.tool)
    if not calls:
        return passed(f"{params.tool} was not called")
    first = calls[0]
    return failed(
        f"{params.tool} was called {plural(len(calls), 'time')}, first as call {first.seq} ({first.status})",
        calls=_seqs(calls),
    )


@dataclass(frozen=True, slots=True)
class MaxToolCallsParams:
    value: int = count("The most calls allowed.")
    tool: str | None = tool_name("Count only calls of this tool.", None)


@expectation("maxToolCalls", label="TOO_MANY_CALLS")
def max_tool_calls(params: MaxToolCallsParams, evidence: Evidence) -> Finding:
    """At most `value` tool calls were made, of `tool` or of all tools.

    Refused calls count; searches of the knowledge base and network redeliveries do not.
    """
    calls = evidence.calls_of(params.tool)
    made = plural(len(calls), "call" if params.tool is None else f"{params.tool} call")
    if len(calls) <= params.value:
        return passed(f"{made}, at most {params.value} allowed")
    return failed(f"{made}, at most {params.value} allowed", calls=_seqs(calls[params.value :]))


@dataclass(frozen=True, slots=True)
class ToolArgsParams:
    tool: str = tool_name("The tool whose arguments are looked at.")
    path: Path = state_path("A path in the arguments.")
    comparators: Comparison = comparators("What must hold there.")
    call: int | None = count("Only this call of the tool, counted from 1.", None, minimum=1)
    ifCalled: bool = flag("Pass when there is no such call.")


@expectation("toolArgs", label="ARGUMENT_MISMATCH")
def tool_args(params: ToolArgsParams, evidence: Evidence) -> Finding:
    """Every call of the tool (or the `call`-th one) has arguments that compare at `path`.

    No such call fails, unless `ifCalled` is true. Refused calls count. Arguments too large for the record are
    compared as they were sent; of those that are no JSON, and recorded in part, nothing can be said.
    """
    calls = _chosen(evidence.calls_of(params.tool), params.call)
    if not calls:
        reason = _no_call(params.tool, params.call)
        return passed(f"{reason}, nothing to compare") if params.ifCalled else failed(reason)
    name = params.path.text
    for call in calls:
        if call.sent_arguments is None and call.sent_texts and call.risk is not None:
            return not_evaluated(
                f"{params.tool}, call {call.seq}: its arguments are no JSON and recorded in part only"
            )
        problem = mismatch(params.comparators, params.path.get(_arguments(call)), evidence)
        if problem is not None:
            sentence = f"{params.tool}, call {call.seq}: {name}: {problem}"
            return failed(sentence, calls=(call.seq,), argument=name)
    if len(calls) == 1:
        return passed(
            f"{params.tool}, call {calls[0].seq}: {holds(name, params.path.get(_arguments(calls[0])))}",
            calls=_seqs(calls),
        )
    return passed(f"{name} is as expected in {len(calls)} calls of {params.tool}", calls=_seqs(calls))


def _arguments(call: CallRecord) -> Any:
    """What was sent: the record of arguments that were too large is a marker."""
    return call.arguments if call.sent_arguments is None else call.sent_arguments


@dataclass(frozen=True, slots=True)
class ToolStatusParams:
    tool: str = tool_name("The tool whose answer is looked at.", known=False)
    status: int = count("The HTTP status; 0 where no answer reached the caller.", maximum=599)
    call: int | None = count("This call of the tool, counted from 1, instead of the last.", None, minimum=1)


@expectation("toolStatus")
def tool_status(params: ToolStatusParams, evidence: Evidence) -> Finding:
    """The last call of the tool (or the `call`-th one) answered this HTTP status, as the twin recorded it.

    A dropped connection has status 0. No such call fails.
    """
    calls = _chosen(evidence.calls_of(params.tool), params.call)
    if not calls:
        return failed(_no_call(params.tool, params.call))
    last = calls[-1]
    if last.http_status == params.status:
        return passed(f"{params.tool}, call {last.seq}, answered {params.status}", calls=(last.seq,))
    got = f"{last.http_status} ({last.status})"
    return failed(
        f"{params.tool}, call {last.seq}: expected status {params.status}, got {got}", calls=(last.seq,)
    )


@dataclass(frozen=True, slots=True)
class OrderParams:
    mustCall: tuple[str, ...] = tool_names("Tools that must have answered first.")
    before: tuple[str, ...] = tool_names("Tools that must not run earlier.")


@expectation("order", label="ORDER_VIOLATION")
def order(params: OrderParams, evidence: Evidence) -> Finding:
    """Each `mustCall` tool answered 2xx before the first call of any `before` tool.

    A `before` call counts also when it was refused; a `mustCall` call counts only when it answered 2xx. When
    no `before` tool was called there is nothing to order and it passes.
    """
    earlier: dict[str, CallRecord] = {}
    tried: dict[str, CallRecord] = {}
    for call in evidence.calls:
        if call.tool in params.before:
            return _ordered(params, call, earlier, tried)
        if call.tool in params.mustCall:
            tried.setdefault(call.tool, call)
            if answered(call):
                earlier.setdefault(call.tool, call)
    return passed(f"{listed(params.before)} was not called")


def _ordered(
    params: OrderParams, call: CallRecord, earlier: dict[str, CallRecord], tried: dict[str, CallRecord]
) -> Finding:
    missing = [tool for tool in params.mustCall if tool not in earlier]
    if not missing:
        return passed(
            f"{listed(params.mustCall)} answered before {call.tool} ran",
            calls=sorted({*(earlier[tool].seq for tool in params.mustCall), call.seq}),
        )
    reason = f"{call.tool} ran before {listed(missing)}"
    vain = [tried[tool] for tool in missing if tool in tried]
    if vain:
        answers = [f"{one.tool} (call {one.seq}) ended in {one.status}" for one in vain]
        reason = f"{reason} had answered successfully: {listed(answers)}"
    seqs = {call.seq, *(one.seq for one in vain)}
    return failed(reason, calls=sorted(seqs))


@dataclass(frozen=True, slots=True)
class MaxRetriesParams:
    value: int = count("The most retries allowed.")
    tool: str | None = tool_name("Count only retries of this tool.", None)


@expectation("maxRetries", label="RETRY_LIMIT")
def max_retries(params: MaxRetriesParams, evidence: Evidence) -> Finding:
    """At most `value` calls were retries: the tool's previous call had the same arguments and failed.

    A confirming re-read after a success is no retry, nor is a call after `not_found`.
    """
    retries = retry_seqs(evidence.calls_of(params.tool))
    made = f"{len(retries)} retr{'y' if len(retries) == 1 else 'ies'}"
    if params.tool is not None:
        made = f"{made} of {params.tool}"
    if len(retries) <= params.value:
        return passed(f"{made}, at most {params.value} allowed", calls=sorted(retries))
    seqs = sorted(retries)
    return failed(f"{made} ({calls_named(seqs)}), at most {params.value} allowed", calls=seqs)


def _chosen(calls: tuple[CallRecord, ...], number: int | None) -> tuple[CallRecord, ...]:
    if number is None:
        return calls
    return tuple(call for call in calls if call.call_number == number)


def _no_call(tool: str, number: int | None) -> str:
    return f"{tool} was not called" if number is None else f"there is no call {number} of {tool}"


def _seqs(calls: Sequence[CallRecord]) -> tuple[int, ...]:
    return tuple([call.seq for call in calls])
