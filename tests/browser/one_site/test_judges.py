"""A person labels twenty examples by keyboard alone, and a calibration finishes by itself, in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.browser import LOOKS, is_too_wide, violations
from tests.pages.served import Served

CRITERION = "/judges/criteria/refund-handover/"
LABEL = f"{CRITERION}label/"
_LABELS = """
import json
from evaluations.models import Label
rows = Label.objects.filter(person__username="reviewer", taken_back_at=None).order_by("example")
print(json.dumps([list(row) for row in rows.values_list("example", "label")]))
"""


def labels_of_reviewer(site: Served) -> list[list[Any]]:
    return list(json.loads(site.python(_LABELS)))


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_twenty_examples_are_labelled_by_keyboard_alone(visit: Callable[..., Any], site: Served) -> None:
    page = visit("reviewer")
    page.goto(CRITERION)
    page.keyboard.press("l")
    page.wait_for_url(f"**{LABEL}**")
    expect(page.locator("#labelling")).to_contain_text("0 of 24 labelled by you")
    assert "badge" not in page.content(), "nothing of what anybody says"

    given = []
    for number, key in enumerate("pf12" * 5, 1):
        reply = page.locator(".material__reply").inner_text()
        given.append((reply, "PASS" if key in "p1" else "FAIL"))
        page.keyboard.press(key)
        expect(page.locator("#labelling")).to_contain_text(f"{number} of 24 labelled by you")
        assert focused(page) == "labelling-title", "focus is never lost"
    stored = labels_of_reviewer(site)
    assert [label for _, label in stored] == [label for _, label in given]
    assert len({reply for reply, _ in given}) == 20
    expect(page.locator("#live")).to_contain_text("Labelled FAIL. 20 of 24 labelled.")


def test_skipping_and_taking_back_by_keyboard(visit: Callable[..., Any], site: Served) -> None:
    page = visit("admin")
    page.goto(LABEL)
    first = page.locator(".material__reply").inner_text()
    page.keyboard.press("s")
    expect(page.locator(".material__reply")).not_to_have_text(first)
    second = page.locator(".material__reply").inner_text()
    page.keyboard.press("f")
    expect(page.locator(".material__reply")).not_to_have_text(second)

    # Two demo labellers gave theirs already, so this one is settled.
    page.keyboard.press("u")
    expect(page.locator("#labelling .notice")).to_contain_text("somebody else labelled example 2 too")
    page.keyboard.press("?")
    keys = page.locator("#keys dt").all_inner_texts()
    assert {"p1", "f2", "s"} <= {"".join(key.split()) for key in keys}
    page.keyboard.press("Escape")


def test_a_calibration_finishes_by_itself_and_is_shown(visit: Callable[..., Any], site: Served) -> None:
    page = visit("editor")
    page.goto(CRITERION)
    page.click("text=Calibrate the judge")
    page.wait_for_url("**/judges/calibrations/*/")
    expect(page.locator("#calibration-head .notice")).to_contain_text("alibrated", timeout=30_000)
    expect(page.locator("#calibration-head")).to_contain_text("deterministic-fake: not a language model")
    assert page.locator("#calibration-head progress").count() == 0
    page.click(".confusion a >> nth=0")
    expect(page.locator("#results-title")).to_have_text("People PASS, judge PASS")


# Every page of a judge in the state the tests above leave it in.
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_accessible_and_fits_its_window(
    visit: Callable[..., Any], site: Served, width: str, scheme: str
) -> None:
    problems = []
    edits = ("/judges/new/", "/judges/import/", f"{CRITERION}rubric/")
    shows = (
        CRITERION,
        "/judges/calibrations/1/",
        "/judges/calibrations/1/?show=left_out",
        "/judges/examples/1/",
    )
    addresses = {
        "editor": ("/judges/", *edits, *shows),
        "reviewer": (LABEL, f"{CRITERION}examples/", "/judges/calibrations/1/", "/judges/examples/24/"),
    }
    for role, pages in addresses.items():
        page = visit(role, width=width, scheme=scheme)
        for address in pages:
            assert page.goto(address).status == 200
            problems += [f"{address}: {found}" for found in violations(page)]
            problems += [f"{address}: too wide"] * is_too_wide(page)
    assert problems == []


def test_labelling_works_without_javascript(browser: Any, site: Served) -> None:
    from tests.pages.browser import log_in
    from tests.pages.served import PASSWORD

    context = browser.new_context(base_url=site.url, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(15_000)
    log_in(page, site.url, "admin", PASSWORD)
    page.goto(LABEL)
    before = page.locator(".material__reply").inner_text()
    done = page.locator("#labelling .num").inner_text()
    page.click("button[value=PASS]")
    page.wait_for_url("**/label/?version=1&after=*")
    assert page.locator(".material__reply").inner_text() != before
    assert page.locator("#labelling .num").inner_text() != done
    context.close()
