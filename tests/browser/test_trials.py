"""Pages of repeated trials in a real Chromium: accessible, as wide as their window, their pictures drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import copy_of
from tests.pages.browser import LOOKS, is_too_wide, violations
from tests.pages.served import Served, serving

# Two scenarios, six trials each; one trial used up its attempts before it ever ran, so it is errored.
_TRIALS = """
from evaluations.models import Case
from evaluations.services.comparisons import start_comparison
from evaluations.services.waiting import run_here
comparison, _ = start_comparison(
    agent="support-refund-agent", baseline="1.2.4", candidate="1.3.0", trials=6, wake=False,
    scenarios=["refund-timeout-after-mutation", "refund-over-limit"],
)
pairs = comparison.pairs.filter(scenario_name="refund-over-limit")
Case.objects.filter(pair__in=pairs.filter(trial=2), run__side="CANDIDATE").update(attempts=3)
run_here(comparison.pk)
print(comparison.pk)
"""


@pytest.fixture(scope="module")
def site(demo: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    copy = copy_of(demo, tmp_path_factory.mktemp("trials") / "site")
    copy.comparison = int(copy.python(_TRIALS))  # type: ignore[attr-defined]
    with serving(copy):
        yield copy


@pytest.fixture
def address(site: Served) -> str:
    return f"/comparisons/{site.comparison}/"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_accessible_and_fits_its_window(
    visit: Callable[..., Any], address: str, width: str, scheme: str
) -> None:
    page = visit("editor", width=width, scheme=scheme)
    problems = []
    for end in (
        "",
        "?class=UNCHANGED",
        "cases/refund-timeout-after-mutation/?trial=3",
        "cases/refund-over-limit/?trial=2",
        "statistics/",
        "statistics/refund-timeout-after-mutation/",
    ):
        page.goto(address + end)
        if page.locator("#rerun").count():
            page.click("#rerun > summary")
        problems += [f"{end}: {found}" for found in violations(page)]
        problems += [f"{end}: too wide"] * is_too_wide(page)
    assert problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_drawn_in_the_colours_of_the_page(
    visit: Callable[..., Any], address: str, scheme: str
) -> None:
    page = visit("viewer", scheme=scheme)
    page.goto(f"{address}statistics/refund-timeout-after-mutation/")
    pictures = page.locator(".picture img")
    expect(pictures).to_have_count(2)
    for picture in pictures.all():
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 300
        assert ("scheme=dark" in picture.evaluate("image => image.currentSrc")) == (scheme == "dark")
        assert "The table beside it holds the numbers." in (picture.get_attribute("alt") or "")


def test_from_the_row_of_a_scenario_to_the_trajectory_of_a_trial(
    visit: Callable[..., Any], address: str
) -> None:
    page = visit("viewer")
    page.goto(address)
    expect(page.locator("[data-nav-item]")).to_have_count(2)
    page.click("text=refund-timeout-after-mutation")
    page.click("a[aria-label='candidate, trial 4, failed']")
    expect(page.locator("#case-steps")).to_be_in_viewport()
    expect(page.locator("#case-head")).to_contain_text("trial 4 of 6")
    page.click("text=pass^k, pictures and costs of this scenario")
    expect(page.locator("h1")).to_have_text("refund-timeout-after-mutation")


def test_k_is_chosen_without_a_script_too(browser: Any, site: Served, address: str, visit: Any) -> None:
    page = visit("viewer", java_script_enabled=False)
    page.goto(f"{address}statistics/")
    page.select_option("#figures-k", "2")
    page.click("text=Show")
    assert "k=2" in page.url
    expect(page.locator(".figures thead")).to_contain_text("pass^2")


def test_an_errored_trial_is_run_again_in_two_steps(visit: Callable[..., Any], address: str) -> None:
    page = visit("editor")
    page.goto(address)
    page.click("#rerun > summary")
    expect(page.locator("#rerun")).to_contain_text("Trials that failed are not run again")
    page.click("text=Yes, run it again")
    expect(page.locator("main")).to_contain_text("1 trial run again, once.")
    expect(page.locator("#comparison-head")).to_contain_text("1 errored, run again")
