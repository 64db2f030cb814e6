"""Overriding a result, taking a decision back, and what follows from it."""

import uuid

import pytest
from django.db import IntegrityError, transaction

from evaluations.models import Case, Comparison, ExpectationResult, PairedCase
from reviews import audit, services
from reviews.errors import (
    FormTokenError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    NotInForceError,
    NotReviewableError,
    ReviewConflict,
)
from reviews.models import AuditEntry, QueueEntry, Review
from tests.models import factories
from tests.reviews.conftest import NOTE, paired, result_of

pytestmark = pytest.mark.django_db


def decide(result: ExpectationResult, decision: str, actor, seen: int = 0, **more) -> Review:
    values = {"note": NOTE, "seen_review_id": seen, **more}
    return services.override_result(result_id=result.pk, decision=decision, actor=actor, **values)


def stored() -> tuple:
    """Everything a refused decision must leave as it was."""
    return (
        list(ExpectationResult.objects.order_by("id").values_list("id", "status", "effective_status")),
        list(Case.objects.order_by("id").values_list("id", "verdict", "effective_verdict")),
        list(PairedCase.objects.order_by("id").values_list("id", "classification", "reason")),
        list(Comparison.objects.order_by("id").values_list("id", "state", "reason")),
        Review.objects.count(),
        QueueEntry.objects.count(),
        AuditEntry.objects.count(),
    )


def test_override_moves_the_effective_status_and_keeps_the_measured_one(timeout_case, ann):
    result = result_of(timeout_case, "no-double-refund")
    decide(result, "PASS", ann)
    result.refresh_from_db()
    assert (result.status, result.effective_status) == ("FAIL", "PASS")


def test_case_and_class_follow_when_the_last_failure_is_overridden(ann):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    assert pair.classification == "NEW_CRITICAL_FAILURE"
    decide(result_of(pair, "a"), "PASS", ann)
    pair.refresh_from_db()
    case = result_of(pair, "a").case
    assert (pair.classification, pair.class_rank, pair.newly_failing) == ("UNCHANGED", 4, [])
    assert (case.verdict, case.effective_verdict) == ("FAILED", "PASSED")


def test_overriding_one_of_several_critical_failures_does_not_lift_the_case(timeout_case, ann):
    decide(result_of(timeout_case, "refunded-exactly-once"), "PASS", ann)
    timeout_case.refresh_from_db()
    assert timeout_case.classification == "NEW_CRITICAL_FAILURE"
    assert "refunded-exactly-once" not in timeout_case.newly_failing
    assert result_of(timeout_case, "refunded-amount").case.effective_verdict == "FAILED"


def test_a_judges_failure_turned_to_pass_leaves_the_deterministic_ones_to_decide(ann):
    names = {"reply-is-honest": "FAIL", "refunded-once": "FAIL"}
    pair = paired(dict.fromkeys(names, "PASS"), names, types={"reply-is-honest": "semantic"})
    decide(result_of(pair, "reply-is-honest"), "PASS", ann)
    pair.refresh_from_db()
    assert pair.classification == "NEW_CRITICAL_FAILURE"
    assert pair.newly_failing == ["refunded-once"]


def test_a_person_can_fail_what_was_measured_as_a_pass(ann):
    pair = paired({"a": "PASS"}, {"a": "PASS"})
    decide(result_of(pair, "a"), "FAIL", ann)
    pair.refresh_from_db()
    assert pair.classification == "NEW_CRITICAL_FAILURE"


def test_deciding_on_the_baseline_changes_what_is_new(ann):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    decide(result_of(pair, "a", "BASELINE"), "FAIL", ann)
    pair.refresh_from_db()
    assert pair.classification == "UNCHANGED"


def test_first_divergence_survives_a_decision(timeout_case, ann):
    where = {"step": 2, "kind": "tool"}
    PairedCase.objects.filter(pk=timeout_case.pk).update(first_divergence=where)
    decide(result_of(timeout_case, "refunded-amount"), "PASS", ann)
    timeout_case.refresh_from_db()
    assert timeout_case.first_divergence == where


