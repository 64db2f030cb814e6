"""Evaluating a stored comparison: what is read, what is kept, and whether it still verifies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from evaluations.errors import NotEndedError, RequestError
from evaluations.models import Case, ExpectationResult, GateDecision
from evaluations.services.effective import set_effective_status
from evaluations.services.gate import (
    evaluate,
    fired_in,
    is_stale,
    read_content,
    sha256_of,
    verification,
)
from evaluations.services.gate_evidence import read_evidence
from evaluations.services.gate_overrides import standing_of
from evaluations.services.gate_policies import save_gate_policy
from evaluations.services.rerunning import rerun_trials
from evaluations.services.waiting import run_here
from reviews import audit
from reviews.reconciling import decision_problems
from tests.documents.samples import gate_policy
from tests.models import factories
from tests.running import documents
from tests.triggers import triggers_lifted
from twins.engine.values import canonical_json

pytestmark = pytest.mark.django_db
# Nothing but the agent's work decides: the tools of its manifest are all covered.
ALONE = documents.scenario("refund", covers=["tool:refund", "tool:lookup"])


def rules_of(decision: GateDecision) -> list[str]:
    content = read_content(decision)
    assert content is not None
    return [one.rule for one in fired_in(content)]


def test_a_candidate_that_refunds_twice_is_blocked_with_evidence(decided: Any) -> None:
    decision = decided(ALONE)
    assert decision.outcome == "BLOCK"
    assert rules_of(decision) == [
        "critical-failure",
        "duplicate-irreversible-effect",
        "disproved-success",
        "mandatory-not-passed",
        "empty-suite",
        "too-many-regressions",
    ]
    content = read_content(decision)
    duplicate = next(one for one in fired_in(content) if one.rule == "duplicate-irreversible-effect")
    (seen,) = duplicate.observations
    assert seen.observed == "refund:A was applied 2 times, by calls 2 and 3"
    assert (seen.scenario, seen.baseline, seen.candidate) == ("refund", "PASSED", "FAILED (once)")
    assert seen.first_divergence.startswith("At step 3")
    assert seen.link == f"/comparisons/{decision.comparison_id}/cases/refund/"


def test_a_sound_candidate_passes_and_the_inputs_are_kept(decided: Any) -> None:
    decision = decided(ALONE, candidate=documents.GOOD)
    content = read_content(decision)
    assert (decision.outcome, decision.revision, content["rules"]) == ("PASS", 1, [])
    assert content["policy"]["name"] == "default"
    (case,) = content["inputs"]["cases"]
    assert (case["scenario"], case["trials"], case["passed"], case["baseline_passed"]) == ("refund", 1, 1, 1)
    assert content["inputs"]["candidate"]["version"] == "2.0.0"
    assert verification(decision).holds


def test_without_a_baseline_the_same_rules_decide(decided: Any) -> None:
    assert decided(ALONE, baseline=None).outcome == "BLOCK"


def test_a_sound_candidate_alone_passes(decided: Any) -> None:
    decision = decided(ALONE, candidate=documents.GOOD, baseline=None)
    assert (decision.outcome, rules_of(decision)) == ("PASS", [])
    assert read_content(decision)["inputs"]["baseline"] is None


def test_each_evaluation_is_a_revision_of_its_own(decided: Any) -> None:
    first = decided(ALONE)
    second = evaluate(comparison_id=first.comparison_id)
    save_gate_policy(document=gate_policy())
    other = evaluate(comparison_id=first.comparison_id, policy="careful")
    assert [one.revision for one in (first, second, other)] == [1, 2, 1]
    assert second.subject == first.subject != other.subject
    assert {verification(one).holds for one in GateDecision.objects.all()} == {True}


def test_a_review_flows_into_the_next_evaluation_alone(decided: Any) -> None:
    first = decided(documents.scenario("refund", expectations=[{"type": "maxToolCalls", "value": 2}]))
    assert "mandatory-not-passed" in rules_of(first)
    failing = ExpectationResult.objects.get(effective_status="FAIL")
    set_effective_status(result=failing, status="PASS")
    first.refresh_from_db()
    first.comparison.refresh_from_db()
    assert is_stale(first)
    second = evaluate(comparison_id=first.comparison_id)
    assert "mandatory-not-passed" not in rules_of(second)
    assert "mandatory-not-passed" in rules_of(first)
    # The effect was applied twice all the same: a review of another check does not change that.
    assert rules_of(second)[:1] == ["duplicate-irreversible-effect"]
    assert not is_stale(GateDecision.objects.get(pk=second.pk))


def test_a_person_who_passes_the_duplicate_check_puts_the_record_aside(decided: Any) -> None:
    first = decided(documents.scenario("refund", expectations=[{"type": "noDuplicateSideEffect"}]))
    assert "duplicate-irreversible-effect" in rules_of(first)
    set_effective_status(result=ExpectationResult.objects.get(effective_status="FAIL"), status="PASS")
    assert "duplicate-irreversible-effect" not in rules_of(evaluate(comparison_id=first.comparison_id))


def test_one_that_still_runs_or_was_cancelled_is_not_decided(given: Any, start: Any) -> None:
    from evaluations.services.comparisons import cancel_comparison

    given()
    comparison = start()
    with pytest.raises(NotEndedError, match="is QUEUED"):
        evaluate(comparison_id=comparison.pk)
    cancel_comparison(comparison)
    with pytest.raises(NotEndedError, match="is CANCELLED: cancelled"):
        evaluate(comparison_id=comparison.pk)
    assert not GateDecision.objects.exists()


def test_an_unknown_policy_is_refused_with_those_there_are(given: Any, compared: Any) -> None:
    given()
    with pytest.raises(RequestError, match=r"unknown policy 'strict' \(policies: default\)"):
        evaluate(comparison_id=compared().pk, policy="strict")


def test_an_agent_that_refuses_to_run_leaves_evidence_missing(decided: Any) -> None:
    decision = decided(ALONE, candidate=["refuse"])
    assert rules_of(decision) == [
        "mandatory-not-passed",
        "incomplete-evidence",
        "empty-suite",
        "too-few-trials",
    ]


JUDGED = {"id": "kind", "type": "semantic", "rubric": "The answer says done.", "category": "tone"}


def test_a_judge_that_nobody_calibrated_is_a_warning_and_by_policy_no_evidence(decided: Any) -> None:
    calm = {"id": "few", "type": "maxToolCalls", "value": 9}
    scenario = documents.scenario(
        "refund", covers=["tool:refund", "tool:lookup"], expectations=[calm, JUDGED]
    )
    decision = decided(scenario, candidate=documents.GOOD)
    (warned,) = [one for one in fired_in(read_content(decision)) if one.rule == "uncalibrated-judge"]
    assert warned.observations[0].observed.endswith(": refund")
    assert "tone is not calibrated yet" in warned.observations[0].observed
    save_gate_policy(document=gate_policy(calibratedJudgesOnly=True))
    strict = evaluate(comparison_id=decision.comparison_id, policy="careful")
    assert "incomplete-evidence" in rules_of(strict)


def test_a_judges_verdict_that_a_person_turned_is_the_persons(decided: Any) -> None:
    decision = decided(documents.scenario("refund", expectations=[JUDGED]), candidate=documents.GOOD)
    assert "uncalibrated-judge" in rules_of(decision)
    (result,) = ExpectationResult.objects.filter(case__run__side="CANDIDATE")
    set_effective_status(result=result, status="FAIL" if result.status == "PASS" else "PASS")
    assert "uncalibrated-judge" not in rules_of(evaluate(comparison_id=decision.comparison_id))


def test_reading_the_evidence_takes_a_fixed_number_of_queries(
    given: Any, compared: Any, django_assert_num_queries: Any
) -> None:
    given(*(documents.scenario(f"s{number}") for number in range(3)))
    for trials, expected in ((1, 8), (3, 8)):
        comparison = compared(trials=trials)
        comparison = (
            type(comparison)
            .objects.select_related("agent", "baseline", "candidate", "dataset_version__dataset")
            .get(pk=comparison.pk)
        )
        with django_assert_num_queries(expected):
            read = read_evidence(comparison)
        assert [len(case.trials) for case in read.evidence.cases] == [trials] * 3


def test_a_tool_that_only_a_replaced_trial_called_is_not_shown_to_work(
    given: Any, compared: Any, tmp_path: Any
) -> None:
    back = tmp_path / "back"
    given(documents.scenario("refund"), candidate=(f"refuse-until {back} 1", documents.GOOD[1]))
    comparison = compared()
    unfinished = Case.objects.get(run__comparison=comparison, run__side="CANDIDATE")
    factories.tool_call(unfinished, 1, tool="lookup")
    back.touch()
    rerun_trials(comparison=comparison, actor=None, wake=False)
    run_here(comparison.pk)
    comparison.refresh_from_db()
    shown = {tool.name: tool.passing for tool in read_evidence(comparison).evidence.tools}
    assert shown["lookup"] == ()
    assert shown["refund"] == ("refund",)


def test_the_same_rows_give_the_same_evidence(given: Any, compared: Any) -> None:
    given()
    comparison = compared()
    first, second = (read_evidence(comparison).evidence for _ in range(2))
    assert first == second
    assert first.sha256 == second.sha256
    set_effective_status(result=ExpectationResult.objects.first(), status="FAIL")
    assert read_evidence(comparison).evidence.sha256 != first.sha256


# ------------------------------------------------------------------------------- verification


def changed(decision: GateDecision, **columns: Any) -> GateDecision:
    """The decision after somebody came past the database's guards."""
    with triggers_lifted(connection):
        GateDecision.objects.filter(pk=decision.pk).update(**columns)
    return GateDecision.objects.get(pk=decision.pk)


