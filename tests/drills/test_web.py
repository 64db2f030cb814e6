"""Drills of the web process: an outage is 503 with Retry-After, ends by itself, and a build outlives it."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.ci.client import CLIENT, environment, run
from tests.drills.conftest import SCENARIOS, STEPS
from tests.drills.sites import DrillSite, pause
from tests.running import documents
from tests.running.sites import wait_until

VERSIONS = ("--baseline", "1.0.0", "--candidate", "2.0.0")
CREDENTIALS = """
from django.contrib.auth import get_user_model
from django.test import Client
from reviews.services.tokens import create_token
user = get_user_model().objects.create_superuser("operator", password="correct-horse-battery")
client = Client()
client.force_login(user)
_, secret = create_token(user=user, name="drill", scopes=["read", "run"], actor=user)
print(json.dumps([secret, client.cookies["sessionid"].value]))
"""


def _statuses(site: DrillSite, token: str, session: str) -> dict[str, httpx.Response]:
    bearer = {"authorization": f"Bearer {token}"}
    paths = ("/api/v1/comparisons/", "/api/v1/readiness/", "/metrics")
    answers = {path: site.get(path, **bearer) for path in paths}
    answers["/"] = site.get("/", cookie=f"sessionid={session}")
    answers["/comparisons/"] = site.get("/comparisons/", cookie=f"sessionid={session}")
    return answers


def test_while_the_database_is_away_everything_says_503(on_rabbitmq: DrillSite) -> None:
    token, session = on_rabbitmq.python(CREDENTIALS)
    on_rabbitmq.web()
    before = _statuses(on_rabbitmq, token, session)
    assert {path: answer.status_code for path, answer in before.items()} == dict.fromkeys(before, 200)

    on_rabbitmq.database.stop()
    during = _statuses(on_rabbitmq, token, session)
    started = httpx.post(
        f"{on_rabbitmq.url}/api/v1/comparisons/",
        json={"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"},
        headers={"authorization": f"Bearer {token}"}, timeout=30,
    )  # fmt: skip
    called = httpx.post(
        f"{on_rabbitmq.url}/wire/none/tools/refund",
        json={},
        headers={"authorization": "Bearer x"},
        timeout=30,
    )
    health = on_rabbitmq.get("/api/v1/health/")
    on_rabbitmq.database.start()

    for answer in (*during.values(), started, called):
        assert answer.status_code == 503, (answer.url, answer.text)
        assert int(answer.headers["retry-after"]) > 0
    assert started.json()["code"] == "unavailable"
    assert health.status_code == 200
    # The same process, without a restart.
    after = _statuses(on_rabbitmq, token, session)
    assert {path: answer.status_code for path, answer in after.items()} == dict.fromkeys(after, 200)
    assert on_rabbitmq.comparison_states() == []


def test_requests_leave_no_connection_behind(on_rabbitmq: DrillSite) -> None:
    """PostgreSQL takes a hundred; a site that kept one for each thread it ever had would soon be refused."""
    token, _ = on_rabbitmq.python(CREDENTIALS)
    on_rabbitmq.web()

    def ask(times: int) -> None:
        with httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
            for _ in range(times):
                assert client.get(f"{on_rabbitmq.url}/api/v1/comparisons/").status_code == 200

    with ThreadPoolExecutor(8) as people:
        list(people.map(ask, [6] * 8))
    database = on_rabbitmq.environment["DATABASE_URL"].rpartition("/")[2]
    # One of them is the test's own.
    count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
    wait_until(lambda: on_rabbitmq.query(count)[0][0] <= 2)


def test_a_build_outlives_outages_of_broker_and_database(on_rabbitmq: DrillSite) -> None:
    on_rabbitmq.fill(SCENARIOS, *STEPS)
    token, _ = on_rabbitmq.python(CREDENTIALS)
    on_rabbitmq.web()
    env = environment(on_rabbitmq.url, token)
    # Started while the broker is away and no worker runs: the build ends in time, the comparison stays.
    on_rabbitmq.broker.stop()
    waited = run(*VERSIONS, "--key", "build", "--timeout", "15", env=env, agent=documents.AGENT)
    assert waited.returncode == 4
    # Whatever it was doing when the time was up, it says so and which comparison is left.
    assert "timeout: " in waited.stderr
    assert "comparison 1" in waited.stderr
    on_rabbitmq.broker.start()

    build = subprocess.Popen(
        [sys.executable, str(CLIENT), "compare", documents.AGENT, *VERSIONS, "--key", "build"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    on_rabbitmq.worker(sweep=True)
    wait_until(lambda: on_rabbitmq.finished_cases() > 0)
    on_rabbitmq.database.stop()
    pause(2)
    on_rabbitmq.database.start()
    report, said = build.communicate(timeout=90)
    assert build.returncode == 3, said
    assert f"{SCENARIOS} new critical failures" in report
    assert on_rabbitmq.comparison_states() == ["COMPLETED"]


def test_a_worker_told_to_stop_gives_back_what_it_did_not_begin(on_rabbitmq: DrillSite) -> None:
    on_rabbitmq.fill(SCENARIOS, *STEPS, start=True)
    first = on_rabbitmq.worker()
    wait_until(lambda: on_rabbitmq.finished_cases() > 0)
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 0
    on_rabbitmq.worker(sweep=True)
    wait_until(lambda: on_rabbitmq.comparison_states() == ["COMPLETED"])
    assert on_rabbitmq.query("SELECT DISTINCT attempts FROM evaluations_case") == [(1,)]
