"""Working through the queue with the keyboard alone, to its true end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.pages.served import Served


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.tagName"))


def tab_to(page: Any, selector: str) -> None:
    """Move the focus with Tab alone."""
    for _ in range(60):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


def test_the_queue_is_worked_off_with_the_keyboard_alone(visit: Callable[..., Any], site: Served) -> None:
    page = visit("reviewer")
    page.goto("/queue/")
    expect(page.locator(".page-head__meta")).to_have_text("4 open")

    page.keyboard.press("n")
    expect(page.locator("#queue-item")).to_contain_text("Yours until")
    assert focused(page) == "item-title", "the focus is on the item, not lost with the button"

    page.keyboard.press("o")
    expect(page.locator(".decide")).to_be_visible()
    tab_to(page, ".decide input[name=decision]")
    page.keyboard.press("ArrowDown")
    assert page.is_checked(".decide input[value=FAIL]")
    tab_to(page, ".decide textarea")
    page.keyboard.type("The records are right: it was paid twice.")
    tab_to(page, ".decide button[type=submit]")
    page.keyboard.press("Enter")

    expect(page.locator("#told")).to_contain_text("Recorded: FAIL on refunded-exactly-once")
    expect(page.locator("#queue-item")).to_contain_text("Yours until")
    expect(page.locator(".page-head__meta")).to_contain_text("3 open")
    assert focused(page) == "item-title"

    for left in (2, 1, 0):
        page.keyboard.press("x")
        page.keyboard.type("Seen: the verdict stands as it is.")
        tab_to(page, "#close button")
        page.keyboard.press("Enter")
        expect(page.locator(".page-head__meta")).to_contain_text(f"{left} open" if left else "nothing waits")

    done = page.locator("#queue-done")
    expect(done).to_contain_text("Nothing is left")
    expect(done).to_contain_text("Today 1 review and 4 closed entries")
    assert focused(page) == "done-title"
    page.keyboard.press("?")
    assert "n" not in page.locator("#keys dt kbd").all_inner_texts(), "no key is shown that does nothing"


def test_skipping_shows_another_and_j_k_walk_the_list(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto("/queue/")
    page.keyboard.press("n")
    expect(page.locator("#item-title")).to_be_focused()
    first = page.url

    page.keyboard.press("n")
    page.wait_for_function(
        "first => location.href !== first && document.activeElement.id === 'item-title'"
        " && document.activeElement.textContent.includes('success-lie')",
        arg=first,
    )
    expect(page.locator("#queue-item")).to_contain_text("Yours until")

    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('[data-nav-list]') !== null")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue/?entry=*")


def test_what_is_typed_after_x_is_the_note_and_no_shortcut(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto("/queue/")
    page.keyboard.press("n")
    expect(page.locator("#item-title")).to_be_focused()
    held = page.url
    note = "No one joked: okay as known."  # n, o, j, k and x are shortcuts here

    page.keyboard.press("x")
    page.keyboard.type(note)

    expect(page.locator("#close-note")).to_have_value(note)
    assert page.url == held
    expect(page.locator(".decide")).to_have_count(0)

    page.click("#close summary")
    expect(page.locator("#close-note")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#close-note")).to_be_focused()
    page.click("#close summary")
    page.click("#close summary")
    expect(page.locator("#close-note")).to_be_focused()
    expect(page.locator("#close-note")).to_have_value(note)


def test_the_list_of_keys_tells_the_next_line_from_the_next_entry(visit: Callable[..., Any]) -> None:
    page = visit("reviewer")
    page.goto("/queue/")

    page.keyboard.press("?")

    keys = page.locator("#keys dt").all_inner_texts()
    meanings = page.locator("#keys dd").all_inner_texts()
    told = dict(zip(keys, meanings, strict=True))
    assert told["j"] == "next in the list of what waits"
    assert told["n"] == "take the next entry"
    assert len(set(meanings)) == len(meanings)


def test_what_one_holds_the_other_sees_and_is_not_given(visit: Callable[..., Any]) -> None:
    ann, bob = visit("reviewer"), visit("admin")
    ann.goto("/queue/")
    ann.keyboard.press("n")
    expect(ann.locator("#queue-item")).to_contain_text("Yours until")
    held = ann.url

    bob.goto("/queue/")
    expect(bob.locator("#queue-list")).to_contain_text("held by reviewer until")
    bob.keyboard.press("n")
    expect(bob.locator("#queue-item")).to_contain_text("Yours until")
    assert bob.url != held
    bob.goto(held)
    expect(bob.locator("#queue-item")).to_contain_text("reviewer works on it until")