def test_a_comparison_is_complete_once_its_last_incomplete_pair_is_decided(ann):
    comparison = factories.comparison(state="INCOMPLETE", reason="1 of 1 cases could not be compared: a (x)")
    pair = paired({"a": "PASS"}, {"a": "ERROR"}, comparison=comparison)
    assert pair.classification == "INCOMPLETE"
    review = decide(result_of(pair, "a"), "PASS", ann)
    comparison.refresh_from_db()
    assert (comparison.state, comparison.reason) == ("COMPLETED", "")
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=ann)
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"
    assert comparison.reason


def test_a_decided_pair_does_not_complete_a_comparison_with_another_incomplete_one(ann):
    comparison = factories.comparison(state="INCOMPLETE", reason="two")
    pair = paired({"a": "PASS"}, {"a": "ERROR"}, comparison=comparison)
    paired({"a": "PASS"}, {"a": "ERROR"}, comparison=comparison)
    decide(result_of(pair, "a"), "PASS", ann)
    comparison.refresh_from_db()
    assert comparison.state == "INCOMPLETE"


def test_the_record_says_who_what_before_after_why_and_on_what_evidence(timeout_case, ann):
    result = result_of(timeout_case, "no-double-refund")
    review = decide(result, "PASS", ann, via="session")
    entry = AuditEntry.objects.get(action="result_overridden")
    assert (entry.actor, entry.actor_name, entry.via, entry.note) == (ann, "ann", "session", NOTE)
    assert (entry.subject_type, entry.subject_id) == ("result", str(result.pk))
    assert (entry.before["status"], entry.before["review"]) == ("FAIL", None)
    assert (entry.after["status"], entry.after["review"]) == ("PASS", review.pk)
    assert entry.after["classification"] == "NEW_CRITICAL_FAILURE"
    assert entry.after["measured"] == {"status": "FAIL", "label": None, "reason": "expected 1, got 2"}
    assert entry.after["side"] == "CANDIDATE"
    assert len(entry.after["scenario_digest"]) == len(entry.after["twin_digest"]) == 64
    assert audit.verify().is_intact


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("note", ["", "too short", " " * 30, "\n\n too shrt \n", None])
def test_override_without_a_note_is_refused(timeout_case, ann, note):
    before = stored()
    with pytest.raises(InvalidInputError) as refusal:
        decide(result_of(timeout_case, "no-double-refund"), "PASS", ann, note=note)
    assert (refusal.value.field, refusal.value.code) == ("note", "invalid_input")
    assert stored() == before


def test_the_database_refuses_a_review_without_a_note(timeout_case, ann):
    with pytest.raises(IntegrityError, match="review_has_a_note"), transaction.atomic():
        Review.objects.create(
            result=result_of(timeout_case, "no-double-refund"),
            number=1,
            reviewer=ann,
            decision="PASS",
            note="    short      ",
            status_before="FAIL",
            status_after="PASS",
            form_token=uuid.uuid4(),
        )


@pytest.mark.parametrize("decision", ["", "ERROR", "WITHDRAWN", "pass", None])
def test_only_pass_and_fail_are_decisions(timeout_case, ann, decision):
    before = stored()
    with pytest.raises(InvalidInputError):
        decide(result_of(timeout_case, "no-double-refund"), decision, ann)
    assert stored() == before


def test_a_finding_about_the_run_is_a_fact_nobody_overrides(ann):
    pair = paired({"a": "PASS"}, {"a": "PASS", "agentRun": "FAIL"})
    before = stored()
    with pytest.raises(NotReviewableError, match="fact about the run"):
        decide(result_of(pair, "agentRun"), "PASS", ann)
    assert stored() == before


@pytest.mark.parametrize("state", ["QUEUED", "RUNNING"])
def test_a_comparison_still_running_cannot_be_reviewed(ann, state):
    pair = paired({"a": "PASS"}, {"a": "FAIL"}, comparison=factories.comparison(state=state))
    before = stored()
    with pytest.raises(NotReviewableError, match="still running"):
        decide(result_of(pair, "a"), "PASS", ann)
    assert stored() == before


