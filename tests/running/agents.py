"""Agents for tests: each does what its manifest's instructions say, one step a line."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from evaluations.agents.base import AgentRefusedError, VersionUnavailableError

# A test gives it a seed, so that the test, and no case, is the same each time.
COIN = Random()


class StepAgent:
    """Acts out lines such as ``call refund {"order_id": "A"}``, ``sleep 0.2``, ``hang``, ``answer {...}``."""

    model_kind = "deterministic-fake"
    seen: list[Any] = []

    def __init__(self, manifest: Any) -> None:
        self.steps = [line for line in (manifest.instructions or "").splitlines() if line.strip()]

    def run(self, request: Any, tools: Any) -> Any:
        self.answer: Any = {"output": "done", "claimed_outcome": "SUCCESS"}
        for line in self.steps:
            verb, _, rest = line.strip().partition(" ")
            getattr(self, f"do_{verb.replace('-', '_')}")(rest, request, tools)
        return self.answer

    def do_call(self, rest: str, request: Any, tools: Any) -> None:
        tool, _, arguments = rest.partition(" ")
        text = arguments.replace("$message", request.input)
        self.reply = tools.call(tool, json.loads(text) if text else {})

    def do_flood(self, rest: str, request: Any, tools: Any) -> None:
        """Calls refund with an argument of so many characters."""
        tools.call("refund", {"order_id": "y" * int(rest)})

    def do_coin(self, rest: str, request: Any, tools: Any) -> None:
        """Makes this call if the coin shows heads, which no seed decides."""
        if COIN.random() < 0.5:
            self.do_call(rest, request, tools)

    def do_search(self, rest: str, request: Any, tools: Any) -> None:
        tools.search(rest)

    def do_repeat(self, rest: str, request: Any, tools: Any) -> None:
        times, _, line = rest.partition(" ")
        for _ in range(int(times)):
            self.do_call(line, request, tools)

    def do_answer(self, rest: str, request: Any, tools: Any) -> None:
        self.answer = json.loads(rest)

    def do_sleep(self, rest: str, request: Any, tools: Any) -> None:
        time.sleep(float(rest))

    def do_sleep_on(self, rest: str, request: Any, tools: Any) -> None:
        name, seconds = rest.split()
        if request.run_context.scenario_name == name:
            time.sleep(float(seconds))

    def do_hang(self, rest: str, request: Any, tools: Any) -> None:
        while True:
            pass

    def do_hang_swallowing(self, rest: str, request: Any, tools: Any) -> None:
        """Ignores one attempt to stop it, and calls again although its time is over."""
        try:
            while True:
                pass
        except BaseException:
            tools.call("refund", {"order_id": "A", "amount": 1})

    def do_crash(self, rest: str, request: Any, tools: Any) -> None:
        raise RuntimeError(rest or "out of cheese")

    def do_exit(self, rest: str, request: Any, tools: Any) -> None:
        raise SystemExit(3)

    def do_refuse(self, rest: str, request: Any, tools: Any) -> None:
        raise AgentRefusedError("not my customer")

    def do_refuse_until(self, rest: str, request: Any, tools: Any) -> None:
        """``PATH TRIAL…``: refuses these trials until PATH exists, as a dependency that comes back does."""
        path, *trials = rest.split()
        if str(request.run_context.trial) in trials and not Path(path).exists():
            raise AgentRefusedError("not yet")

    def do_no_version(self, rest: str, request: Any, tools: Any) -> None:
        raise VersionUnavailableError("no such version")

    def do_garbage(self, rest: str, request: Any, tools: Any) -> None:
        self.answer = {
            "list": ["not", "an", "object"],
            "nan": {"output": "x", "proposal": float("nan")},
            "type": {"output": 5, "steps": "many"},
            "outcome": {"output": "x", "claimed_outcome": "DONE"},
            "big": {"output": "x" * (5 * 1024 * 1024)},
            "object": {"output": "x", "proposal": object()},
        }[rest]

    def do_long_answer(self, rest: str, request: Any, tools: Any) -> None:
        self.answer = {"output": "x" * int(rest) + "END"}

    def do_die_on(self, rest: str, request: Any, tools: Any) -> None:
        """Takes the whole process with it in one scenario."""
        if request.run_context.scenario_name == rest:
            os.kill(os.getpid(), signal.SIGKILL)

    def do_wait_for(self, rest: str, request: Any, tools: Any) -> None:
        """Touches PATH.reached and waits until PATH exists, so that a test acts in the middle of a case."""
        Path(f"{rest}.reached").touch()
        while not Path(rest).exists():
            time.sleep(0.01)

    def do_mutate(self, rest: str, request: Any, tools: Any) -> None:
        """Changes everything it was handed, which must reach nobody else."""
        request.context["tenant"] = "mutated"
        arguments = {"order_id": "A", "amount": 1}
        reply = tools.call("refund", arguments)
        arguments["amount"] = 999
        reply.body["result"]["refunded"] = 999


class BrokenAtStart(StepAgent):
    def __init__(self, manifest: Any) -> None:
        raise RuntimeError("no configuration")
