"""Overrides: who, how long, what they cover, and how they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from evaluations.errors import ConflictError, NotAllowedError, NotInForceError, RequestError
from evaluations.models import GateDecision, GateOverride
from evaluations.services.gate import evaluate
from evaluations.services.gate_overrides import override, standing_of, standings, withdraw_override
from evaluations.services.gate_policies import save_gate_policy
from reviews.models import AuditEntry
from tests.documents.samples import gate_policy
from tests.gate.test_deciding import ALONE, changed
from tests.reviews.conftest import person
from tests.running import documents

pytestmark = pytest.mark.django_db
WHY = "A known duplicate of the sandbox."


def give(decision: GateDecision, actor: Any, **changes: Any) -> GateOverride:
    given = {
        "reason": WHY,
        "ticket": "OPS-7",
        "expires_at": timezone.now() + timedelta(days=30),
        "form_token": uuid4(),
        **changes,
    }
    return override(decision=decision, actor=actor, **given)[0]


def test_an_overridden_decision_reads_so_and_never_changes(decided: Any, boss: Any) -> None:
    decision = decided(ALONE)
    before = GateDecision.objects.values().get()
    made = give(decision, boss)
    standing = standing_of(decision)
    assert (standing.words, standing.override) == ("OVERRIDDEN (originally BLOCK)", made)
    assert GateDecision.objects.values().get() == before
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor, entry.note) == ("gate_overridden", boss, WHY)
    assert (entry.after["ticket"], entry.after["decision"]) == ("OPS-7", decision.pk)


def test_it_ends_by_itself(decided: Any, boss: Any) -> None:
    decision = decided(ALONE)
    made = give(decision, boss)
    assert standing_of(decision, made.expires_at - timedelta(seconds=1)).reads == "OVERRIDDEN"
    assert standing_of(decision, made.expires_at).words == "BLOCK"


def test_withdrawing_is_an_entry_of_its_own(decided: Any, boss: Any) -> None:
    decision = decided(ALONE)
    made = give(decision, boss)
    taken = withdraw_override(override=made, actor=boss, reason="It was not that bug.", form_token=uuid4())
    assert (taken.withdraws, taken.is_withdrawal, GateOverride.objects.count()) == (made, True, 2)
    assert standing_of(decision).words == "BLOCK"
    assert AuditEntry.objects.latest("sequence").action == "gate_override_withdrawn"
    with pytest.raises(NotInForceError):
        withdraw_override(override=made, actor=boss, reason="once more, please", form_token=uuid4())


@pytest.mark.parametrize("role", ["viewer", "reviewer", "editor"])
def test_only_admins_override(decided: Any, boss: Any, role: str) -> None:
    decision = decided(ALONE)
    with pytest.raises(NotAllowedError):
        give(decision, person("x", role))
    made = give(decision, boss)
    with pytest.raises(NotAllowedError):
        withdraw_override(override=made, actor=person("y", role), reason=WHY, form_token=uuid4())
    assert GateOverride.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"reason": "  because  "}, "reason: say why in at least 10 characters"),
        ({"ticket": " "}, "ticket: is required"),
        ({"ticket": "x" * 201}, "ticket: must be at most 200"),
        ({"expires_at": timedelta(0)}, "expires_at: must be in the future"),
        ({"expires_at": timedelta(days=90, minutes=1)}, "expires_at: must be within 90 days"),
    ],
)
def test_each_override_says_who_why_and_until_when(
    decided: Any, boss: Any, wrong: dict[str, Any], problem: str
) -> None:
    decision = decided(ALONE)
    if isinstance(wrong.get("expires_at"), timedelta):
        wrong = {"expires_at": timezone.now() + wrong["expires_at"]}
    with pytest.raises(RequestError, match=problem):
        give(decision, boss, **wrong)
    assert not GateOverride.objects.exists()


def test_every_problem_is_told_at_once(decided: Any, boss: Any) -> None:
    decision = decided(ALONE, candidate=documents.GOOD)
    with pytest.raises(RequestError) as refused:
        give(decision, boss, reason="", ticket="", expires_at=timezone.now())
    assert [one.partition(":")[0] for one in refused.value.problems] == [
        "reason",
        "ticket",
        "expires_at",
        "decision",
    ]


def test_ninety_days_are_allowed_and_a_double_submit_is_one(decided: Any, boss: Any) -> None:
    decision = decided(ALONE)
    token, until = uuid4(), timezone.now() + timedelta(days=90)
    first = give(decision, boss, expires_at=until, form_token=token)
    assert give(decision, boss, expires_at=until, form_token=token) == first
    with pytest.raises(ConflictError, match="under this key, with other content"):
        give(decision, boss, expires_at=until, form_token=token, ticket="OTHER")
    assert GateOverride.objects.count() == 1


def test_one_that_does_not_verify_is_not_overridden_and_not_covered(decided: Any, boss: Any) -> None:
    decision = decided(ALONE)
    give(decision, boss)
    forged = changed(decision, content=decision.content.replace("refund", "refuse", 1))
    assert standing_of(forged).words == "NOT VERIFIED"
    with pytest.raises(RequestError, match="it does not verify"):
        give(forged, boss)


def test_an_override_of_one_that_does_not_verify_covers_nothing(
    decided: Any, compared: Any, boss: Any
) -> None:
    decision = decided(ALONE)
    give(decision, boss)
    changed(decision, content=decision.content.replace("refund", "refuse", 1))
    assert standing_of(evaluate(comparison_id=compared().pk)).words == "BLOCK"


def test_it_covers_another_run_of_the_same_in_which_nothing_else_fired(
    decided: Any, compared: Any, boss: Any
) -> None:
    decision = decided(ALONE)
    give(decision, boss)
    again = evaluate(comparison_id=compared().pk)
    assert standing_of(again).words == "OVERRIDDEN (originally BLOCK)"
    alone = evaluate(comparison_id=compared(baseline=None).pk)
    assert standing_of(alone).words == "BLOCK"


def test_it_does_not_cover_what_fires_anew(given: Any, compared: Any, boss: Any) -> None:
    """A later run of the same in which another scenario fails too."""
    from evaluations.models import ExpectationResult
    from evaluations.services.effective import set_effective_status

    given(ALONE, documents.scenario("other", expectations=[{"type": "maxToolCalls", "value": 9}]))
    give(evaluate(comparison_id=compared().pk), boss)
    later = compared()
    assert standing_of(evaluate(comparison_id=later.pk)).reads == "OVERRIDDEN"
    failing = ExpectationResult.objects.get(
        case__run__comparison=later, case__run__side="CANDIDATE", type="maxToolCalls"
    )
    set_effective_status(result=failing, status="FAIL")
    assert standing_of(evaluate(comparison_id=later.pk)).words == "BLOCK"


def test_it_does_not_cover_another_policy_or_another_suite(given: Any, compared: Any, boss: Any) -> None:
    from scenarios.services import save_scenario

    given(ALONE)
    comparison = compared()
    give(evaluate(comparison_id=comparison.pk), boss)
    save_gate_policy(document=gate_policy())
    assert standing_of(evaluate(comparison_id=comparison.pk, policy="careful")).words == "BLOCK"
    save_scenario(document=documents.scenario("refund", covers=["tool:refund"]))
    assert standing_of(evaluate(comparison_id=compared().pk)).words == "BLOCK"


def test_the_standings_of_a_list_take_two_queries(
    decided: Any, boss: Any, django_assert_num_queries: Any
) -> None:
    decision = decided(ALONE)
    give(decision, boss)
    for _ in range(3):
        evaluate(comparison_id=decision.comparison_id)
    rows = list(GateDecision.objects.with_names())
    with django_assert_num_queries(2):
        found = standings(rows)
    assert {standing.reads for standing in found.values()} == {"OVERRIDDEN"}
