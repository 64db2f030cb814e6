"""How quickly the pages answer with 100,000 stored cases: server time, middleware and templates included.

The cases are real: the refund demo, fifty trials of each scenario, its rows copied inside the database.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

from bench.api import api_addresses, token_headers

CASES = 100_000
TRIALS = 50
ROUNDS = 15
PASSWORD = "bench-only"
PAGES = {
    "comparison": ("/comparisons/{comparison}/", "cases"),
    "case": ("/comparisons/{comparison}/cases/refund-timeout-after-mutation/?trial=7", "step-3"),
    "statistics": ("/comparisons/{comparison}/statistics/", ""),
    "queue": ("/queue/", "queue"),
    "home": ("/", ""),
    "comparison list": ("/comparisons/", ""),
    "audit log": ("/audit/", "audit"),
}


def page_figures() -> dict[str, Any]:
    """Milliseconds (medians) of each page and of its fragment, and how many cases were stored."""
    with tempfile.TemporaryDirectory(prefix="agenttwin-bench-") as folder:
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        os.environ["AGENTTWIN_DATA_DIR"] = folder
        return _measured()


def _measured() -> dict[str, Any]:
    comparison, cases = _stored_cases()
    client = _reviewer()
    figures: dict[str, Any] = {"cases": cases, "pages": {}}
    for name, (address, target) in PAGES.items():
        url = address.format(comparison=comparison)
        page = _median_ms(client, url)
        fragment = _median_ms(client, url, {"HX-Request": "true", "HX-Target": target}) if target else None
        figures["pages"][name] = (page, fragment)
    figures["api"] = _api(comparison)
    return figures


def _api(comparison: int) -> dict[str, float]:
    from django.test import Client

    client, headers = Client(headers={"host": "127.0.0.1"}), token_headers()
    return {name: _median_ms(client, url, headers) for name, url in api_addresses(comparison).items()}


def _stored_cases() -> tuple[int, int]:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("seed_demo", "--demo", "refund", "--no-comparisons", stdout=open(os.devnull, "w"))  # noqa: SIM115
    from evaluations.models import Case
    from evaluations.services.comparisons import start_comparison
    from evaluations.services.waiting import run_here

    comparison, _ = start_comparison(
        agent="support-refund-agent", baseline="1.2.4", candidate="1.3.0", trials=TRIALS, wake=False
    )
    run_here(comparison.pk)
    _copy_rows(CASES // Case.objects.count())
    return comparison.pk, Case.objects.count()


def _copy_rows(copies: int) -> None:
    """Copies of a comparison with all its rows: every key moves by the same distance in a copy."""
    from django.db import connection, transaction

    from evaluations.models import Case, Comparison, ExpectationResult, PairedCase, Run, ToolCall
    from reviews.models import QueueEntry

    more = copies - 1
    copied = (Comparison, Run, PairedCase, Case, ToolCall, ExpectationResult, QueueEntry)
    distance = {model: _largest_key(model) for model in copied}
    with transaction.atomic(), connection.cursor() as cursor:
        for model in copied:
            columns = [field.column for field in model._meta.concrete_fields]
            moved = [_moved(field, distance) for field in model._meta.concrete_fields]
            cursor.execute(
                f"WITH RECURSIVE copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < {more})"
                f" INSERT INTO {model._meta.db_table} ({_quoted(columns)})"
                f" SELECT {', '.join(moved)} FROM {model._meta.db_table}, copy"
            )
        cursor.execute("ANALYZE")


def _moved(field: Any, distance: dict[Any, int]) -> str:
    model = field.model if field.primary_key else field.related_model
    quoted = f'"{field.column}"'
    if field.name == "key":  # a pair's key is unique: only the original keeps it
        return "NULL"
    return f"{quoted} + copy.n * {distance[model]}" if model in distance else quoted


def _quoted(columns: list[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _largest_key(model: Any) -> int:
    from django.db.models import Max

    return int(model.objects.aggregate(largest=Max("pk"))["largest"] or 0)


def _reviewer() -> Any:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group
    from django.test import Client

    account = get_user_model().objects.create_user("bench", password=PASSWORD)
    account.groups.add(Group.objects.get(name="admin"))
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(account)
    return client


def _median_ms(client: Any, url: str, headers: dict[str, str] | None = None) -> float:
    times = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        response = client.get(url, headers=headers or {})
        len(response.content)
        times.append(time.perf_counter() - started)
        assert response.status_code == 200, (url, response.status_code)
    return statistics.median(times[1:]) * 1000  # the first request compiles templates


if __name__ == "__main__":
    import json

    print(json.dumps(page_figures()))
