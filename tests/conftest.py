"""Shared set-up of the tests.

A test that needs something this machine lacks (a database server, a broker, a browser) skips with a reason
that starts with ``NOT TESTED``. The summary repeats those lines loudly, so nobody takes a skip for a pass.
"""

import pytest

from tests.triggers import flush_lifts_triggers  # noqa: F401 - a fixture for every test that commits

LOUD = "NOT TESTED"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    }
    for reason in sorted(reason for reason in reasons if reason.startswith(LOUD)):
        terminalreporter.write_line(f"!!!!! {reason} !!!!!", yellow=True, bold=True)
