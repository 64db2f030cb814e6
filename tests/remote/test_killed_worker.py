"""A worker that dies while remote agents are at work: nothing of its attempt gets into the next one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from tests.remote.fake_agent import Asked, answers, fake_agent
from tests.remote.installation import ROOT, Installation
from tests.running import documents

FILL = """
from evaluations.services.agents import save_agent
from evaluations.services.comparisons import start_comparison
from scenarios.services import save_scenario
from tests.running import documents as d
from twins.services import save_twin
save_twin(document=d.twin())
save_scenario(document=d.scenario("refund"))
save_agent(document=d.agent("1.0.0"))
save_agent(document=d.agent("2.0.0", "other"))
start = dict(agent=d.AGENT, baseline="1.0.0", candidate="2.0.0", wake=False)
print(start_comparison(**start)[0].pk)
"""
RUN = "from evaluations.services.waiting import run_here\nrun_here({})\nprint(1)"
LOOK = """
from evaluations.models import *
from twins.wire.models import *
print(json.dumps([
    [[c.state, c.verdict, c.attempts, [t.tool for t in c.tool_calls.order_by("seq")], c.final_state_digest]
     for c in Case.objects.all()],
    ToolCall.objects.count(), ExpectationResult.objects.count(),
    WireSession.objects.count(), WireSession.objects.filter(emptied_at=None).count(),
]))
"""


def test_a_killed_worker_leaves_nothing_and_the_next_attempt_starts_afresh(tmp_path: Path) -> None:
    killed = threading.Event()
    late: list[Asked] = []

    def behave(asked: Asked, connection: Any) -> None:
        refund(asked)
        if not killed.is_set():
            late.append(asked)
            killed.wait(60)
            return
        answers({"output": "done", "claimed_outcome": "SUCCESS"})(asked, connection)

    with fake_agent(behave) as agent:
        site = Installation(
            tmp_path,
            AGENTTWIN_LEASE_SECONDS="2",
            AGENTTWIN_AGENT_ENDPOINTS=json.dumps({documents.AGENT: agent.url}),
        )
        comparison = site.python(FILL)
        with site.served():
            code = "import django; django.setup()\n" + RUN.format(comparison)
            worker = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=site.environment)
            until = time.monotonic() + 60
            while len(late) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            worker.kill()
            worker.wait()
            cases, calls, results, sessions, unclosed = site.python(LOOK)
            assert [case[:3] for case in cases] == [["RUNNING", None, 1]] * 2
            # What the killed attempt did is in its own sessions and nowhere else.
            assert (calls, results, sessions, unclosed) == (0, 0, 2, 2)
            killed.set()
            site.python(RUN.format(comparison))
            done = site.python(LOOK)
            for asked in late:
                # The agent of the killed attempt is still there, and its token runs out later.
                assert refund(asked).status_code == 200
            assert site.python(LOOK) == done
    cases, calls, _, sessions, unclosed = done
    assert [case[:4] for case in cases] == [["FINISHED", "PASSED", 2, ["refund"]]] * 2
    assert (calls, sessions, unclosed) == (2, 4, 2)


def refund(asked: Asked) -> httpx.Response:
    return httpx.post(
        asked.body["tools_base_url"] + "/tools/refund",
        json={"order_id": "A", "amount": 10},
        headers=asked.body["tool_headers"],
        timeout=30,
    )
