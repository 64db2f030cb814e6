"""The release pages: what is decided, why, and what may be done about it by whom."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from evaluations.gate import RULES
from evaluations.models import GateDecision, GateOverride
from evaluations.services.gate import evaluate
from evaluations.services.gate_policies import policy_in_force, save_gate_policy
from reviews.models import AuditEntry
from scenarios.services.datasets import save_dataset
from tests.documents.samples import gate_policy
from tests.gate.test_command import COVERED, dataset
from tests.gate.test_deciding import ALONE, changed
from tests.gate.test_overriding import give
from tests.running import documents

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def shown(client: Any, address: str, status: int = 200, **options: Any) -> str:
    answer = client.get(address, **options)
    assert answer.status_code == status
    html = answer.content.decode()
    return re.sub(r"\s+", " ", html.partition("<main")[2] or html)


def form_values(**changes: Any) -> dict[str, str]:
    return {
        "form_token": str(uuid4()),
        "reason": "The sandbox counts twice, the real one does not.",
        "ticket": "OPS-9",
        "expires_on": (timezone.now() + timedelta(days=7)).date().isoformat(),
        **changes,
    }


def test_the_page_says_the_decision_then_why_then_the_evidence(decided: Any, member: Any) -> None:
    decision = decided(ALONE)
    html = shown(member("viewer"), f"/releases/{decision.pk}/")
    places = [
        html.index(text)
        for text in (
            "This version must not be released.",
            "What blocks it",
            "A critical check failed.",
            "orders.A.count: expected 1, got 2",
            'id="override-title"',
            'id="cases-title"',
            'id="history-title"',
        )
    ]
    assert places == sorted(places)
    assert f'href="/comparisons/{decision.comparison_id}/cases/refund/"' in html
    assert "At step 3" in html
    assert ">verified<" in html.replace("✓ </span>verified", ">verified<")
    assert decision.sha256[:16] in html
    # A viewer sees everything and acts on nothing.
    assert 'method="post"' not in html


def test_a_pass_and_a_warning_say_so_in_a_sentence(decided: Any, member: Any, compared: Any) -> None:
    decision = decided(ALONE, candidate=documents.GOOD)
    assert "Nothing stands against this release." in shown(member("viewer"), f"/releases/{decision.pk}/")
    save_gate_policy(document=gate_policy(minimumTrials=2))
    warned = evaluate(comparison_id=decision.comparison_id, policy="careful")
    html = shown(member("viewer"), f"/releases/{warned.pk}/")
    assert "Nothing blocks this release. 1 thing deserves a look first." in html


def test_a_record_that_was_changed_is_shown_as_not_verified(decided: Any, member: Any) -> None:
    decision = decided(ALONE)
    changed(decision, outcome="PASS", headline="")
    html = shown(member("admin"), f"/releases/{decision.pk}/")
    assert "Not verified: this record was changed after it was made." in html
    assert "its outcome is not the one that was hashed" in html
    assert "Override this" not in html
    # Even where nothing of it can be read any more.
    changed(decision, content="spoilt")
    assert "its content cannot be read" in shown(member("admin"), f"/releases/{decision.pk}/")


def test_a_review_makes_the_page_say_that_it_is_old(decided: Any, member: Any) -> None:
    from evaluations.models import ExpectationResult
    from evaluations.services.effective import set_effective_status

    decision = decided(ALONE)
    client = member("reviewer")
    assert "have changed since" not in shown(client, f"/releases/{decision.pk}/")
    set_effective_status(result=ExpectationResult.objects.filter(status="FAIL").first(), status="PASS")
    assert "have changed since" in shown(client, f"/releases/{decision.pk}/")
    answer = client.post(f"/comparisons/{decision.comparison_id}/gate/", {"policy": "default"})
    assert answer.status_code == 303
    again = GateDecision.objects.get(revision=2)
    assert answer.url == f"/releases/{again.pk}/"
    assert again.decided_by.get_username() == "reviewer"


def test_an_admin_overrides_without_javascript_and_the_page_reads_so(decided: Any, member: Any) -> None:
    decision = decided(ALONE)
    client = member("admin")
    address = f"/releases/{decision.pk}/"
    assert "Override this BLOCK" in shown(client, address)
    answer = client.post(f"{address}override/", form_values())
    assert (answer.status_code, answer.url) == (303, address)
    html = shown(client, address)
    assert "The gate itself says BLOCK." in html
    assert "OVERRIDDEN" in html
    assert "OPS-9: The sandbox counts twice" in html
    made = GateOverride.objects.get()
    assert made.expires_at.strftime("%H:%M:%S") == "23:59:59"
    assert "OVERRIDDEN" in shown(client, "/releases/")

    client.post(f"/releases/overrides/{made.pk}/withdraw/", {"reason": "It was not that bug."})
    html = shown(client, address)
    assert "This version must not be released." in html
    assert "withdrew the override" in html
    assert AuditEntry.objects.latest("sequence").action == "gate_override_withdrawn"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"reason": "short"}, "at least 10 characters"),
        ({"ticket": ""}, "This field is required"),
        ({"expires_on": "2020-01-01"}, "Must be in the future."),
        ({"expires_on": "2999-01-01"}, "Must be within 90 days."),
        ({"expires_on": "soon"}, "Enter a valid date"),
    ],
)
def test_a_refused_override_comes_back_with_what_was_typed(
    decided: Any,
    member: Any,
    wrong: dict[str, str],
    told: str,
) -> None:
    decision = decided(ALONE)
    answer = member("admin").post(f"/releases/{decision.pk}/override/", form_values(**wrong))
    html = answer.content.decode()
    assert answer.status_code == 422
    assert told in html
    assert "OPS-9" in html or "ticket" in wrong
    assert '<details class="act" open>' in html
    assert not GateOverride.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_nobody_else_overrides_withdraws_or_activates(
    decided: Any, member: Any, boss: Any, role: str
) -> None:
    decision = decided(ALONE)
    client = member(role)
    assert client.post(f"/releases/{decision.pk}/override/", form_values()).status_code == 403
    made = give(decision, boss)
    assert client.post(f"/releases/overrides/{made.pk}/withdraw/", {"reason": "x" * 20}).status_code == 403
    assert client.post("/releases/policies/default/activate/", {"version": "1"}).status_code == 403
    assert GateOverride.objects.count() == 1


def test_what_is_not_there_is_404_and_get_never_writes(decided: Any, member: Any) -> None:
    decision = decided(ALONE)
    client = member("admin")
    for address in ("/releases/999/", "/releases/policies/none/", "/releases/policies/default/?version=9"):
        shown(client, address, 404)
    for address in ("/comparisons/999/gate/", "/releases/999/override/", "/releases/overrides/999/withdraw/"):
        assert client.post(address, form_values()).status_code == 404
    for address in (f"/releases/{decision.pk}/override/", f"/comparisons/{decision.comparison_id}/gate/"):
        assert client.get(address).status_code == 405
    assert client.post(f"/releases/{decision.pk}/").status_code == 405


def test_a_comparison_that_runs_or_an_unknown_policy_is_told(given: Any, start: Any, member: Any) -> None:
    given()
    comparison = start()
    client = member("editor")
    answer = client.post(f"/comparisons/{comparison.pk}/gate/", {"policy": "default"}, follow=True)
    assert "Could not decide: comparison" in answer.content.decode()
    assert not GateDecision.objects.exists()


def test_the_page_of_a_comparison_asks_the_gate(decided: Any, member: Any) -> None:
    decision = decided(ALONE)
    html = shown(member("editor"), f"/comparisons/{decision.comparison_id}/")
    assert f'href="/releases/{decision.pk}/"' in html
    assert "Decide again" in html
    assert "Decide again" not in shown(member("viewer"), f"/comparisons/{decision.comparison_id}/")


def test_the_list_can_be_narrowed_and_htmx_gets_the_table(decided: Any, member: Any) -> None:
    decided(ALONE)
    client = member("viewer")
    assert "A critical check failed." in shown(client, "/releases/")
    assert "No decision matches" in shown(client, "/releases/?outcome=PASS")
    assert "No decision matches" in shown(client, "/releases/?agent=nobody")
    assert "A critical check failed." in shown(client, "/releases/?outcome=bogus")
    fragment = client.get("/releases/", headers=HTMX).content.decode()
    assert fragment.strip().startswith("<section") or "<html" not in fragment


def test_the_lists_and_the_page_take_a_fixed_number_of_queries(
    decided: Any,
    member: Any,
    boss: Any,
    django_assert_max_num_queries: Any,
) -> None:
    decision = decided(ALONE)
    give(decision, boss)
    for _ in range(3):
        evaluate(comparison_id=decision.comparison_id)
    client = member("admin")
    for address, most in (("/releases/", 9), (f"/releases/{decision.pk}/", 12), ("/releases/policies/", 6)):
        shown(client, address)
        with django_assert_max_num_queries(most):
            shown(client, address)


# ------------------------------------------------------------------------------- policies


def test_the_page_of_policies_explains_every_rule(member: Any) -> None:
    html = shown(member("viewer"), "/releases/policies/")
    for rule in RULES.values():
        assert f'id="{rule.name}"' in html
        assert rule.sentence.replace("'", "&#x27;") in html


def test_a_new_version_waits_and_an_admin_puts_it_in_force(member: Any) -> None:
    save_gate_policy(document=gate_policy())
    save_gate_policy(document=gate_policy(minimumTrials=4, reliability={"k": 3, "atLeast": 0.9}))
    viewer, admin = member("viewer"), member("admin")
    html = shown(viewer, "/releases/policies/careful/")
    assert "Every scenario of the suite must pass in every trial." in html
    assert "Version 2 waits for an admin." in html
    html = shown(viewer, "/releases/policies/careful/?version=2")
    assert "Each critical scenario must reach a pass^3 of 0.9" in html
    assert "not in force" in html
    assert "Put version 2 in force" not in html
    assert "Put version 2 in force" in shown(admin, "/releases/policies/careful/?version=2")
    answer = admin.post("/releases/policies/careful/activate/", {"version": "2", "note": "agreed"})
    assert answer.status_code == 303
    assert policy_in_force("careful").number == 2
    assert AuditEntry.objects.latest("sequence").note == "agreed"
    assert admin.post("/releases/policies/careful/activate/", {"version": "x"}).status_code == 404


def test_two_versions_are_held_against_each_other(member: Any) -> None:
    save_gate_policy(document=gate_policy())
    save_gate_policy(document=gate_policy(minimumTrials=4))
    client = member("viewer")
    assert "minimumTrials" in shown(client, "/releases/policies/careful/?from=1&to=2")
    shown(client, "/releases/policies/careful/?from=1&to=9", 422)
    text = client.get("/releases/policies/careful/text/?version=2")
    assert text["Content-Disposition"] == 'attachment; filename="careful-2.yaml"'
    assert b"minimumTrials" in text.content


# ------------------------------------------------------------------------------- holdouts


def test_the_cases_of_a_holdout_are_hidden_from_who_may_not_look(
    given: Any, compared: Any, member: Any
) -> None:
    given(documents.scenario("one", **COVERED))
    document = dataset("one")
    document["spec"]["purpose"] = "holdout"
    save_dataset(document=document)
    decision = evaluate(comparison_id=compared(dataset="refunds").pk)
    address = f"/releases/{decision.pk}/"
    hidden = shown(member("editor"), address)
    assert "This version must not be released." in hidden
    assert "A critical check failed." in hidden
    assert "1 case of a holdout" in hidden
    for detail in ("REF-1", ">one<", "/cases/one/", "expected 1, got 2", "At step"):
        assert detail not in hidden
    assert "REF-1" in shown(member("reviewer"), address)
