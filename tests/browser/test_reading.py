"""Thirty seconds: from the start page to the second refund, its evidence and the state it left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT_CASE, copy_of
from tests.pages.served import Served, serving


@pytest.fixture(scope="module")
def site(demo: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One for all: reading changes nothing."""
    copy = copy_of(demo, tmp_path_factory.mktemp("reading") / "site")
    with serving(copy):
        yield copy


def test_the_double_refund_is_found_in_five_clicks(visit: Callable[..., Any]) -> None:
    page = visit("viewer")

    page.click("text=support-refund-agent >> nth=-1")
    page.goto("/comparisons/1/")
    page.click("#tile-new-critical")
    page.click("text=refund-timeout-after-mutation")

    head = page.locator("#case-head")
    expect(head.locator("h1")).to_have_text("refund-timeout-after-mutation")
    expect(head).to_contain_text("new critical failure")
    expect(head).to_contain_text("without first calling get_refund_policy")
    claims = page.locator("#case-claims")
    expect(claims).to_contain_text("The candidate’s claim is contradicted.")
    expect(claims).to_contain_text("applied 2 times")
    # Everything that decides is in the first screen.
    assert page.locator("#case-claims").bounding_box()["y"] < 400
    assert page.locator("#case-checks tbody").first.bounding_box()["y"] < 900

    page.locator("#case-checks tbody", has_text="no-double-refund").locator("a", has_text="#3").click()

    opened = page.locator(".step--open")
    expect(opened).to_have_count(1)
    expect(opened).to_contain_text("applied AGAIN (first by #2)")
    expect(opened.locator(".changes")).to_contain_text("orders.ORD-1001.refund_count")
    expect(opened.locator(".changes li").first).to_contain_text(re.compile("1.*2"))
    expect(opened).to_be_in_viewport()


def test_a_path_leads_to_its_place_in_the_final_states(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto(TIMEOUT_CASE)

    page.locator("#case-checks tbody").first.locator("a", has_text="refund_count").click()

    place = page.locator("tr:target")
    expect(place).to_be_in_viewport()
    expect(place).to_contain_text("orders.ORD-1001.refund_count")
    assert place.locator("td").all_inner_texts()[0] == "0"
    expect(place.locator("td").nth(1)).to_contain_text("1")
    expect(place.locator("td").nth(2)).to_contain_text("2")


def test_opening_a_step_swaps_that_step_alone_and_keeps_the_focus(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto(TIMEOUT_CASE)
    page.evaluate("document.querySelector('#step-2').untouched = true")

    page.click("#step-3-toggle")
    expect(page.locator("#step-3 .trajectory__open")).to_be_visible()

    assert page.evaluate("document.querySelector('#step-2').untouched") is True
    assert page.evaluate("document.activeElement.id") == "step-3-toggle"
    assert "step=3" in page.url
    fault = page.locator("#step-3 tr", has_text="Fault")
    expect(fault).to_contain_text("the dependency did")
    expect(fault).to_contain_text("504 TIMEOUT")
    expect(page.locator("#step-3 .leaves .differs")).to_contain_text("idempotency_key")

    page.locator("#step-3 summary", has_text="the whole state").first.click()
    expect(page.locator("#step-3 pre").first).to_contain_text('"refund_count": 1')

    page.click("#step-3-toggle")
    expect(page.locator("#step-3 .trajectory__open")).to_have_count(0)
    assert "step=3" not in page.url.split("#")[0]


def test_an_opened_step_is_an_address_that_can_be_shared(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto(TIMEOUT_CASE)
    page.click("#step-5-toggle")
    expect(page.locator("#step-5 .trajectory__open")).to_be_visible()

    page.goto(page.url)

    expect(page.locator("#step-5 .trajectory__open")).to_be_visible()
    expect(page.locator(".step--open")).to_have_count(1)


def test_j_and_k_walk_the_cases_and_inside_the_trajectories_the_steps(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto(TIMEOUT_CASE)

    page.keyboard.press("j")
    page.wait_for_url("**/refund-tool-success-lie/")
    page.keyboard.press("k")
    page.wait_for_url("**/refund-timeout-after-mutation/")

    page.focus("#step-1-toggle")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "step-3-toggle"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == "step-2-toggle"
    page.keyboard.press("Enter")
    expect(page.locator("#step-2 .trajectory__open")).to_be_visible()


@pytest.mark.parametrize(
    ("role", "keys"), [("viewer", ["j", "k", "j", "?"]), ("reviewer", ["j", "k", "j", "o", "f", "?"])]
)
def test_the_list_of_keys_names_those_that_work_here(
    visit: Callable[..., Any], role: str, keys: list[str]
) -> None:
    page = visit(role)
    page.goto(TIMEOUT_CASE)

    page.keyboard.press("?")

    # The first case has no previous one: j and k of the steps, then j for the next case.
    assert page.locator("#keys dt kbd").all_inner_texts() == keys
