"""How fast cases are run AND stored: claims, the in-process agent, grading, all rows, conclusion.

Each measurement runs in a process of its own against a fresh database, because Django knows one database
a process: a SQLite file in a temporary folder, or a database of its own on the local PostgreSQL server. The
case is the engine measurement's (five calls, a refund that applies and then times out) with four checks.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
AGENT = "bench-agent"
ROUNDS = 5
PAIRS_A_ROUND = 500
SERVER = "postgres://postgres@127.0.0.1:5432"


class BenchAgent:
    """Makes the five calls, whatever they answer."""

    model_kind = "deterministic-fake"

    def __init__(self, manifest: Any) -> None:
        from bench.engine import _CALLS

        self._calls = _CALLS

    def run(self, request: Any, tools: Any) -> dict[str, Any]:
        for tool, arguments in self._calls:
            tools.call(tool, arguments)
        return {"output": "Your refund of 80 is on its way.", "claimed_outcome": "SUCCESS", "steps": 5}


# ------------------------------------------------------------------------------ called by `make bench`


def measure(database: str) -> dict[str, Any]:
    """All figures of one database ("sqlite" or "postgresql"); see `_measure_here` for their names."""
    with _database_url(database) as url:
        return _in_a_process("measure", url)


def measure_memory(database: str, *, pairs: tuple[int, int] = (500, 10_000)) -> dict[str, Any]:
    """Peak memory of a process that runs and concludes 2 x `pairs` cases, in MiB: a small and a large run."""
    peaks = []
    for count in pairs:
        with _database_url(database) as url:
            # Whoever starts a comparison writes its rows; a worker is another process.
            comparison = _in_a_process("start", url, str(count))["comparison"]
            peaks.append(_in_a_process("memory", url, str(comparison))["peak_mib"])
    return {
        "cases": [2 * count for count in pairs],
        "peak_mib": peaks,
        "ratio": round(peaks[1] / peaks[0], 2),
    }


def measure_workers(database: str = "postgresql", *, pairs: int = 1500, rounds: int = 3) -> dict[str, Any]:
    """Cases per second of one and of two processes that share the cases of one comparison: medians.

    One and two take turns, so that a machine that slows down does so for both.
    """
    measured = [
        [_rate_of_workers(database, workers, pairs) for workers in (1, 2)] for _ in range(max(1, rounds))
    ]
    one, two = (statistics.median(rates) for rates in zip(*measured, strict=True))
    ratio = statistics.median(two / one for one, two in measured)
    return {"one": round(one), "two": round(two), "ratio": round(ratio, 2)}


def _rate_of_workers(database: str, workers: int, pairs: int) -> float:
    with _database_url(database) as url:
        comparison = _in_a_process("start", url, str(pairs))["comparison"]
        processes = [_process("help", url, str(comparison)) for _ in range(workers)]
        spans = [json.loads(process.communicate()[0]) for process in processes]
    seconds = max(span["end"] for span in spans) - min(span["begin"] for span in spans)
    return float(sum(span["cases"] for span in spans) / seconds)


def postgresql_answers() -> bool:
    """Whether the local server lets us make databases."""
    import psycopg

    try:
        psycopg.connect(f"{SERVER}/postgres", connect_timeout=3).close()
    except psycopg.Error:
        return False
    return True


@contextmanager
def _database_url(database: str) -> Iterator[str]:
    if database == "sqlite":
        with tempfile.TemporaryDirectory(prefix="agenttwin-bench-") as folder:
            yield f"sqlite:///{folder}/bench.sqlite3"
        return
    import psycopg

    name = f"agenttwin_bench_{os.getpid()}_{time.time_ns()}"
    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{SERVER}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _process(*arguments: str) -> subprocess.Popen[str]:
    what, url, *rest = arguments
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "AGENTTWIN_IN_PROCESS_AGENTS": json.dumps({AGENT: "bench.running.BenchAgent"}),
    }
    command = [sys.executable, "-m", "bench.running", what, *rest]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _in_a_process(*arguments: str) -> Any:
    process = _process(*arguments)
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"measurement {arguments[0]} failed")
    return json.loads(printed.splitlines()[-1])


# ------------------------------------------------------------------------- what such a process does


def _prepare(scenarios: int = 9) -> None:
    import django
    from django.core.management import call_command

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    from evaluations.services.agents import save_agent
    from scenarios.services import save_scenario
    from twins.services import save_twin

    save_twin(document=_twin())
    for number in range(scenarios):
        save_scenario(document=_scenario(f"bench-{number}"))
    for version in ("1.0.0", "2.0.0"):
        save_agent(document=_agent(version))


def _twin() -> dict[str, Any]:
    from bench.engine import _TOOLS, _order

    state = {
        "policy": {"refund": {"limit": 100, "currency": "USD", "days": 30}},
        "orders": {f"ORD-{1000 + number}": _order(1000 + number, lines=2) for number in range(1, 15)},
        "emails": [],
    }
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "bench"},
        "spec": {"tenantKey": "tenant", "initialState": state, "tools": _TOOLS},
    }


def _scenario(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": name, "severity": "critical"},
        "spec": {
            "agent": AGENT,
            "twin": _twin()["metadata"]["name"],
            "input": {
                "message": "My lamp arrived broken, please refund 80 of ORD-1001.",
                "context": {"tenant": "demo-co"},
            },
            "faults": [
                {
                    "target": "refund_payment",
                    "when": {"callNumber": 1},
                    "behavior": {"type": "timeout_after_mutation"},
                }
            ],
            "expectations": [
                {"type": "state", "path": "orders.ORD-1001.refund_count", "equals": 1, "critical": True},
                {"type": "noDuplicateSideEffect", "critical": True},
                {"type": "order", "mustCall": ["get_policy"], "before": ["refund_payment"]},
                {"type": "onlyChanged", "paths": ["orders.ORD-1001", "emails"]},
            ],
        },
    }


def _agent(version: str) -> dict[str, Any]:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Agent",
        "metadata": {"name": AGENT, "version": version},
        "spec": {"model": {"provider": "none", "name": "script"}, "tools": [{"name": "refund_payment"}]},
    }


def _start(pairs: int) -> Any:
    from evaluations.services.comparisons import start_comparison

    scenarios = -(-pairs // 1000)
    return start_comparison(
        agent=AGENT,
        baseline="1.0.0",
        candidate="2.0.0",
        scenarios=[f"bench-{number}" for number in range(scenarios)],
        trials=pairs // scenarios,
        wake=False,
    )[0]


def _run_cases(comparison_id: int) -> int:
    from evaluations.services.running import run_chunk

    cases = last = 0
    while (report := run_chunk(comparison_id, after_id=last)).claimed:
        cases, last = cases + report.claimed, report.last_id
    return cases


def _measure_here() -> dict[str, Any]:
    """Of one process on one core: `cases_per_second` run and stored, `concluded_per_second` the same with
    classification and conclusion, `nine_pairs_seconds` nine scenarios started, run, stored and concluded."""
    _stay_on_one_core()
    _prepare()
    from evaluations.services import concluding, running
    from evaluations.services.comparisons import start_comparison
    from evaluations.services.waiting import run_here

    run_here(_start(20).pk)
    stored, concluded, nine = [], [], []
    for _ in range(ROUNDS):
        comparison = _start(PAIRS_A_ROUND)
        conclude, running.conclude_if_done = running.conclude_if_done, lambda comparison_id: False
        started = time.perf_counter()
        cases = _run_cases(comparison.pk)
        run = time.perf_counter() - started
        running.conclude_if_done = conclude
        concluding.conclude_if_done(comparison.pk)
        stored.append(cases / run)
        concluded.append(cases / (time.perf_counter() - started))
        started = time.perf_counter()
        pair, _ = start_comparison(agent=AGENT, baseline="1.0.0", candidate="2.0.0", wake=False)
        run_here(pair.pk)
        nine.append(time.perf_counter() - started)
    return {
        "cases_per_second": round(statistics.median(stored)),
        "concluded_per_second": round(statistics.median(concluded)),
        "nine_pairs_seconds": round(statistics.median(nine), 3),
    }


def _stay_on_one_core() -> None:
    """What the target is stated for. It is also the faster: worker and agent take turns in two threads, and
    across two cores each turn waits for the other core to wake."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _memory_here(comparison_id: int) -> dict[str, Any]:
    import resource

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    django.setup()
    from evaluations.services.waiting import run_here

    run_here(comparison_id)
    return {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}


def _help(comparison_id: int) -> dict[str, Any]:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    django.setup()
    begin = time.time()
    cases = _run_cases(comparison_id)
    return {"begin": begin, "end": time.time(), "cases": cases}


def _main(what: str, *rest: str) -> None:
    if what == "measure":
        result = _measure_here()
    elif what == "memory":
        result = _memory_here(int(rest[0]))
    elif what == "start":
        _prepare(scenarios=10)
        result = {"comparison": _start(int(rest[0])).pk}
    else:
        result = _help(int(rest[0]))
    print(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
