"""A manual session in a real Chromium: opened from a scenario, watched while it is worked on, closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.pages.browser import LOOKS, is_too_wide, violations
from tests.pages.served import Served


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_session_is_opened_worked_on_and_graded(
    visit: Callable[..., Any], site: Served, width: str, scheme: str
) -> None:
    page = visit("editor", width=width, scheme=scheme)
    problems = []

    def look(what: str) -> None:
        problems.extend((what, found) for found in violations(page))
        problems.extend([(what, "too wide")] if is_too_wide(page) else [])

    page.goto("/scenarios/refund-timeout-after-mutation/")
    page.get_by_role("link", name="Try an agent by hand").click()
    look("form")
    page.get_by_label("Agent and version").fill("my-agent 2.0-dev")
    page.get_by_role("button", name="Open").click()
    token = page.locator("#session-token").inner_text()
    look("open")
    found = re.search(r"http://[^<]+/wire/[0-9a-f]+", page.content())
    assert found
    assert found[0].startswith(site.url)
    calls = page.locator("#session-calls")
    expect(calls).to_contain_text("Nothing yet.")
    for _ in range(2):
        httpx.post(
            f"{found[0]}/tools/refund_payment",
            json={"order_id": "ORD-1001", "amount": 40},
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )
    # Nobody reloads the page.
    expect(calls).to_contain_text("applied AGAIN (first by #1)", timeout=15_000)
    look("worked on")
    page.get_by_label("What the agent answered").fill("That is settled.")
    page.get_by_label("What it says it achieved").select_option("SUCCESS")
    page.get_by_role("button", name="Close and grade").click()
    expect(page.locator("#session-results")).to_contain_text("The claim is contradicted.")
    expect(page.locator("body")).not_to_contain_text(token)
    look("graded")
    page.goto("/sessions/")
    look("list")
    assert problems == []
