"""A live server whose database goes away and comes back: 503 with Retry-After in between, and no restart."""

from __future__ import annotations

from pathlib import Path

import httpx
import psycopg

from tests.api.test_bursts import EDITOR, OnDatabase
from tests.migrated import migrated_database
from tests.pages.served import free_port, serving
from tests.services import POSTGRES_SERVER


def test_an_outage_is_503_and_ends_by_itself(tmp_path: Path) -> None:
    with migrated_database("postgresql", tmp_path) as url:
        site = OnDatabase(tmp_path, free_port(), database_url=url)
        site.python(EDITOR)
        token = site.run("create_token", "ci", "--scope", "run").strip()
        headers = {"Authorization": f"Bearer {token}"}
        with (
            serving(site),
            httpx.Client(base_url=f"{site.url}/api/v1", headers=headers, timeout=60) as client,
        ):
            assert client.get("/comparisons/").status_code == 200
            with psycopg.connect(f"{POSTGRES_SERVER}/postgres", autocommit=True) as server:
                name = url.rsplit("/", 1)[1]
                server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
                server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
                )
                body = {"agent": "a", "baseline": "1", "candidate": "2"}
                for answer in (client.get("/comparisons/"), client.post("/comparisons/", json=body)):
                    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
                    assert int(answer.headers["Retry-After"]) > 0
                away = client.get("/readiness/")
                assert (away.status_code, away.json()["code"]) == (503, "not_ready")
                assert client.get("/health/").status_code == 200
                server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
            assert client.get("/comparisons/").status_code == 200
            assert client.get("/readiness/").json()["status"] == "ready"
