"""A test that lacks a server is never quietly green (tests/services.py)."""

from __future__ import annotations

import pytest
from _pytest.outcomes import Failed, Skipped

from tests import services


def test_a_missing_service_skips_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "answers", lambda service: False)
    with pytest.raises(Skipped, match="NOT TESTED on Redis: nothing answers"):
        services.require(services.REDIS)


def test_a_reachable_service_that_refuses_us_fails_where_services_are_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTTWIN_REQUIRE_SERVICES", "1")
    with pytest.raises(Failed, match="answers but refuses us"):
        services.unusable(services.POSTGRES, OSError("no"))
    monkeypatch.delenv("AGENTTWIN_REQUIRE_SERVICES")
    with pytest.raises(Skipped, match="NOT TESTED on PostgreSQL"):
        services.unusable(services.POSTGRES, OSError("no"))