def test_every_changed_byte_of_the_content_shows(decided: Any) -> None:
    decision = decided(ALONE)
    text = decision.content
    for at in range(0, len(text), max(1, len(text) // 60)):
        decision.content = f"{text[:at]}{chr(ord(text[at]) ^ 1)}{text[at + 1 :]}"
        assert not verification(decision).holds, at
    for other in (text + " ", text[:-1], "", "[]", "null"):
        decision.content = other
        assert not verification(decision).holds


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"outcome": "PASS"}, "its outcome is not the one that was hashed"),
        ({"revision": 2}, "its revision is not the one that was hashed"),
        ({"headline": "all is well"}, "its headline is not the one that was hashed"),
        ({"subject": "c" * 64}, "its subject is not the one that was hashed"),
        ({"sha256": "c" * 64}, "its content does not give its SHA-256"),
        ({"decided_at": "2026-01-01T00:00:00+00:00"}, "its decided at is not the one that was hashed"),
    ],
)
def test_every_changed_column_shows(decided: Any, columns: dict[str, Any], told: str) -> None:
    assert verification(changed(decided(ALONE), **columns)).problems == (told,)


def test_another_comparison_person_or_policy_shows(decided: Any, compared: Any, boss: Any) -> None:
    decision = decided(ALONE)
    other = compared()
    assert "comparison" in str(verification(changed(decision, comparison=other)).problems)
    changed(decision, comparison=decision.comparison_id)
    assert verification(changed(decision, decided_by=boss)).problems == ("it was decided by somebody else",)
    version, _ = save_gate_policy(document=gate_policy())
    moved = changed(decision, decided_by=None, policy_version=version)
    assert verification(moved).problems == ("its policy is not the one that was hashed",)


