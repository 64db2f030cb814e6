"""A whole installation of its own for one test: database, broker, real workers as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests import migrated, services
from tests.running import documents

ROOT = Path(__file__).resolve().parents[2]
# Long: a machine that is busy with other tests is not a fault.
PATIENCE_SECONDS = 120

# Code for `Site.python`.
START = """
from evaluations.services.comparisons import start_comparison
def start(**options):
    return start_comparison(agent="step-agent", baseline="1.0.0", candidate="2.0.0", **options)[0].pk
"""

# Everything that two runs of the same comparison must agree on: no ids, no times, no measured latency.
DUMP = """
import json
from evaluations.models import *
def rows(found):
    return [{k: v for k, v in row.items() if k not in ("id", "case_id")} for row in found.values()]
dump = []
for pair in PairedCase.objects.order_by("position"):
    sides = {}
    for case in pair.cases.select_related("run"):
        metrics = {k: v for k, v in case.metrics.items() if k != "latency_ms"}
        answer = {k: v for k, v in (case.answer or {}).items() if k != "latency_ms"}
        sides[case.run.side] = [case.state, case.verdict, case.final_state_digest, case.used_seed, answer,
                                metrics, case.error_reason, rows(case.tool_calls.order_by("seq")),
                                rows(case.results.order_by("position"))]
    dump.append([pair.scenario_name, pair.trial, pair.classification, pair.reason, pair.first_divergence,
                 sides])
print(json.dumps([dump, [c.state for c in Comparison.objects.all()], Case.objects.count()]))
"""


class Site:
    """One installation: its environment, its commands and its workers."""

    def __init__(self, folder: Path, database_url: str, broker_url: str, **environment: str) -> None:
        self.folder = folder
        self.queue = f"agenttwin-test-{uuid.uuid4().hex[:12]}"
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings",
            "AGENTTWIN_DATA_DIR": str(folder),
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": broker_url,
            "CELERY_QUEUE": self.queue,
            "AGENTTWIN_IN_PROCESS_AGENTS": json.dumps({documents.AGENT: "tests.running.agents.StepAgent"}),
            "AGENTTWIN_LEASE_SECONDS": "2",
            "AGENTTWIN_SWEEP_SECONDS": "0.5",
            **environment,
        }
        self._workers: list[subprocess.Popen[bytes]] = []

    def python(self, code: str) -> Any:
        """Run code inside the installation; the JSON it printed last."""
        start = "import json, django; django.setup()\n"
        done = subprocess.run(
            [sys.executable, "-c", start + code],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        return json.loads(lines[-1]) if lines else None

    def fill(
        self,
        scenarios: int,
        baseline: tuple[str, ...],
        candidate: tuple[str, ...],
        *,
        trials: int = 1,
        start: bool = False,
    ) -> int:
        """Store the twin, so many scenarios (each tried so often), and two versions of the step agent.

        With `start` also a comparison of the two for the workers; its id.
        """
        code = f"""
            from django.db import transaction
            from evaluations.services.agents import save_agent
            from scenarios.services import save_scenario
            from tests.running import documents as d
            from twins.services import save_twin
            with transaction.atomic():
                save_twin(document=d.twin())
                for n in range({scenarios}):
                    save_scenario(document=d.scenario(f"s{{n:02}}", trials={trials}))
                save_agent(document=d.agent("1.0.0", *{baseline!r}))
                save_agent(document=d.agent("2.0.0", *{candidate!r}))
        """
        return int(self.python(dedent(code) + (START + "print(start())" if start else "print(0)")))

    def compare(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The compare command, as a pipeline runs it."""
        command = [
            sys.executable, "manage.py", "compare", documents.AGENT,
            "--baseline", "1.0.0", "--candidate", "2.0.0", "--format", "json", *arguments,
        ]  # fmt: skip
        return subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=240
        )

    def worker(self, *, sweep: bool = False) -> subprocess.Popen[bytes]:
        """A Celery worker of one process, in a group of its own so that it can be killed whole."""
        number = len(self._workers)
        command = [
            sys.executable, "-m", "celery", "-A", "agenttwin_site", "worker", "--pool", "solo",
            "-l", "WARNING", "--without-mingle", "--without-gossip", "--without-heartbeat",
            "-n", f"{self.queue}-{number}",
            *(["--beat", "--schedule", str(self.folder / f"beat-{number}")] if sweep else []),
        ]  # fmt: skip
        log = (self.folder / f"worker-{number}.log").open("wb")
        worker = subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
        )
        self._workers.append(worker)
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGKILL for the worker and all its children, also for those of one that has died by itself."""
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def close(self) -> None:
        for worker in self._workers:
            self.kill(worker)
        _forget_queue(self.environment["CELERY_BROKER_URL"], self.queue)

    def finished_cases(self) -> int:
        return int(self.query("SELECT count(*) FROM evaluations_case WHERE state = 'FINISHED'")[0][0])

    def comparison_states(self) -> list[str]:
        return [row[0] for row in self.query("SELECT state FROM evaluations_comparison ORDER BY id")]

    def query(self, statement: str) -> list[Any]:
        """Rows straight from the database, past the application."""
        url = self.environment["DATABASE_URL"]
        if url.startswith("sqlite"):
            import sqlite3

            connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)
            try:
                return connection.execute(statement).fetchall()
            finally:
                connection.close()
        import psycopg

        with psycopg.connect(url) as server:
            return server.execute(statement).fetchall()

    def dump(self) -> Any:
        return self.python(DUMP)


def wait_until(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    """Poll until it holds; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def _forget_queue(broker_url: str, queue: str) -> None:
    if broker_url.startswith("redis"):
        import redis

        redis.Redis.from_url(broker_url).delete(queue)
    elif broker_url.startswith("amqp"):
        from kombu import Connection

        with Connection(broker_url) as connection:
            connection.default_channel.queue_delete(queue)


BROKERS = {
    "": "",
    "filesystem": "filesystem://",
    "rabbitmq": services.RABBITMQ_URL,
    "redis": services.REDIS_URL,
}


@contextmanager
def site(kind: str, folder: Path) -> Iterator[Site]:
    """An installation of one kind: database and broker, such as ``postgresql-redis``."""
    database, _, broker = kind.partition("-")
    for name, service in (("rabbitmq", services.RABBITMQ), ("redis", services.REDIS)):
        if broker == name:
            services.require(service)
    with ExitStack() as stack:
        if database == "sqlite":
            url = migrated.copy_sqlite(folder / "site.sqlite3")
        else:
            url = stack.enter_context(services.postgres_database(template=migrated.postgres_template()))
        here = Site(folder, url, BROKERS[broker])
        stack.callback(here.close)
        yield here
