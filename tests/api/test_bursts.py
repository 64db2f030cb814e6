"""The same request many times at once, from a live server: one comparison comes of it."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.migrated import migrated_database
from tests.pages.served import PASSWORD, Served, free_port, serving

AT_ONCE = 24
EDITOR = f"""
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
user = get_user_model().objects.create_user("ci", password={PASSWORD!r})
user.groups.set(Group.objects.filter(name="editor"))
"""
_WORLD = """
from tests.running import documents
from twins.services import save_twin
from scenarios.services import save_scenario
from evaluations.services.agents import save_agent
save_twin(document=documents.twin())
save_scenario(document=documents.scenario("refund"))
for version in ("1.0.0", "2.0.0"):
    save_agent(document=documents.agent(version, *documents.GOOD))
"""


@dataclass
class OnDatabase(Served):
    """A site on the database of this URL."""

    database_url: str = ""

    @property
    def environment(self) -> dict[str, str]:
        agents = '{"step-agent": "tests.running.agents.StepAgent"}'
        values = {**super().environment, "AGENTTWIN_IN_PROCESS_AGENTS": agents}
        return {**values, "DATABASE_URL": self.database_url}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_burst_of_one_request_makes_one_pair(database: str, tmp_path: Path) -> None:
    with migrated_database(database, tmp_path) as url:
        site = OnDatabase(tmp_path, free_port(), database_url=url)
        site.python(EDITOR)
        site.python(_WORLD)
        token = site.run("create_token", "ci", "--scope", "run").strip()
        with serving(site), httpx.Client(base_url=site.url, timeout=60) as client:
            for key in ("build-1", "build-2"):
                answers = burst(client, token, key)
                counts = Counter(answer.status_code for answer in answers)
                assert counts == {201: 1, 200: AT_ONCE - 1}, [one.text for one in answers][:3]
                assert len({answer.json()["id"] for answer in answers}) == 1
            headers = {"Authorization": f"Bearer {token}"}
            listed = client.get("/api/v1/comparisons/", headers=headers).json()["results"]
            assert sorted(one["key"] for one in listed) == ["build-1", "build-2"]
            cases = client.get("/api/v1/cases/", headers=headers).json()["results"]
            assert len(cases) == 2


def burst(client: httpx.Client, token: str, key: str) -> list[Any]:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    body = {"agent": "step-agent", "baseline": "1.0.0", "candidate": "2.0.0"}

    def ask(_: int) -> httpx.Response:
        return client.post("/api/v1/comparisons/", json=body, headers=headers)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(ask, range(AT_ONCE)))