def test_a_side_that_never_ran_cannot_be_passed_by_hand(ann):
    pair = paired({"a": "PASS"}, {"a": "SKIPPED"}, candidate_case={"error_reason": "the twin broke"})
    before = stored()
    with pytest.raises(NotReviewableError, match="did not run to its end"):
        decide(result_of(pair, "a"), "PASS", ann)
    assert stored() == before


def test_a_viewer_and_nobody_and_a_deactivated_reviewer_are_refused(timeout_case, ann, eve):
    result = result_of(timeout_case, "no-double-refund")
    ann.is_active = False
    ann.save()
    before = stored()
    for actor in (eve, None, type(ann).objects.get(pk=ann.pk)):
        with pytest.raises(NotAllowedError):
            decide(result, "PASS", actor)
    assert stored() == before


def test_an_unknown_result_is_said(ann):
    with pytest.raises(NotFoundError):
        services.override_result(result_id=999, decision="PASS", note=NOTE, seen_review_id=0, actor=ann)


# --------------------------------------------------------------------------------- double submits, conflicts


def test_the_same_form_sent_twice_is_one_review(timeout_case, ann):
    result, token = result_of(timeout_case, "no-double-refund"), str(uuid.uuid4())
    first = decide(result, "PASS", ann, form_token=token)
    before = stored()
    assert decide(result, "PASS", ann, form_token=token) == first
    assert stored() == before


def test_a_form_token_serves_one_decision(timeout_case, ann, bob):
    result, token = result_of(timeout_case, "no-double-refund"), str(uuid.uuid4())
    decide(result, "PASS", ann, form_token=token)
    other = result_of(timeout_case, "refunded-amount")
    before = stored()
    for attempt in ((other, "PASS", ann), (result, "FAIL", ann), (result, "PASS", bob)):
        with pytest.raises(FormTokenError):
            decide(*attempt, form_token=token)
    with pytest.raises(FormTokenError):
        decide(result, "PASS", ann, form_token=token, note="Another reason came to mind.")
    assert stored() == before


def test_the_second_reviewer_is_told_what_changed_and_decides_again(timeout_case, ann, bob):
    result = result_of(timeout_case, "no-double-refund")
    first = decide(result, "PASS", ann)
    before = stored()
    with pytest.raises(ReviewConflict) as conflict:
        decide(result, "FAIL", bob, seen=0)
    assert conflict.value.newer == (first,)
    assert conflict.value.latest_id == first.pk
    assert "ann decided PASS" in conflict.value.detail
    assert stored() == before
    second = decide(result, "FAIL", bob, seen=conflict.value.latest_id)
    assert (second.replaces, second.number) == (first, 2)
    result.refresh_from_db()
    assert result.effective_status == "FAIL"


@pytest.mark.parametrize("seen", [-1, "1", None, True, 1.0])
def test_what_was_seen_must_be_an_id(timeout_case, ann, seen):
    with pytest.raises(InvalidInputError):
        decide(result_of(timeout_case, "no-double-refund"), "PASS", ann, seen=seen)


def test_reviews_are_only_added(timeout_case, ann):
    review = decide(result_of(timeout_case, "no-double-refund"), "PASS", ann)
    review.note = "Something else entirely."
    with pytest.raises(IntegrityError, match="written once"), transaction.atomic():
        review.save()
    with pytest.raises(IntegrityError, match="written once"), transaction.atomic():
        Review.objects.filter(pk=review.pk).delete()


def test_two_reviews_of_one_millisecond_are_in_the_order_of_their_ids(timeout_case, ann, monkeypatch):
    from django.utils import timezone

    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    result = result_of(timeout_case, "no-double-refund")
    first = decide(result, "PASS", ann)
    second = decide(result, "FAIL", ann, seen=first.pk)
    assert first.created_at == second.created_at
    assert [review.pk for review in result.reviews.all()] == [first.pk, second.pk]
    result.refresh_from_db()
    assert result.effective_status == "FAIL"


# ------------------------------------------------------------------------------------------- withdrawing


