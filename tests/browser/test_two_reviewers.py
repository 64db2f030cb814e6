"""Two reviewers who do not see each other, and a third: from the policy to the verdict, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT_CASE
from tests.pages.browser import is_too_wide, violations
from tests.pages.served import PASSWORD, Served

CHECK = "refunded-exactly-once"
SECRET = "Only I know yet why this one is all right."
_MORE_REVIEWERS = f"""
from django.contrib.auth.models import Group, User
for name in ("bob", "carol"):
    User.objects.create_user(name, password={PASSWORD!r}).groups.add(Group.objects.get(name="reviewer"))
"""
_COUNT = "from reviews.models import Review; print(Review.objects.count())"


def decide(page: Any, decision: str, note: str, button: str) -> None:
    page.keyboard.press("o")
    form = page.locator(".decide")
    form.locator(f"input[value={decision}]").check()
    form.locator("textarea").fill(note)
    form.locator("button[type=submit]", has_text=button).click()


def test_from_the_policy_to_the_verdict(visit: Callable[..., Any], site: Served) -> None:
    site.python(_MORE_REVIEWERS)
    admin = visit("admin")
    admin.goto("/queue/")
    admin.click("text=Policy")
    admin.get_by_label("critical checks that newly fail").check()
    admin.get_by_label("Why").fill("Two people look before it is lifted.")
    admin.click("text=Put it in force")
    expect(admin.locator("main")).to_contain_text("number 1 is in force")
    assert violations(admin) == []

    ann = visit("reviewer")
    ann.goto(TIMEOUT_CASE)
    ann.keyboard.press("o")
    expect(ann.locator(".decide")).to_contain_text("Two reviewers decide this one")
    expect(ann.locator(".decide")).to_contain_text("If the other agrees:")
    ann.locator(".decide >> text=Cancel").click()
    expect(ann.locator(".decide")).to_have_count(0)
    decide(ann, "PASS", SECRET, "Decide under seal")
    expect(ann.locator("#decided")).to_contain_text("Kept under seal")
    assert ann.evaluate("document.activeElement.id") == "decided"
    expect(ann.locator("#case-head")).to_contain_text("new critical failure")
    expect(ann.locator("#case-rounds")).to_contain_text("That was you; another must decide too.")
    assert site.python(_COUNT).strip() == "0"
    assert violations(ann) == []

    bob = visit("bob", width="phone", scheme="dark")
    for address in (TIMEOUT_CASE, "/audit/", "/queue/?reason=SECOND_REVIEW", "/queue/policy/"):
        bob.goto(address)
        assert SECRET not in bob.content(), address
        assert violations(bob) == [], address
        assert not is_too_wide(bob), address
    bob.goto(TIMEOUT_CASE)
    expect(bob.locator("#case-checks")).to_contain_text("reviewer has decided under seal")
    decide(bob, "FAIL", "It was refunded twice, whatever the reason.", "Decide under seal")
    expect(bob.locator("#decided")).to_contain_text("the other reviewer disagrees")
    expect(bob.locator("#case-checks")).to_contain_text(SECRET)
    assert violations(bob) == []
    assert not is_too_wide(bob)

    # Who was one of the two is not given the third decision.
    ann.goto("/queue/?reason=SPLIT")
    expect(ann.locator("main")).to_contain_text("waiting for another reviewer")
    carol = visit("carol")
    carol.goto("/queue/?reason=SPLIT")
    carol.keyboard.press("n")
    item = carol.locator("#queue-item")
    expect(item).to_contain_text("Yours until")
    expect(item).to_contain_text(SECRET)
    assert item.locator("text=Close without a decision").count() == 0
    decide(carol, "PASS", "The customer asked for both of them.", "Record the decision")
    expect(carol.locator("#told")).to_contain_text(f"Recorded: PASS on {CHECK}")
    assert site.python(_COUNT).strip() == "1"

    carol.goto(TIMEOUT_CASE)
    row = carol.locator("#case-checks tbody", has=carol.locator("th", has_text=CHECK))
    expect(row).to_contain_text("was FAIL, changed by carol")
    expect(row).to_contain_text("against bob, who decided FAIL")
    assert carol.locator("#case-rounds").count() == 0
    carol.goto("/queue/policy/")
    expect(carol.locator("#agreement")).to_contain_text("undefined")
    assert site.run("verify_audit")
