"""Overriding, withdrawing, flagging; two reviewers at once; a session that ends in the middle of a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT_CASE
from tests.pages.served import Served

NOTE = "Both refunds were asked for by the customer."
CRITICAL = ("refunded-exactly-once", "refunded-amount", "no-double-refund")
COUNT = "from reviews.models import Review; print(Review.objects.count())"


def check(page: Any, name: str) -> Any:
    return page.locator("#case-checks tbody", has=page.locator("th", has_text=name))


def open_form(page: Any, name: str) -> Any:
    check(page, name).locator("text=Override").click()
    form = page.locator(".decide")
    expect(form).to_contain_text(name)
    return form


def record(page: Any, name: str, decision: str = "PASS", note: str = NOTE) -> None:
    form = open_form(page, name)
    form.locator(f"input[value={decision}]").check()
    form.locator("textarea").fill(note)
    form.locator("button[type=submit]").click()
    expect(page.locator("#decided")).to_contain_text(name)


def test_an_override_says_what_it_will_change_and_everything_follows(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)

    page.keyboard.press("o")
    form = page.locator(".decide")
    expect(form).to_be_in_viewport()
    expect(form).to_contain_text("stays a new critical failure: 2 other critical checks fail")
    assert page.evaluate("document.activeElement.closest('.decide') !== null"), "the form has the focus"
    form.locator("input[value=PASS]").check()
    form.locator("textarea").fill(NOTE)
    form.locator("button[type=submit]").click()

    decided = page.locator("#decided")
    expect(decided).to_contain_text("new critical failure")
    assert page.evaluate("document.activeElement.id") == "decided"
    row = check(page, CRITICAL[0])
    expect(row).to_contain_text("was FAIL, changed by reviewer")
    expect(row).to_contain_text(NOTE)
    # Reviews and flags at the end of the page heard of it.
    expect(page.locator("#case-decisions")).to_contain_text(NOTE)

    for name in CRITICAL[1:]:
        record(page, name)
    expect(page.locator("#case-head")).to_contain_text("regressed")
    expect(page.locator("#decided")).to_contain_text("1 new critical")
    # And the history of the scenario, where this case is a line.
    expect(page.locator("#case-history li.is-current")).to_contain_text("regressed")

    page.locator("#decided >> text=The comparison").click()
    expect(page.locator("#tile-new-critical")).to_contain_text("1")
    expect(page.locator("#tile-regressed")).to_contain_text("2")
    page.goto("/audit/?action=result_overridden")
    expect(page.locator("#audit-entries tbody tr")).to_have_count(3)
    page.goto("/reviews/mine/")
    expect(page.locator("#own-reviews tbody tr")).to_have_count(3)


def test_a_decision_taken_back_brings_the_measured_verdict_back(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    record(page, CRITICAL[0])

    check(page, CRITICAL[0]).locator("text=Withdraw").click()
    form = page.locator(".decide")
    expect(form).to_contain_text("If it is withdrawn:")
    form.locator("textarea").fill("I looked at the wrong order.")
    form.locator("button[type=submit]").click()

    expect(page.locator("#decided")).to_contain_text("withdrew a review")
    row = check(page, CRITICAL[0])
    expect(row.locator("del", has_text="decided PASS")).to_have_count(1)
    expect(row).not_to_contain_text("changed by")


def test_too_short_a_note_comes_back_with_the_form_open_and_the_focus_on_it(
    visit: Callable[..., Any],
) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    form = open_form(page, CRITICAL[0])
    form.locator("input[value=FAIL]").check()
    form.locator("textarea").fill("no")
    # The browser would stop it first; the server must as well.
    page.evaluate("document.querySelector('.decide').noValidate = true")
    form.locator("button[type=submit]").click()

    expect(page.locator(".decide .field__error")).to_contain_text("at least 10 characters")
    assert page.input_value(".decide textarea") == "no"
    assert page.is_checked(".decide input[value=FAIL]")
    assert page.evaluate("document.activeElement.matches('.decide textarea')")


def test_a_double_click_makes_one_review(visit: Callable[..., Any], site: Served) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    form = open_form(page, CRITICAL[0])
    form.locator("input[value=PASS]").check()
    form.locator("textarea").fill(NOTE)

    form.locator("button[type=submit]").dblclick()

    expect(page.locator("#decided")).to_be_visible()
    assert site.python(COUNT).strip() == "1"


def test_two_reviewers_the_second_is_told_what_changed_and_decides_again(visit: Callable[..., Any]) -> None:
    ann, bob = visit("reviewer"), visit("admin")
    for page in (ann, bob):
        page.goto(TIMEOUT_CASE)
    form = open_form(ann, CRITICAL[0])
    form.locator("input[value=FAIL]").check()
    form.locator("textarea").fill("The second refund was never asked for.")

    record(bob, CRITICAL[0], note="The customer wanted both refunds.")
    form.locator("button[type=submit]").click()

    problem = ann.locator(".decide .notice--bad")
    expect(problem).to_contain_text("admin decided PASS on this result meanwhile")
    expect(problem).to_contain_text("The customer wanted both refunds.")
    assert ann.evaluate("document.activeElement.matches('.decide .notice--bad')")
    assert ann.input_value(".decide textarea") == "The second refund was never asked for."
    assert ann.is_checked(".decide input[value=FAIL]")

    ann.locator(".decide button[type=submit]").click()

    expect(ann.locator("#decided")).to_contain_text("reviewer decided FAIL")
    row = check(ann, CRITICAL[0])
    expect(row).to_contain_text("admin decided PASS")
    expect(row).to_contain_text("reviewer decided FAIL")


def test_a_session_that_ends_while_a_note_is_typed_loses_nothing(
    visit: Callable[..., Any], log_in_again: Callable[..., None], site: Served
) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    form = open_form(page, CRITICAL[0])
    form.locator("input[value=PASS]").check()
    form.locator("textarea").fill(NOTE)

    page.context.clear_cookies(name="sessionid")
    form.locator("button[type=submit]").click()

    page.wait_for_url("**/login/**")
    assert page.locator("#id_username").count() == 1, "a login page, and no login page inside a fragment"
    assert page.locator("#case-verdict").count() == 0
    log_in_again(page, "reviewer")
    page.wait_for_url(f"**{TIMEOUT_CASE}**")
    expect(page.locator(".decide")).to_contain_text(CRITICAL[0])
    assert page.input_value(".decide textarea") == NOTE
    assert page.is_checked(".decide input[value=PASS]")
    assert site.python(COUNT).strip() == "0", "nothing was sent on the person's behalf"

    page.locator(".decide button[type=submit]").click()
    expect(page.locator("#decided")).to_contain_text("reviewer decided PASS")


def test_opening_a_step_without_a_session_leads_to_the_login_page(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    page.context.clear_cookies(name="sessionid")

    page.click("#step-3-toggle")

    page.wait_for_url("**/login/**")
    assert page.locator("#case-steps").count() == 0


def test_a_draft_is_still_there_after_leaving_the_page(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    open_form(page, CRITICAL[0]).locator("textarea").type("half a thought")

    page.goto("/audit/")
    page.goto(TIMEOUT_CASE)
    open_form(page, CRITICAL[0])
    expect(page.locator(".decide textarea")).to_have_value("half a thought")

    page.locator(".decide input[value=PASS]").check()
    page.locator(".decide button[type=submit]").click()
    expect(page.locator("#decided")).to_be_visible()
    open_form(page, CRITICAL[0])
    assert page.input_value(".decide textarea") == "", "what was recorded is no draft any more"


def test_f_opens_the_flag_and_the_case_is_in_the_queue(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto("/comparisons/1/cases/refund-over-limit/")

    page.keyboard.press("f")
    page.locator("#flag-note").focus()
    page.keyboard.type("Was the limit the right one?")
    page.locator("#flag button").click()

    expect(page.locator("#case-head")).to_contain_text("Flagged by a person")
    expect(page.locator("#case-decisions")).to_contain_text("Was the limit the right one?")


def test_markup_in_a_note_is_text_and_nothing_runs(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    note = "<img src=x onerror=alert(1)><script>alert(2)</script> <b>bold</b>"
    page.goto(TIMEOUT_CASE)

    record(page, CRITICAL[0], note=note)

    expect(check(page, CRITICAL[0])).to_contain_text(note)
    for address in ("/audit/", "/reviews/mine/", TIMEOUT_CASE):
        page.goto(address)
        assert note in page.inner_text("main")
        assert page.locator("main script, main img, main b").count() == 0
    assert dialogs == []


def test_what_is_typed_after_f_is_the_note_and_no_shortcut(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto(TIMEOUT_CASE)
    note = "Look: no one joked, nor knows."  # j, k, o and f are shortcuts here

    page.keyboard.press("f")
    page.keyboard.type(note)

    expect(page.locator("#flag-note")).to_have_value(note)
    assert page.url.endswith(TIMEOUT_CASE)
    expect(page.locator(".decide")).to_have_count(0)
