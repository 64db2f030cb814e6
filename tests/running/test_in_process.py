"""Agents of this process that hang, crash, flood and lie: each is a finding about its case. No database."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from evaluations.agents.base import (
    AgentRequest,
    Installation,
    NoAdapterError,
    RunContext,
    RunLimits,
    run_limits,
)
from evaluations.agents.in_process import InProcessAgent
from evaluations.agents.registry import adapter_for
from evaluations.agents.tools import AgentTools, CaseTools
from scenarios.documents.agent import load_agent
from scenarios.documents.cases import case_spec
from tests.running import documents
from tests.running.sites import wait_until
from twins.documents.twin import load_twin

STEPS = "tests.running.agents.StepAgent"


def request_of(**fields: Any) -> AgentRequest:
    context = RunContext(run_id="1", case_id="1", scenario_name="refund", trial=1)
    return AgentRequest(
        input="hello", agent_version="1.0.0", session_id="s", run_context=context, context={}, **fields
    )


def run(
    *steps: str, seconds: float = 5.0, calls: int = 200, path: str = STEPS, keep_waiting: Any = None
) -> Any:
    spec = case_spec(load_twin(documents.twin()), None)
    tools = CaseTools(spec, max_calls=calls)
    adapter = InProcessAgent(load_agent(documents.agent("1.0.0", *steps)), path)
    limits = RunLimits(seconds=seconds, tool_calls=calls)
    end = adapter.run(request_of(), tools, limits=limits, keep_waiting=keep_waiting or (lambda: True))
    return end, tools


def test_a_run_brings_answer_and_records() -> None:
    end, tools = run(*documents.GOOD)
    assert end.answer.output == "done"
    assert end.answer.latency_ms >= 0
    assert [record.tool for record in tools.records] == ["lookup", "refund"]
    assert tools.state.root["orders"]["A"]["refunded"] == 10


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        (("crash",), "crashed"),
        (("exit",), "crashed"),
        (("garbage list",), "garbage"),
        (("garbage nan",), "garbage"),
        (("garbage type",), "garbage"),
        (("garbage outcome",), "garbage"),
        (("garbage big",), "garbage"),
        (("garbage object",), "garbage"),
        (("refuse",), "refused"),
        (("no-version",), "version_unavailable"),
    ],
)
def test_what_went_wrong_is_told_apart(steps: tuple[str, ...], kind: str) -> None:
    end, _ = run(*steps)
    assert end.failure.kind == kind
    assert end.answer is None


def test_an_agent_that_fails_to_start_crashed() -> None:
    end, _ = run(path="tests.running.agents.BrokenAtStart")
    assert end.failure.kind == "crashed"
    assert "no configuration" in end.failure.detail


def test_an_agent_that_cannot_be_loaded_is_unreachable() -> None:
    end, _ = run(path="tests.running.nowhere.Agent")
    assert end.failure.kind == "unreachable"


@pytest.mark.parametrize("step", ["hang", "sleep 30", "hang-swallowing"])
def test_a_hanging_agent_is_ended_at_its_deadline(step: str) -> None:
    started = time.monotonic()
    end, tools = run(documents.GOOD[1], step, seconds=0.2)
    assert time.monotonic() - started < 20  # it would sleep for 30
    assert end.failure.kind == "timeout"
    # What it did in time stays; what it tries afterwards changes nothing.
    time.sleep(0.2)
    assert len(tools.records) == 1
    assert tools.state.root["orders"]["A"]["refunded"] == 10


def test_threads_of_hanging_agents_end() -> None:
    def agents() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "agent"}

    before = agents()
    run("hang", seconds=0.05)
    # An idle thread stays for the next agent; no other one of this run is left.
    wait_until(lambda: len(agents() - before) <= 1)
    assert len(agents() - before) <= 1


@pytest.mark.parametrize(("made", "kind"), [(3, None), (4, "call_limit"), (10_000, "call_limit")])
def test_the_call_limit_allows_exactly_its_number(made: int, kind: str | None) -> None:
    end, tools = run(f'repeat {made} lookup {{"order_id": "A"}}', calls=3)
    assert (end.failure.kind if end.failure else None) == kind
    assert len(tools.records) == 3


def test_limits_come_from_scenario_and_manifest() -> None:
    plain = load_agent(documents.agent("1.0.0"))
    assert run_limits(plain, None) == RunLimits(seconds=60.0, tool_calls=200)
    limited = load_agent(documents.agent("1.0.0", limits={"maxToolCalls": 7, "maxDurationSeconds": 5}))
    assert run_limits(limited, 30) == RunLimits(seconds=5.0, tool_calls=7)
    assert run_limits(limited, 2) == RunLimits(seconds=2.0, tool_calls=7)


def test_an_agent_reaches_its_tools_and_nothing_of_the_record() -> None:
    """What the twin recorded is the evidence: no name leads from what an agent is handed to it."""
    tools = CaseTools(case_spec(load_twin(documents.twin()), None), max_calls=9)
    assert [name for name in dir(AgentTools(tools)) if not name.startswith("_")] == ["call", "search"]


def test_told_to_stop_a_run_ends_without_a_finding() -> None:
    end, _ = run("sleep 30", keep_waiting=lambda: False)
    assert end.stopped
    assert end.failure is None


def test_our_own_failure_while_waiting_ends_the_agent() -> None:
    def broken() -> bool:
        raise ConnectionError("the database went away")

    tools = CaseTools(case_spec(load_twin(documents.twin()), None), max_calls=9)
    adapter = InProcessAgent(load_agent(documents.agent("1.0.0", "sleep 1.2", documents.GOOD[1])), STEPS)
    limits = RunLimits(seconds=5, tool_calls=9)
    with pytest.raises(ConnectionError):
        adapter.run(request_of(), tools, limits=limits, keep_waiting=broken)
    time.sleep(0.5)
    assert tools.records == []


def test_an_exception_of_the_twin_is_kept_apart_from_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("twin")

    monkeypatch.setattr("evaluations.agents.tools.call_tool", broken)
    _, tools = run(*documents.GOOD)
    assert isinstance(tools.twin_error, ZeroDivisionError)
    assert tools.records == []


def test_an_agent_cannot_reach_the_state_through_what_it_was_handed() -> None:
    end, tools = run("mutate")
    assert end.failure is None
    assert tools.records[0].arguments == {"order_id": "A", "amount": 1}
    assert tools.state.root["orders"]["A"]["refunded"] == 1


def test_a_delay_is_slept_and_counts_as_time() -> None:
    fault = {"target": "lookup", "behavior": {"type": "delay", "delayMs": 300}}
    from scenarios.documents.scenario import load_scenario

    scenario = load_scenario(documents.scenario("slow", faults=[fault]))
    tools = CaseTools(case_spec(load_twin(documents.twin()), scenario), max_calls=5)
    adapter = InProcessAgent(load_agent(documents.agent("1.0.0", documents.GOOD[0])), STEPS)
    limits = RunLimits(seconds=5, tool_calls=5)
    end = adapter.run(request_of(), tools, limits=limits, keep_waiting=lambda: True)
    assert end.answer is not None
    assert end.answer.latency_ms >= 300


def test_an_agent_without_an_adapter_names_the_known_ones() -> None:
    manifest = load_agent(documents.agent("1.0.0", name="stranger"))
    with pytest.raises(NoAdapterError, match="registered: step-agent"):
        adapter_for(manifest, Installation(in_process={"step-agent": STEPS}))