def test_withdrawing_brings_the_review_before_it_back_and_then_the_measured_status(timeout_case, ann, bob):
    result = result_of(timeout_case, "no-double-refund")
    first = decide(result, "PASS", ann)
    second = decide(result, "FAIL", bob, seen=first.pk)
    third = services.withdraw_review(review_id=second.pk, note=NOTE, seen_review_id=second.pk, actor=bob)
    result.refresh_from_db()
    assert result.effective_status == "PASS"
    assert (third.decision, third.withdraws, third.replaces) == ("WITHDRAWN", second, second)
    fourth = services.withdraw_review(review_id=first.pk, note=NOTE, seen_review_id=third.pk, actor=bob)
    result.refresh_from_db()
    assert (result.effective_status, fourth.status_before) == ("FAIL", "PASS")
    assert AuditEntry.objects.filter(action="review_withdrawn").count() == 2


def test_only_the_review_that_counts_can_be_withdrawn(timeout_case, ann):
    result = result_of(timeout_case, "no-double-refund")
    first = decide(result, "PASS", ann)
    second = decide(result, "FAIL", ann, seen=first.pk)
    before = stored()
    with pytest.raises(NotInForceError):
        services.withdraw_review(review_id=first.pk, note=NOTE, seen_review_id=second.pk, actor=ann)
    assert stored() == before
    gone = services.withdraw_review(review_id=second.pk, note=NOTE, seen_review_id=second.pk, actor=ann)
    for review in (second, gone):
        with pytest.raises(NotInForceError):
            services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=gone.pk, actor=ann)


def test_a_withdrawal_needs_a_note_and_what_was_seen(timeout_case, ann, bob):
    result = result_of(timeout_case, "no-double-refund")
    first = decide(result, "PASS", ann)
    before = stored()
    with pytest.raises(InvalidInputError):
        services.withdraw_review(review_id=first.pk, note="no", seen_review_id=first.pk, actor=ann)
    with pytest.raises(ReviewConflict):
        services.withdraw_review(review_id=first.pk, note=NOTE, seen_review_id=0, actor=ann)
    assert stored() == before


def test_a_withdrawal_sent_twice_is_one(timeout_case, ann):
    first = decide(result_of(timeout_case, "no-double-refund"), "PASS", ann)
    values = {
        "review_id": first.pk,
        "note": NOTE,
        "seen_review_id": first.pk,
        "actor": ann,
        "form_token": str(uuid.uuid4()),
    }
    assert services.withdraw_review(**values) == services.withdraw_review(**values)


# ----------------------------------------------------------------------------------- saying it beforehand


def test_the_effect_is_said_before_anything_is_sent(timeout_case):
    before = stored()
    text = services.explain_effect(result_of(timeout_case, "success-backed-by-state"), "PASS")
    assert "stays a new critical failure: 3 other critical checks fail" in text
    assert "The verdict on the candidate stays FAILED." in text
    assert stored() == before


@pytest.mark.parametrize(
    ("baseline", "candidate", "side", "decision", "says"),
    [
        ("PASS", "FAIL", "CANDIDATE", "PASS", "becomes unchanged (it was a new critical failure)"),
        ("PASS", "FAIL", "CANDIDATE", "FAIL", "stays a new critical failure: this critical check fails"),
        (
            "PASS",
            "PASS",
            "CANDIDATE",
            "FAIL",
            "becomes a new critical failure (it was unchanged): this critical",
        ),
        ("PASS", "FAIL", "BASELINE", "FAIL", "becomes unchanged (it was a new critical failure)"),
        (
            "FAIL",
            "FAIL",
            "BASELINE",
            "PASS",
            "becomes a new critical failure (it was unchanged): 1 critical check fails",
        ),
        ("PASS", "ERROR", "CANDIDATE", "PASS", "becomes unchanged (it was incomplete)"),
        ("FAIL", "ERROR", "CANDIDATE", "PASS", "becomes an improvement (it was incomplete)"),
    ],
)
def test_what_is_said_is_what_happens(ann, baseline, candidate, side, decision, says):
    pair = paired({"a": baseline}, {"a": candidate})
    result = result_of(pair, "a", side)
    assert says in services.explain_effect(result, decision)
    decide(result, decision, ann)
    pair.refresh_from_db()
    words = {
        "NEW_CRITICAL_FAILURE": "a new critical failure",
        "UNCHANGED": "unchanged",
        "IMPROVED": "an improvement",
    }
    assert words[pair.classification] in says.split("(")[0]


