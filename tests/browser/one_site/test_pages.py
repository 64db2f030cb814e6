"""The pages of this room in a real Chromium, on the demo: what only a browser shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.browser import LOOKS, SCHEMES, is_too_wide, violations
from tests.pages.served import PASSWORD, Served

# A copy of the first comparison with one case, which somebody else has claimed for the next hour.
_COPY_THAT_RUNS = """
from datetime import timedelta
from django.utils import timezone
from evaluations.models import Case, Comparison
copy = Comparison.objects.get(pk=1)
runs, pair = list(copy.runs.all()), copy.pairs.first()
copy.pk = copy.key = copy.finished_at = None
copy.state = "RUNNING"
copy.save()
pair.pk, pair.comparison = None, copy
pair.save()
claim = {"claim_token": "other", "attempts": 1, "lease_expires_at": timezone.now() + timedelta(hours=1)}
for run in runs:
    run.pk, run.comparison, run.state = None, copy, "RUNNING"
    run.save()
    Case.objects.create(run=run, pair=pair, state="RUNNING", **claim)
print(copy.pk)
"""

PAGES = (
    "/",
    "/comparisons/",
    "/comparisons/1/",
    "/comparisons/1/?class=REGRESSED&class=UNCHANGED&tool=refund_payment",
    "/comparisons/1/?q=matches+nothing",
    "/comparisons/start/",
    "/password/",
    "/nothing-here/",
    "/comparisons/?state=FAILED",
)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_accessible_and_fits_its_window(
    visit: Callable[..., Any], width: str, scheme: str
) -> None:
    page = visit("editor", width=width, scheme=scheme)
    problems = []
    for address in PAGES:
        page.goto(address)
        for details in page.query_selector_all("details:not(.menu):not(.confirm)"):
            details.evaluate("element => { element.open = true; }")
        problems += [f"{address}: {found}" for found in violations(page)]
        problems += [f"{address}: too wide"] * is_too_wide(page)

    assert problems == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_login_page_is_accessible(visit: Callable[..., Any], scheme: str) -> None:
    page = visit("", width="phone", scheme=scheme)

    page.goto("/login/?next=/comparisons/")
    page.fill("#id_username", "nobody")
    page.fill("#id_password", "wrong")
    page.click("main button[type=submit]")

    assert "correct username and password" in page.inner_text("[role=alert]:not(:empty)")
    assert violations(page) == []
    assert not is_too_wide(page)


def test_tiles_filter_in_place_and_the_address_holds_it(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto("/comparisons/1/")

    page.click("#tile-regressed")
    expect(page.locator("[data-nav-item]")).to_have_count(1)

    assert page.url.endswith("/comparisons/1/?class=REGRESSED")
    assert page.get_attribute("#tile-regressed", "aria-current") == "true"
    assert page.evaluate("document.activeElement.id") == "tile-regressed"
    assert page.text_content("#live") == "1 case, worst first"

    page.reload()
    assert page.locator("[data-nav-item]").count() == 1

    page.go_back()
    expect(page.locator("[data-nav-item]")).to_have_count(9)
    assert page.url.endswith("/comparisons/1/")


def test_searching_keeps_what_is_typed_and_where(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto("/comparisons/1/")

    page.click("#filter-q")
    page.keyboard.type("timeout", delay=120)
    expect(page.locator("[data-nav-item]")).to_have_count(1)
    page.keyboard.type("-aft", delay=30)
    page.wait_for_url("**/?q=timeout-aft")

    assert page.input_value("#filter-q") == "timeout-aft"
    assert page.evaluate("document.activeElement.id") == "filter-q"


def test_choices_filter_as_soon_as_they_are_made(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto("/comparisons/1/?class=NEW_CRITICAL_FAILURE")

    page.select_option("#filter-check", "no-double-refund")
    expect(page.locator("[data-nav-item]")).to_have_count(1)

    assert page.url.endswith("/comparisons/1/?class=NEW_CRITICAL_FAILURE&check=no-double-refund")
    assert page.inner_text("[data-nav-item]") == "refund-timeout-after-mutation"


def test_every_key_that_is_shown_works_and_none_while_typing(visit: Callable[..., Any]) -> None:
    page = visit("editor")
    page.goto("/comparisons/1/")

    page.keyboard.press("?")
    shown = page.locator("#keys dt kbd").all_inner_texts()
    assert shown == ["j", "k", "/", "?"]
    page.keyboard.press("Escape")

    names = page.locator("[data-nav-item]").all_inner_texts()
    for expected in (names[0], names[1], names[2]):
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.textContent") == expected
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == names[1]

    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter-q"
    page.keyboard.type("jk?c")
    assert page.input_value("#filter-q") == "jk?c"
    assert not page.is_visible("#keys")


def test_a_key_with_a_modifier_is_the_browsers_own(visit: Callable[..., Any]) -> None:
    page = visit("editor")
    page.goto("/")

    page.keyboard.press("Alt+c")
    assert page.url.endswith("/")
    page.keyboard.press("c")
    page.wait_for_url("**/comparisons/start/")


def test_starting_and_watching_a_comparison_end(visit: Callable[..., Any], site: Served) -> None:
    page = visit("editor")
    page.goto("/comparisons/start/")
    page.check("text=refund-happy-path")
    page.fill("#id_trials", "3")

    page.click("text=Start >> nth=-1")
    page.wait_for_url("**/comparisons/*/")
    # The worker of the same command does the work; the page follows without being loaded again.
    page.wait_for_selector("text=COMPLETED", timeout=60_000)
    # One row for the scenario, with its three trials.
    expect(page.locator("[data-nav-item]")).to_have_count(1)
    expect(page.locator("#comparison-cases")).to_contain_text("3 of 3")

    assert "every" not in (page.get_attribute("#comparison-head", "hx-trigger") or "")
    assert page.locator("progress").count() == 0


def test_a_question_stays_open_while_the_progress_goes_on(visit: Callable[..., Any], site: Served) -> None:
    stuck = site.python(_COPY_THAT_RUNS).strip()
    page = visit("editor")
    page.goto(f"/comparisons/{stuck}/")

    page.click("text=Cancel")
    with page.expect_response("**/progress/"):
        pass
    page.wait_for_timeout(300)
    assert page.is_visible("text=Yes, cancel it")
    page.click("text=Yes, cancel it")

    expect(page.locator("#messages")).to_contain_text("was cancelled")
    assert "CANCELLED" in page.inner_text("#comparison-head")


def test_a_double_click_starts_one_comparison(visit: Callable[..., Any], site: Served) -> None:
    count = "from evaluations.models import Comparison; print(Comparison.objects.count())"
    before = int(site.python(count))
    page = visit("editor")
    page.goto("/comparisons/start/")
    page.check("text=refund-happy-path")

    page.dblclick("button.btn--primary")
    page.wait_for_url("**/comparisons/*/")

    assert int(site.python(count)) == before + 1


def test_what_was_typed_survives_the_end_of_the_session(visit: Callable[..., Any]) -> None:
    page = visit("editor")
    page.goto("/comparisons/start/")
    page.fill("#id_seed", "4711")
    page.check("text=refund-happy-path")

    page.context.clear_cookies(name="sessionid")
    page.click("button.btn--primary")
    page.wait_for_url("**/login/**")
    assert page.locator("#id_username").count() == 1
    page.fill("#id_username", "editor")
    page.fill("#id_password", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url("**/comparisons/start/**")

    assert page.input_value("#id_seed") == "4711"
    assert page.is_checked("text=refund-happy-path")
    assert "It has not been sent yet" in page.inner_text("#messages")


def test_a_login_in_another_tab_loses_nothing_either(visit: Callable[..., Any]) -> None:
    page = visit("editor")
    page.goto("/comparisons/start/")
    page.fill("#id_seed", "4712")
    page.context.clear_cookies(name="sessionid")
    other = page.context.new_page()
    other.goto("/login/")
    other.fill("#id_username", "editor")
    other.fill("#id_password", PASSWORD)
    other.click("main button[type=submit]")
    other.wait_for_url("**/")

    page.click("button.btn--primary")
    page.wait_for_selector("#messages .notice")

    assert page.input_value("#id_seed") == "4712"
    assert "so it was not taken" in page.inner_text("#messages")


def test_a_server_that_is_away_is_told_and_the_page_stays(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto("/comparisons/1/")
    page.route("**/comparisons/1/?*", lambda route: route.abort())

    page.click("#tile-regressed")
    page.wait_for_selector("#problems .notice")
    assert "cannot be reached" in page.inner_text("#problems")
    page.unroute("**/comparisons/1/?*")
    page.route("**/comparisons/1/?*", lambda route: route.fulfill(status=503, body="<h1>gone</h1>"))
    page.click("#tile-improved")
    expect(page.locator("#problems")).to_contain_text("503")

    assert page.locator("[data-nav-item]").count() == 9


def test_everything_works_without_javascript(visit: Callable[..., Any]) -> None:
    page = visit("editor", java_script_enabled=False)
    page.goto("/comparisons/1/")

    page.click("#tile-regressed")
    assert page.url.endswith("/comparisons/1/?class=REGRESSED")
    assert page.locator(".row-link").count() == 1
    page.fill("#filter-q", "nothing like it")
    page.click("text=Filter >> nth=-1")
    assert "class=REGRESSED" in page.url
    assert "No case matches these filters" in page.inner_text("main")
    page.click("text=Show all cases")
    assert page.locator(".row-link").count() == 9
    page.click("#pins summary")
    assert "demo-co-support" in page.inner_text("#pins")

    page.goto("/comparisons/start/")
    page.check("text=refund-happy-path")
    page.click("button.btn--primary")
    page.wait_for_url("**/comparisons/*/")
    assert "support-refund-agent" in page.inner_text("h1")


def test_nothing_of_a_page_stays_in_the_browser(visit: Callable[..., Any]) -> None:
    page = visit("viewer")
    page.goto("/comparisons/1/")
    page.click("#tile-regressed")
    page.wait_for_url("**/?class=REGRESSED")

    kept = json.loads(page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"))
    assert "refund" not in str(kept)
