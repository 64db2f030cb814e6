"""The pages of the API and of one's tokens, in a real browser under the site's content policy."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.browser import LOOKS, violations


def test_the_description_is_drawn_without_another_host(visit: Any) -> None:
    """`visit` fails on any request elsewhere and on anything the content policy stops."""
    page = visit("")
    page.goto("/api/docs/")
    expect(page.get_by_role("heading", name=re.compile("AgentTwin"))).to_be_visible()
    operation = page.locator("#operations-comparisons-comparisons_start")
    expect(operation).to_be_visible()
    operation.get_by_role("button").first.click()
    expect(operation.get_by_text("Idempotency-Key").first).to_be_visible()
    expect(operation.get_by_text("support-refund-agent").first).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_token_is_made_shown_once_and_revoked(visit: Any, width: str, scheme: str) -> None:
    page = visit("viewer", width=width, scheme=scheme)
    page.get_by_role("link", name="Tokens").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("API tokens")
    name = f"pipeline {width} {scheme}"
    page.get_by_label("Name").fill(name)
    page.get_by_label(re.compile("^read:")).check()
    page.get_by_role("button", name="Make the token").click()
    secret = page.get_by_label("The token", exact=True)
    expect(secret).to_have_text(re.compile(r"^att_[\w-]{43}$"))
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto("/account/tokens/")
    expect(secret).to_have_count(0)
    row = page.get_by_role("row", name=name)
    row.get_by_text("Revoke", exact=False).first.click()
    row.get_by_role("button", name="Revoke it").click()
    expect(page.locator("#messages").get_by_text(f"The token {name} was revoked.")).to_be_visible()
    expect(page.get_by_role("row", name=name).get_by_text("revoked")).to_be_visible()
