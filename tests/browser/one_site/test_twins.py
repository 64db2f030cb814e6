"""The pages of twins and scenarios in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.browser import LOOKS, is_too_wide, violations
from tests.pages.served import Served

TWIN = "/twins/demo-co-support/"
SCENARIO = "/scenarios/refund-timeout-after-mutation/"
PAGES = ("/twins/", TWIN, f"{TWIN}?from=1&to=1", "/scenarios/", SCENARIO, "/catalogue/")

_TWO_VERSIONS = """
from twins.services import save_twin
document = {"apiVersion": "agenttwin.dev/v1", "kind": "TwinDefinition", "metadata": {"name": "with-versions"}}
for color in ("red", "blue"):
    tools = {"a": {"handler": {"kind": "echo"}}}
    save_twin(document={**document, "spec": {"initialState": {"color": color}, "tools": tools}})
"""


def visitor(visit: Callable[..., Any], has_javascript: bool) -> Any:
    """A viewer's page; without JavaScript in a window that takes the session over."""
    page = visit("viewer")
    if has_javascript:
        return page
    plain = visit("", java_script_enabled=False)
    plain.context.add_cookies(page.context.cookies())
    return plain


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_pages_are_accessible_and_never_wider_than_the_screen(
    visit: Callable[..., Any], width: str, scheme: str
) -> None:
    page = visit("viewer", width=width, scheme=scheme)

    for path in PAGES:
        page.goto(path)
        assert not is_too_wide(page), path
        assert violations(page) == [], path


def test_the_matrix_is_cards_on_a_phone(visit: Callable[..., Any]) -> None:
    desk, phone = visit("viewer"), visit("viewer", width="phone")
    desk.goto(TWIN)
    phone.goto(TWIN)

    assert desk.locator(".matrix").is_visible()
    assert not phone.locator(".matrix").is_visible()
    card = phone.locator("#coverage-send_email")
    assert "no scenario lets it time out after the effect" in card.inner_text()
    phone.click("#coverage-refund_payment a:has-text('refund-timeout-after-mutation')")
    phone.wait_for_url(f"**{SCENARIO}")


@pytest.mark.parametrize("has_javascript", [True, False])
def test_versions_are_compared_with_and_without_javascript(
    visit: Callable[..., Any], site: Served, has_javascript: bool
) -> None:
    site.python(_TWO_VERSIONS)
    page = visitor(visit, has_javascript)
    page.goto("/twins/with-versions/")
    page.fill("#compare-from", "2")
    page.fill("#compare-to", "1")
    page.click("#versions button[type=submit]")
    page.wait_for_url("**from=2&to=1*")

    page.locator("#versions ins:has-text('red')").wait_for()
    assert page.locator("#versions del").inner_text().strip() == '"color": "blue"'
    assert page.locator("h1").inner_text() == "with-versions"


@pytest.mark.parametrize("has_javascript", [True, False])
def test_scenarios_are_filtered_with_and_without_javascript(
    visit: Callable[..., Any], has_javascript: bool
) -> None:
    page = visitor(visit, has_javascript)
    page.goto("/scenarios/")
    page.fill("#filter-q", "timeout")
    if not has_javascript:
        page.click("#scenario-filters button[type=submit]")
    page.wait_for_url("**q=timeout*")

    rows = page.locator("#scenario-table tbody tr")
    rows.first.wait_for()
    assert rows.count() == 1
    assert page.input_value("#filter-q") == "timeout"


_LONG_WORDS = """
from scenarios.services import save_scenario
save_scenario(document={
    "apiVersion": "agenttwin.dev/v1",
    "kind": "Scenario",
    "metadata": {"name": "long-words", "tags": ["t" * 90]},
    "spec": {
        "agent": "support-refund-agent",
        "twin": "demo-co-support",
        "input": {"message": "m" * 300},
        "covers": ["threat:" + "somebody reads a sentence " * 9, "policy:" + "x" * 200],
        "expectations": [{"id": "e", "type": "state", "path": "orders.ORD-1001.total", "equals": 150}],
    },
})
"""


def test_long_words_of_a_scenario_fit_a_phone(visit: Callable[..., Any], site: Served) -> None:
    site.python(_LONG_WORDS)
    page = visit("viewer", width="phone")
    for path in ("/scenarios/", "/scenarios/long-words/"):
        page.goto(path)
        assert not is_too_wide(page), path
