"""Real Celery workers on real brokers and databases: undisturbed, killed, doubled, cancelled.

Each test has a database and a queue of its own. PostgreSQL, RabbitMQ and Redis are used where they answer on
their standard local ports; where one does not, its tests skip loudly (tests/services.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import documents
from tests.running.sites import ROOT, START, Site, site, wait_until

KINDS = ["sqlite-filesystem", "postgresql-rabbitmq", "postgresql-redis"]
SCENARIOS = 6
SLOW = ("sleep 0.15", *documents.GOOD), ("sleep 0.15", *documents.TWICE)


@pytest.fixture(params=KINDS)
def installation(request: Any, tmp_path: Path) -> Iterator[Site]:
    with site(request.param, tmp_path) as here:
        yield here


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process without a worker stores for the comparison that a test disturbs."""
    with site("sqlite", tmp_path_factory.mktemp("undisturbed")) as quiet:
        quiet.fill(SCENARIOS // 2, *SLOW, trials=2)
        assert quiet.compare().returncode == 3
        return quiet.dump()


def test_workers_run_what_compare_asked_for(installation: Site) -> None:
    installation.fill(SCENARIOS, documents.GOOD, documents.TWICE)
    installation.worker()
    done = installation.compare()
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["NEW_CRITICAL_FAILURE"] == SCENARIOS
    assert "Traceback" not in done.stderr
    assert installation.comparison_states() == ["COMPLETED"]
    assert installation.query("SELECT DISTINCT attempts FROM evaluations_case") == [(1,)]


def test_without_a_broker_compare_needs_no_worker(tmp_path: Path) -> None:
    with site("sqlite", tmp_path) as here:
        here.fill(2, documents.GOOD, documents.TWICE)
        done = here.compare()
        assert done.returncode == 3, done.stderr
        assert done.stderr == ""
        assert here.comparison_states() == ["COMPLETED"]


def test_a_killed_worker_loses_nothing_and_doubles_nothing(installation: Site, undisturbed: Any) -> None:
    # Three scenarios, two trials each: a trial is resumed as a case is.
    installation.fill(SCENARIOS // 2, *SLOW, trials=2, start=True)
    first = installation.worker()
    # In the middle: something is stored, something is being run, something waits.
    wait_until(lambda: 0 < installation.finished_cases() < 2 * SCENARIOS)
    installation.kill(first)
    assert installation.finished_cases() < 2 * SCENARIOS
    installation.worker(sweep=True)
    wait_until(lambda: installation.comparison_states() == ["COMPLETED"])
    assert installation.dump() == undisturbed
    doubled = "SELECT case_id, seq FROM evaluations_toolcall GROUP BY 1, 2 HAVING count(*) > 1"
    assert installation.query(doubled) == []


def test_messages_delivered_twice_run_nothing_twice(installation: Site) -> None:
    comparison = installation.fill(SCENARIOS, documents.GOOD, documents.TWICE, start=True)
    installation.python(
        "from evaluations.tasks import run_chunk\n"
        f"for _ in range(10): run_chunk.apply_async(({comparison},), {{'limit': 2}})"
    )
    installation.worker()
    installation.worker()
    wait_until(lambda: installation.comparison_states() == ["COMPLETED"])
    assert installation.query("SELECT DISTINCT attempts FROM evaluations_case") == [(1,)]
    assert installation.query("SELECT count(*) FROM evaluations_toolcall") == [(5 * SCENARIOS,)]


def test_a_comparison_is_cancelled_while_workers_run_it(installation: Site, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waiting = (f"wait-for {gate}", *documents.GOOD)
    comparison = installation.fill(SCENARIOS, waiting, documents.TWICE, start=True)
    installation.worker()
    wait_until(lambda: Path(f"{gate}.reached").exists())
    # The gate opens after the cancellation: the agent goes on, and nothing of it may be stored. The worker is
    # still good for the next comparison, which comes after whatever it had in hand.
    installation.python(f"""
from pathlib import Path
from evaluations.models import Comparison
from evaluations.services.comparisons import cancel_comparison
cancel_comparison(Comparison.objects.get(pk={comparison}))
Path({str(gate)!r}).touch()
{START}
start(scenarios=["s00"])
""")
    wait_until(lambda: installation.comparison_states() == ["CANCELLED", "COMPLETED"])
    stored = installation.query(
        "SELECT count(*) FROM evaluations_toolcall t JOIN evaluations_case c ON c.id = t.case_id "
        f"JOIN evaluations_run r ON r.id = c.run_id WHERE r.comparison_id = {comparison}"
    )
    assert stored == [(0,)]


@pytest.mark.parametrize("kind", ["sqlite-filesystem", "postgresql-redis"])
def test_a_case_that_kills_its_worker_is_given_up_alone(kind: str, tmp_path: Path) -> None:
    with site(kind, tmp_path) as here:
        here.environment["AGENTTWIN_LEASE_SECONDS"] = "1"
        here.fill(3, documents.GOOD, ("die-on s01", *documents.GOOD), start=True)
        for _ in range(3):
            worker = here.worker(sweep=True)
            wait_until(lambda worker=worker: worker.poll() is not None)  # type: ignore[misc]
        here.worker(sweep=True)
        wait_until(lambda: here.comparison_states() == ["INCOMPLETE"])
        ended = here.query(
            "SELECT p.scenario_name, r.side, c.verdict FROM evaluations_case c "
            "JOIN evaluations_run r ON r.id = c.run_id "
            "JOIN evaluations_pairedcase p ON p.id = c.pair_id WHERE c.verdict <> 'PASSED'"
        )
        assert ended == [("s01", "CANDIDATE", "ERRORED")]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_burst_under_one_key_makes_one_pair(kind: str, tmp_path: Path) -> None:
    code = (
        "import json, django; django.setup()\n"
        "from evaluations.services.comparisons import start_comparison\n"
        f"request = dict(agent={documents.AGENT!r}, baseline='1.0.0', candidate='2.0.0', key='burst')\n"
        "input()\n"
        "print(start_comparison(**request, wake=False)[0].pk)"
    )
    with site(kind, tmp_path) as here:
        here.fill(2, documents.GOOD, documents.TWICE)
        burst = [
            subprocess.Popen(
                [sys.executable, "-c", code], env=here.environment, cwd=ROOT, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for _ in range(3)
        ]  # fmt: skip
        for process in burst:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        answers = [process.communicate() for process in burst]
        assert all(process.returncode == 0 for process in burst), answers
        assert len({out for out, _ in answers}) == 1
        assert here.query("SELECT count(*) FROM evaluations_comparison") == [(1,)]
        assert here.query("SELECT count(*) FROM evaluations_case") == [(4,)]
