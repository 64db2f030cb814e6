"""Failure drills: whatever is taken away in the middle of a run, nothing is lost, nothing is there twice,
nothing passes that did not, and the run ends or says why not.

Each drill compares everything the disturbed run stored with what an undisturbed one stores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.drills.conftest import SCENARIOS, STEPS
from tests.drills.sites import DrillSite, pause
from tests.running import documents
from tests.running.sites import Site, wait_until

DOUBLED = "SELECT case_id, seq FROM evaluations_toolcall GROUP BY 1, 2 HAVING count(*) > 1"


def in_the_middle(site: DrillSite) -> bool:
    return 0 < site.finished_cases() < 2 * SCENARIOS


def ends_as(site: DrillSite, undisturbed: Any) -> None:
    wait_until(lambda: has_ended(site))
    assert site.dump() == undisturbed
    assert site.query(DOUBLED) == []


def has_ended(site: DrillSite) -> bool:
    """Whether the comparison is done; meanwhile a worker that ended is replaced, as a deployment does it."""
    site.replace_ended_workers()
    return site.comparison_states() == ["COMPLETED"]


def test_a_worker_killed_in_the_middle_of_a_case(drilled: DrillSite, tmp_path: Path) -> None:
    """After its refund, before its answer: the attempt leaves nothing, and the next starts anew."""
    gate = tmp_path / "gate"
    drilled.fill(1, documents.GOOD, (*documents.GOOD, f"wait-for {gate}"), start=True)
    first = drilled.worker()
    wait_until(lambda: Path(f"{gate}.reached").exists())
    drilled.kill(first)
    assert drilled.comparison_states() == ["RUNNING"]
    gate.touch()
    drilled.worker(sweep=True)
    wait_until(lambda: drilled.comparison_states() == ["COMPLETED"])
    classes = drilled.query("SELECT classification, reason FROM evaluations_pairedcase")
    assert [row[0] for row in classes] == ["UNCHANGED"], classes
    assert drilled.query(DOUBLED) == []
    # The other case of the chunk may have waited for its transaction, and then ran again too.
    assert drilled.query("SELECT max(attempts) FROM evaluations_case") == [(2,)]
    # One refund in each of the two cases.
    assert drilled.query("SELECT count(*) FROM evaluations_toolcall WHERE tool = 'refund'") == [(2,)]


def test_the_broker_stops_and_starts_during_a_run(drilled: DrillSite, undisturbed: Any) -> None:
    drilled.fill(SCENARIOS, *STEPS, start=True)
    drilled.worker(sweep=True)
    wait_until(lambda: in_the_middle(drilled))
    drilled.broker.stop()
    pause(2)
    drilled.broker.start()
    ends_as(drilled, undisturbed)
    # Its message came back while it was still being worked on; the rows' claims kept it from running twice.
    assert drilled.query("SELECT DISTINCT attempts FROM evaluations_case") == [(1,)]


def test_a_comparison_started_while_the_broker_is_away_runs_when_it_is_back(
    on_redis: DrillSite, undisturbed: Any
) -> None:
    on_redis.broker.stop()
    on_redis.fill(SCENARIOS, *STEPS, start=True)
    assert on_redis.comparison_states() == ["QUEUED"]
    on_redis.broker.start()
    on_redis.worker(sweep=True)
    ends_as(on_redis, undisturbed)


@pytest.mark.parametrize("url", ["amqp://guest:guest@127.0.0.1:9//", "redis://127.0.0.1:9/0"])
def test_a_broker_that_is_away_holds_up_nobody(url: str, tmp_path: Path) -> None:
    """The page or request that starts a comparison waits for the message to be sent, or to fail."""
    here = Site(tmp_path, f"sqlite:///{tmp_path / 'none.sqlite3'}", url)
    delivered, seconds = here.python(
        "import time\nfrom evaluations.dispatch import deliver\nfrom evaluations.tasks import run_chunk\n"
        "began = time.monotonic()\n"
        "print(json.dumps([deliver(run_chunk, 1), time.monotonic() - began]))"
    )
    assert not delivered
    assert seconds < 2


def test_the_database_is_away_during_a_run(on_rabbitmq: DrillSite, undisturbed: Any) -> None:
    on_rabbitmq.fill(SCENARIOS, *STEPS, start=True)
    on_rabbitmq.worker(sweep=True)
    wait_until(lambda: in_the_middle(on_rabbitmq))
    on_rabbitmq.database.stop()
    pause(2)
    on_rabbitmq.database.start()
    ends_as(on_rabbitmq, undisturbed)


def test_every_connection_breaks_again_and_again(on_rabbitmq: DrillSite, undisturbed: Any) -> None:
    on_rabbitmq.fill(SCENARIOS, *STEPS, start=True)
    on_rabbitmq.worker(sweep=True)
    on_rabbitmq.worker()
    for finished in (1, 4, 7):
        wait_until(lambda finished=finished: on_rabbitmq.finished_cases() >= finished)  # type: ignore[misc]
        on_rabbitmq.database.cut()
        on_rabbitmq.broker.cut()  # type: ignore[attr-defined]
    ends_as(on_rabbitmq, undisturbed)


def test_an_agent_that_hangs_is_cut_off_and_holds_up_nothing(on_rabbitmq: DrillSite) -> None:
    on_rabbitmq.fill(1, documents.GOOD, ("hang",))
    on_rabbitmq.python(
        "from scenarios.services import save_scenario\nfrom tests.running import documents as d\n"
        "save_scenario(document=d.scenario('s00', timeoutSeconds=1))\n"
        "from evaluations.services.comparisons import start_comparison\n"
        f"start_comparison(agent={documents.AGENT!r}, baseline='1.0.0', candidate='2.0.0')"
    )
    on_rabbitmq.worker(sweep=True)
    wait_until(lambda: on_rabbitmq.comparison_states() == ["COMPLETED"])
    ended = on_rabbitmq.query(
        "SELECT r.side, c.verdict, e.status FROM evaluations_case c "
        "JOIN evaluations_run r ON r.id = c.run_id LEFT JOIN evaluations_expectationresult e "
        "ON e.case_id = c.id AND e.expectation_id = 'agentRun' ORDER BY r.side"
    )
    assert ended == [("BASELINE", "PASSED", None), ("CANDIDATE", "FAILED", "FAIL")]


def test_a_message_delivered_many_times_runs_nothing_twice(on_redis: DrillSite, undisturbed: Any) -> None:
    comparison = on_redis.fill(SCENARIOS, *STEPS, start=True)
    on_redis.python(
        "from evaluations.tasks import run_chunk\n"
        f"for _ in range(12): run_chunk.apply_async(({comparison},), {{'limit': 2}})"
    )
    for _ in range(2):
        on_redis.worker()
    ends_as(on_redis, undisturbed)
    assert on_redis.query("SELECT DISTINCT attempts FROM evaluations_case") == [(1,)]
