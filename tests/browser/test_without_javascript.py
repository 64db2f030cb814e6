"""Everything a reviewer does, as plain links and forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT_CASE


@pytest.fixture
def page(stranger: Callable[..., Any]) -> Any:
    return stranger("reviewer", java_script_enabled=False)


def test_reading_a_step_is_a_link(page: Any) -> None:
    page.goto(TIMEOUT_CASE)

    page.click("#step-5-toggle")
    expect(page.locator("#step-5 .trajectory__open")).to_be_visible()
    expect(page.locator("#step-5")).to_contain_text("applied AGAIN")
    page.click("#step-5-toggle")
    expect(page.locator(".trajectory__open")).to_have_count(0)


def test_overriding_refused_then_recorded(page: Any) -> None:
    page.goto(TIMEOUT_CASE)
    page.locator("#case-checks >> text=Override >> nth=0").click()
    form = page.locator(".decide")
    expect(form).to_contain_text("stays a new critical failure")
    form.locator("input[value=PASS]").check()
    form.locator("textarea").fill("          ")  # long enough for the browser, empty for the server
    form.locator("button[type=submit]").click()
    expect(page.locator(".decide .field__error")).to_contain_text("at least 10 characters")
    assert page.is_checked(".decide input[value=PASS]")

    page.fill(".decide textarea", "Both refunds were asked for.")
    page.click(".decide button[type=submit]")

    expect(page.locator("#decided")).to_contain_text("reviewer decided PASS on refunded-exactly-once")
    assert "/cases/refund-timeout-after-mutation/" in page.url
    expect(page.locator("#case-checks")).to_contain_text("was FAIL, changed by reviewer")


def test_flagging_and_the_queue(page: Any) -> None:
    page.goto("/comparisons/1/cases/refund-over-limit/")
    page.click("#flag summary")
    page.fill("#flag-note", "Was the limit the right one?")
    page.click("#flag button")
    expect(page.locator("#messages")).to_contain_text("The case is in the queue.")

    page.goto("/queue/")
    page.click("text=Take the next")
    expect(page.locator("#queue-item")).to_contain_text("Yours until")
    held = page.url
    page.click("#close summary")
    page.fill("#close-note", "Seen: the verdict stands.")
    page.click("#close button")

    expect(page.locator("#messages")).to_contain_text("Closed:")
    assert page.url != held
    expect(page.locator("#queue-item")).to_contain_text("Yours until")


def test_filtering_the_log_and_checking_the_chain(page: Any) -> None:
    page.goto("/audit/")
    page.select_option("#audit-action", "twin_version_created")
    page.click("text=Filter >> nth=-1")
    expect(page.locator("#audit-entries tbody tr")).to_have_count(1)

    page.goto("/audit/")
    page.click("text=Check it now")
    expect(page.locator("#audit-chain")).to_contain_text("The chain was intact when reviewer checked it")


def test_no_hint_of_a_key_is_shown_where_nothing_listens(page: Any, stranger: Callable[..., Any]) -> None:
    page.goto("/queue/")
    expect(page.locator("#queue kbd").first).to_be_attached()
    expect(page.locator("kbd:visible")).to_have_count(0)

    with_script = stranger("reviewer")
    with_script.goto("/queue/")
    expect(with_script.locator("#queue kbd").first).to_be_visible()
