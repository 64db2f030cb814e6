"""The nine scenarios of the demo in process, over HTTP and over MCP: the same calls, the same verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.remote.installation import Installation, demo_agent

AGENT = "support-refund-agent"

# Everything two ways to reach an agent must agree on: no ids, no times, no measured delay.
DUMP = """
from evaluations.models import *
def rows(found, *without):
    without = {"id", "case_id", *without}
    return [{k: v for k, v in row.items() if k not in without} for row in found.values()]
comparison = Comparison.objects.latest("pk")
dump = [comparison.state, comparison.reason]
for pair in comparison.pairs.order_by("position"):
    for case in pair.cases.select_related("run").order_by("run__side"):
        metrics = {k: v for k, v in case.metrics.items() if k != "latency_ms"}
        answer = {k: v for k, v in (case.answer or {}).items() if k != "latency_ms"}
        dump.append({
            "case": [pair.scenario_name, case.run.side], "verdict": case.verdict, "answer": answer,
            "state": [case.initial_state_digest, case.final_state_digest], "reason": case.error_reason,
            "counts": [case.tool_call_count, case.retry_count, case.contradiction], "metrics": metrics,
            "records": rows(case.tool_calls.order_by("seq"), "delay_ms"),
            "results": rows(case.results.order_by("position")),
            "model": [case.run.model_kind, case.run.model_name],
        })
    dump.append([pair.scenario_name, pair.classification, pair.reason, pair.first_divergence,
                 pair.newly_failing, pair.flags])
print(json.dumps(dump))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("three-ways")
    site = Installation(folder)
    site.run("seed_demo", "--demo", "refund")
    with site.served():
        yield site


def compared(site: Installation, **environment: str) -> Any:
    arguments = ("compare", AGENT, "--baseline", "1.2.4", "--candidate", "1.3.0")
    site.run(*arguments, status=3, **environment)
    return site.python(DUMP)


@pytest.fixture(scope="module")
def in_process(site: Installation) -> Any:
    return compared(site)


@pytest.mark.parametrize("options", [(), ("--mcp",)], ids=["http", "mcp"])
def test_the_nine_scenarios_are_the_same_over(
    options: tuple[str, ...], site: Installation, in_process: Any, tmp_path: Path
) -> None:
    assert len([one for one in in_process if isinstance(one, dict)]) == 18
    with demo_agent(tmp_path, *options) as address:
        endpoints = json.dumps({AGENT: address})
        remote = compared(site, AGENTTWIN_AGENT_ENDPOINTS=endpoints)
    for here, there in zip(in_process, remote, strict=True):
        assert there == here
    sessions = site.python(
        "from twins.wire.models import *\n"
        "print(json.dumps([WireSession.objects.filter(emptied_at=None).count(), WireRecord.objects.count()]))"
    )
    assert sessions == [0, 0]
