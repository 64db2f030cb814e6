"""The release pages in a real Chromium: accessible, as wide as their window; an override and its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.browser import LOOKS, is_too_wide, violations
from tests.pages.served import Served

# The decision on the refund agent's 1.3.0, one that does not block, and a policy with a version that waits.
_DECISIONS = """
from evaluations.models import GateDecision
from evaluations.services.gate_policies import policy_in_force, save_gate_policy
found = GateDecision.objects.filter(comparison__agent__name="support-refund-agent")
document = policy_in_force("default").document
save_gate_policy(document={**document, "spec": {**document["spec"], "minimumTrials": 5}})
print(found.filter(outcome="BLOCK").first().pk, found.exclude(outcome="BLOCK").first().pk)
"""


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_accessible_and_fits_its_window(
    visit: Callable[..., Any], site: Served, width: str, scheme: str
) -> None:
    blocked, passed = site.python(_DECISIONS).split()
    page = visit("admin", width=width, scheme=scheme)
    problems = []
    for address in (
        "/releases/",
        "/releases/?outcome=BLOCK",
        f"/releases/{blocked}/",
        f"/releases/{passed}/",
        "/releases/policies/",
        "/releases/policies/default/",
    ):
        page.goto(address)
        for details in page.query_selector_all("details:not(.menu):not(.confirm)"):
            details.evaluate("element => { element.open = true; }")
        problems += [f"{address}: {found}" for found in violations(page)]
        problems += [f"{address}: too wide"] * is_too_wide(page)
    assert problems == []


def test_a_block_is_overridden_and_taken_back(visit: Callable[..., Any], site: Served) -> None:
    blocked = site.python(_DECISIONS).split()[0]
    page = visit("admin")
    page.goto("/releases/")
    page.locator(f'main a[href="/releases/{blocked}/"]').first.click()
    expect(page.locator("h1")).to_have_text("support-refund-agent")
    expect(page.locator(".verdict")).to_contain_text("This version must not be released.")
    evidence = page.locator("#rule-critical-failure").locator("xpath=ancestor::section").locator("li a").first
    assert evidence.get_attribute("href").startswith("/comparisons/")

    page.keyboard.press("o")
    form = page.locator("#override form")
    expect(form).to_be_in_viewport()
    form.locator("textarea").fill("The sandbox repeats it; agreed with payments.")
    form.locator("[name=ticket]").fill("OPS-7")
    form.locator("button[type=submit]").click()
    expect(page.locator(".page-head")).to_contain_text(re.compile(r"OVERRIDDEN\s+originally BLOCK"))
    expect(page.locator(".verdict")).to_contain_text("Released by admin until")

    page.locator("#override summary", has_text="Withdraw it").click()
    page.fill("#withdraw-reason", "It was another failure after all.")
    page.locator("#override form button[type=submit]").click()
    expect(page.locator(".verdict")).to_contain_text("This version must not be released.")
    expect(page.locator("#override li")).to_have_count(2)


def test_who_may_not_override_reads_why_and_has_no_form(visit: Callable[..., Any], site: Served) -> None:
    blocked = site.python(_DECISIONS).split()[0]
    page = visit("viewer")
    page.goto(f"/releases/{blocked}/")
    expect(page.locator("#blocks-title")).to_be_visible()
    assert page.locator("main form").count() == 0
    page.locator(".rule .list a").first.click()
    expect(page.locator("#case-checks")).to_be_visible()
