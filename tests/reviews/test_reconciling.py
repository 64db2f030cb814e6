"""Changing what the log is about, behind the application's back, shows as well."""

import uuid

import pytest

from reviews import services
from reviews.evidence import evidence_digest
from reviews.models import Review
from reviews.reconciling import decision_problems
from tests.models import factories
from tests.reviews.conftest import NOTE, result_of
from tests.reviews.tampering import tamper

pytestmark = pytest.mark.django_db


@pytest.fixture
def review(timeout_case, ann):
    factories.tool_call(result_of(timeout_case, "refunded-amount").case, 1)
    result = result_of(timeout_case, "no-double-refund")
    return services.override_result(
        result_id=result.pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann
    )


def test_decisions_as_they_were_taken_are_no_problem(review, ann, bob):
    assert decision_problems() == []
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=bob)
    assert decision_problems() == []


@pytest.mark.parametrize(
    "change", ["note = 'Somebody else wrote this.'", "decision = 'FAIL'", "status_after = 'FAIL'"]
)
def test_a_changed_review_is_found(review, change):
    tamper(f"UPDATE reviews_review SET {change}")
    assert any(f"review {review.pk} no longer says what was recorded" in text for text in decision_problems())


def test_a_review_in_somebody_elses_name_is_found(review, bob):
    tamper("UPDATE reviews_review SET reviewer_id = %s", bob.pk)
    assert "no longer says what was recorded" in decision_problems()[0]


def test_a_removed_review_is_found(review):
    tamper("DELETE FROM reviews_review")
    first, second = decision_problems()
    assert "the review it records is gone" in first
    assert "counts as PASS, which nobody decided" in second


def test_a_review_that_nobody_recorded_is_found(review, timeout_case):
    Review.objects.create(
        result=result_of(timeout_case, "refunded-amount"),
        number=1,
        reviewer=review.reviewer,
        decision="FAIL",
        note=NOTE,
        status_before="FAIL",
        status_after="FAIL",
        form_token=uuid.uuid4(),
    )
    assert decision_problems() == ["1 of 2 reviews have no entry in the log"]


def test_an_effective_status_that_nobody_decided_is_found(review, timeout_case):
    result = result_of(timeout_case, "refunded-amount")
    type(result).objects.filter(pk=result.pk).update(effective_status="PASS")
    # What follows from it was left as it was, which is found as well.
    found, *following = decision_problems()
    assert found == f"result {result.pk} (refunded-amount) counts as PASS, which nobody decided"
    assert len(following) == 1


@pytest.mark.parametrize(
    "change",
    [
        "evaluations_toolcall SET mutated = %s",
        "evaluations_toolcall SET response = '{}'",
        "evaluations_expectationresult SET reason = 'x'",
        "evaluations_case SET answer = '{}'",
        "evaluations_case SET final_state_digest = 'x'",
    ],
)
def test_evidence_changed_after_the_decision_is_found(review, change):
    values = [False] if "%s" in change else []
    tamper(f"UPDATE {change}", *values)
    assert "was decided on was changed afterwards" in decision_problems()[0]


def test_the_hash_of_evidence_does_not_see_what_reviews_move(review, timeout_case):
    before = evidence_digest(timeout_case.pk)
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=review.reviewer)
    assert evidence_digest(timeout_case.pk) == before


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            "evaluations_pairedcase SET classification = 'UNCHANGED', class_rank = 4",
            "counts as UNCHANGED; its results make it NEW_CRITICAL_FAILURE",
        ),
        ("evaluations_pairedcase SET class_rank = 4", "its results make it NEW_CRITICAL_FAILURE"),
        ("evaluations_pairedcase SET newly_failing = '[]'", "names other newly failing checks"),
        (
            "evaluations_case SET effective_verdict = 'PASSED' WHERE effective_verdict = 'FAILED'",
            "counts as PASSED; its results make it FAILED",
        ),
    ],
)
def test_totals_that_no_result_bears_out_are_found(review, change, problem):
    assert decision_problems() == []
    tamper(f"UPDATE {change}")
    (found,) = decision_problems()
    assert problem in found
