"""A session that ends under a half-written note, and somebody else who then sits down at that browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import TIMEOUT_CASE

expect = pytest.importorskip("playwright.sync_api").expect

CHECK = "refunded-exactly-once"
NOTE = "A thought of the first person, for nobody else."


@pytest.mark.parametrize("java_script", [True, False])
def test_somebody_else_who_logs_in_reads_neither_the_sent_note_nor_the_draft(
    stranger: Callable[..., Any], log_in_again: Callable[..., None], java_script: bool
) -> None:
    page = stranger("reviewer", java_script_enabled=java_script)
    page.goto(TIMEOUT_CASE)
    row = page.locator("#case-checks tbody", has=page.locator("th", has_text=CHECK))
    row.locator("text=Override").first.click()
    page.locator("form.decide input[value=FAIL]").check()
    page.locator("form.decide textarea").fill(NOTE)
    address = page.url
    page.context.clear_cookies(name="sessionid")
    page.locator("form.decide button[type=submit]").click()
    page.wait_for_url("**/login/**")

    log_in_again(page, "admin")
    page.wait_for_url(f"**{TIMEOUT_CASE}**")
    page.goto(address)

    expect(page.locator("form.decide textarea")).to_have_value("")
    assert NOTE not in page.content()
