"""Shared set-up of the tests.

A test that needs something this machine lacks (a database server, a broker, a browser) skips with a reason
that starts with ``NOT TESTED``. The summary repeats those lines loudly, so nobody takes a skip for a pass.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from tests import migrated
from tests.pages.browser import chromium
from tests.triggers import flush_lifts_triggers  # noqa: F401 - a fixture for every test that commits

LOUD = "NOT TESTED"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The one Chromium of a process: Playwright's loop stays in its thread, there can be no second."""
    with chromium() as found:
        yield found


def pytest_configure() -> None:
    migrated.begin_run()


def pytest_sessionfinish() -> None:
    migrated.end_run()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """A test database on PostgreSQL starts as a copy: there is nothing left for Django to migrate."""
    if connection.vendor == "postgresql":
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated.postgres_template()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests are marked, and come last: code that starts a loop of its own cannot run after them."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    }
    for reason in sorted(reason for reason in reasons if reason.startswith(LOUD)):
        terminalreporter.write_line(f"!!!!! {reason} !!!!!", yellow=True, bold=True)