def test_the_effect_of_a_withdrawal_is_said_too(ann):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    review = decide(result_of(pair, "a"), "PASS", ann)
    review = Review.objects.get(pk=review.pk)
    assert "becomes a new critical failure (it was unchanged)" in services.explain_withdrawal(review)


def test_refusals_name_every_result_that_is_closed_and_query_nothing(ann, django_assert_num_queries):
    pair = paired({"a": "PASS"}, {"a": "PASS", "agentRun": "FAIL"})
    case = result_of(pair, "a").case
    case.pair = pair
    results, comparison = list(case.results.all()), pair.comparison
    with django_assert_num_queries(0):
        closed = services.refusals(case, results, comparison)
    assert list(closed) == [result_of(pair, "agentRun").pk]


# -------------------------------------------------------------------------------------------------- bulk


def test_bulk_decisions_leave_the_same_record_each_and_one_refusal_stops_no_other(ann):
    pair = paired({"a": "PASS", "b": "PASS"}, {"a": "FAIL", "b": "FAIL", "agentRun": "FAIL"})
    rows = [result_of(pair, name) for name in ("a", "agentRun", "b")]
    outcome = services.override_results(
        results=[(row.pk, 0) for row in rows], decision="PASS", note=NOTE, actor=ann, batch_token=uuid.uuid4()
    )
    assert [review.result_id for review in outcome.done] == [rows[0].pk, rows[2].pk]
    assert [(pk, error.code) for pk, error in outcome.refused] == [(rows[1].pk, "not_reviewable")]
    assert AuditEntry.objects.filter(action="result_overridden").count() == 2


def test_the_same_batch_again_decides_nothing_twice(ann):
    pair = paired({"a": "PASS"}, {"a": "FAIL"})
    values = {
        "results": [(result_of(pair, "a").pk, 0)],
        "decision": "PASS",
        "note": NOTE,
        "batch_token": uuid.uuid4(),
    }
    assert services.override_results(**values, actor=ann) == services.override_results(**values, actor=ann)
    assert Review.objects.count() == 1


# ------------------------------------------------------------------------------------------------- lists


def test_a_list_of_a_hundred_reviews_takes_one_query(ann, bob, django_assert_num_queries):
    comparison = factories.comparison(state="COMPLETED")
    for _ in range(25):
        pair = paired({"a": "PASS"}, {"a": "FAIL"}, comparison=comparison)
        seen = 0
        for decision, actor in (("PASS", ann), ("FAIL", bob), ("PASS", ann), ("FAIL", ann)):
            seen = decide(result_of(pair, "a"), decision, actor, seen).pk
    with django_assert_num_queries(1):
        reviews = list(Review.objects.for_list())
        for review in reviews:
            assert review.reviewer.username in ("ann", "bob")
            assert review.result.case.run.side == "CANDIDATE"
            assert review.result.case.pair.comparison.agent.name == "helper"
            assert not hasattr(review, "withdrawn_by")
    assert [review.pk for review in reviews] == sorted((review.pk for review in reviews), reverse=True)
    assert Review.objects.by(bob.pk).for_list().older_than(reviews[10].pk).count() == 22
    with django_assert_num_queries(1):
        history = list(Review.objects.on_pair(pair.pk))
        assert [(review.decision, review.reviewer.username) for review in history][-1] == ("FAIL", "ann")
        assert len(history) == 4


def test_the_forms_of_a_page_learn_what_was_seen_in_one_query(timeout_case, ann, django_assert_num_queries):
    decided, other = result_of(timeout_case, "refunded-amount"), result_of(timeout_case, "no-double-refund")
    review = decide(decided, "PASS", ann)
    with django_assert_num_queries(1):
        assert services.latest_review_ids([decided.pk, other.pk]) == {decided.pk: review.pk, other.pk: 0}
