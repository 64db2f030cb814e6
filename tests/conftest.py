"""Shared set-up of the tests.

A test that needs something this machine lacks (a database server, a broker, a browser) skips with a reason
that starts with ``NOT TESTED``. The summary repeats those lines loudly, so nobody takes a skip for a pass.
"""

import gc
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from tests import migrated
from tests.pages.browser import chromium
from tests.triggers import flush_lifts_triggers  # noqa: F401 - a fixture for every test that commits

LOUD = "NOT TESTED"
BROWSER_TESTS = Path(__file__).parent / "browser"
# The longest modules, begun first: one of them at the end would leave all processes but one idle.
LONGEST = ("running/test_workers.py", "api/test_schemathesis.py")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The one Chromium of a process: Playwright's loop stays in its thread, there can be no second."""
    with chromium() as found:
        yield found


def pytest_configure() -> None:
    # Thousands of collected tests are looked through at each collection of garbage: a fifth of the time.
    gc.set_threshold(200_000, 50, 100)
    migrated.begin_run()
    # A password is made slow to guess on purpose; hundreds of tests log in.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_sessionfinish() -> None:
    migrated.end_run()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    """The test database starts as a copy of a migrated one: nothing is left for Django to migrate."""
    if connection.vendor == "postgresql":
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated.postgres_template()
        yield
    else:
        # A database in memory lives as long as somebody has it open.
        with closing(sqlite3.connect(connection.creation._get_test_db_name(), uri=True)) as held:
            migrated.load_sqlite(held)
            yield


@pytest.hookimpl(trylast=True)  # after pytest-django, which sorts by the database that tests need
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests run by themselves: in their process no code can start a loop of its own after them.

    The longest modules come first.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()) and BROWSER_TESTS not in item.path.parents:
            raise pytest.UsageError(f"{item.nodeid} needs a browser, so it belongs into {BROWSER_TESTS}")
    longest = {Path(__file__).parent / name for name in LONGEST}
    items.sort(key=lambda item: (BROWSER_TESTS in item.path.parents, item.path not in longest))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    }
    for reason in sorted(reason for reason in reasons if reason.startswith(LOUD)):
        terminalreporter.write_line(f"!!!!! {reason} !!!!!", yellow=True, bold=True)