def test_content_and_hash_changed_together_are_not_those_of_the_audit_log(decided: Any) -> None:
    from evaluations.services.gate import sha256_of
    from reviews.models import AuditEntry

    decision = decided(ALONE)
    forged = decision.content.replace('"outcome":"BLOCK"', '"outcome":"PASS"', 1)
    changed(decision, content=forged, sha256=sha256_of(forged))
    recorded = AuditEntry.objects.filter(action="gate_decided").latest("sequence").after["sha256"]
    assert recorded == decision.sha256 != GateDecision.objects.get(pk=decision.pk).sha256
    assert audit.verify().is_intact


def test_the_database_refuses_to_change_or_remove_a_decision(decided: Any) -> None:
    decision = decided(ALONE)
    for sql in (
        "UPDATE evaluations_gatedecision SET outcome = 'PASS'",
        "DELETE FROM evaluations_gatedecision",
    ):
        with pytest.raises(IntegrityError, match="written once"), transaction.atomic():
            connection.cursor().execute(sql)
    assert json.loads(GateDecision.objects.get(pk=decision.pk).content)["outcome"] == "BLOCK"


@pytest.mark.parametrize("columns", [{"outcome": "PASS"}, {"content": "{}"}, {"revision": 9}])
def test_the_audit_holds_decisions_against_the_log(decided: Any, columns: dict[str, Any]) -> None:
    decision = decided(ALONE)
    assert decision_problems() == []
    changed(decision, **columns)
    (problem,) = decision_problems()
    assert problem.endswith(f"gate decision {decision.pk} is no longer what was decided")
    assert standing_of(GateDecision.objects.get(pk=decision.pk)).words == "NOT VERIFIED"


def test_who_changes_content_and_hash_together_does_not_change_the_log(decided: Any) -> None:
    decision = decided(ALONE)
    content = json.loads(decision.content) | {"outcome": "PASS"}
    text = canonical_json(content)
    forged = changed(decision, content=text, sha256=sha256_of(text), outcome="PASS")
    assert verification(forged).holds
    (problem,) = decision_problems()
    assert f"gate decision {decision.pk}" in problem


@pytest.mark.parametrize("byte", ["X'FF'", "CAST(X'FF' AS TEXT)"])
def test_a_byte_that_is_no_text_takes_no_page_along(decided: Any, member: Any, byte: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL keeps no text that is not UTF-8")
    decision = decided(ALONE)
    with triggers_lifted(connection), connection.cursor() as cursor:
        cursor.execute(f"UPDATE evaluations_gatedecision SET content = {byte} || substr(content, 2)")
    client = member("viewer")
    for address in ("/releases/", f"/releases/{decision.pk}/", f"/comparisons/{decision.comparison_id}/"):
        assert client.get(address).status_code == 200
        assert "NOT VERIFIED" in client.get(address).content.decode(), address
