"""Every page of the reviewer, in every state: accessible, as wide as its window, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import TIMEOUT_CASE, copy_of
from tests.pages.browser import LOOKS, SCHEMES, is_too_wide, violations
from tests.pages.served import Served, serving

# Decisions of several kinds, a flag, a hostile tool name, a long value, a check that could not be evaluated.
_STATES = """
import itertools
from django.contrib.auth.models import User
from evaluations.models import ExpectationResult, PairedCase
from reviews import services
from reviews.chain_checks import check_chain
reviewer, admin = User.objects.get(username="reviewer"), User.objects.get(username="admin")
pair = PairedCase.objects.get(comparison=1, scenario_name="refund-timeout-after-mutation")
results = ExpectationResult.objects.filter(case__pair=pair, case__run__side="CANDIDATE").order_by("position")
def decide(result, decision, who, seen=0):
    return services.override_result(result_id=result.pk, decision=decision, note="Checked by hand, twice.",
                                    seen_review_id=seen, actor=who)
first = decide(results[0], "PASS", reviewer)
second = decide(results[0], "FAIL", admin, first.pk)
services.withdraw_review(review_id=second.pk, note="The wrong order.", seen_review_id=second.pk, actor=admin)
decide(results[1], "PASS", reviewer)
services.flag_case(pair_id=pair.pk, note="Please look at the mail too. " * 20, actor=admin)
check_chain(actor=admin)
print(results[2].pk, second.pk, first.pk)
"""


@pytest.fixture(scope="module")
def site(demo: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    copy = copy_of(demo, tmp_path_factory.mktemp("looks") / "site")
    copy.ids = copy.python(_STATES).split()  # type: ignore[attr-defined]
    with serving(copy):
        yield copy


def addresses_of(site: Served) -> list[str]:
    """Every page of this room in its states."""
    undecided, _, standing = site.ids  # type: ignore[attr-defined]
    return [
        f"{TIMEOUT_CASE}?step=3",
        f"{TIMEOUT_CASE}?override={undecided}",
        "/queue/",
        "/audit/",
        f"{TIMEOUT_CASE}?step=7&flag=1",
        f"{TIMEOUT_CASE}?withdraw={standing}",
        f"{TIMEOUT_CASE}?reviewed={standing}",
        "/comparisons/1/cases/refund-tool-success-lie/?step=5",
        "/comparisons/1/cases/malicious-retrieved-content/?step=2",
        "/comparisons/1/cases/unauthorized-admin-tool/?step=2",
        "/queue/?reason=FLAGGED",
        "/queue/?reason=ERROR",
        "/audit/?actor=reviewer&text=nothing+like+it",
        "/reviews/mine/",
    ]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_accessible_and_fits_its_window(
    visit: Callable[..., Any], site: Served, width: str, scheme: str
) -> None:
    page = visit("reviewer", width=width, scheme=scheme)
    problems = []
    for address in addresses_of(site):
        page.goto(address)
        for details in page.query_selector_all("details:not(.menu):not(.confirm)"):
            details.evaluate("element => { element.open = true; }")
        problems += [f"{address}: {found}" for found in violations(page)]
        problems += [f"{address}: too wide"] * is_too_wide(page)

    assert problems == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_refused_form_is_accessible(visit: Callable[..., Any], site: Served, scheme: str) -> None:
    page = visit("reviewer", width="phone", scheme=scheme)
    undecided = site.ids[0]  # type: ignore[attr-defined]
    page.goto(f"{TIMEOUT_CASE}?override={undecided}")

    for choice, error in (("", ".decide fieldset .field__error"), ("PASS", ".decide .field__error")):
        # The browser would stop an empty form before the server could.
        page.evaluate("document.querySelector('.decide').noValidate = true")
        if choice:
            page.check(f".decide input[value={choice}]")
        else:
            page.fill(".decide textarea", "Long enough to be a note.")
        page.click(".decide button[type=submit]")
        page.wait_for_selector(error)
        assert violations(page) == []
        assert not is_too_wide(page)
        page.fill(".decide textarea", "")


def test_the_queue_of_a_viewer_is_accessible_and_has_no_form(visit: Callable[..., Any], site: Served) -> None:
    page = visit("viewer")
    page.goto("/queue/")

    assert page.locator("#queue-item form").count() == 0
    assert violations(page) == []
