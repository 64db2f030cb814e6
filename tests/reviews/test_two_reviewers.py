"""Two reviewers on one result, each without seeing the other: nothing changes until both have decided."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from evaluations.models import PairedCase
from reviews import audit, services
from reviews.errors import (
    AlreadyDecidedError,
    EntryNotForYouError,
    EntryUndecidedError,
    FormTokenError,
    InvalidInputError,
    ReviewConflict,
)
from reviews.models import AuditEntry, BlindDecision, DoubleReview, QueueEntry, Review, ReviewPolicy
from reviews.reconciling import decision_problems
from reviews.services.filling import fill_queue
from reviews.two_reviewers import ASKED_FOR
from tests.reviews.conftest import NOTE, paired, person, result_of
from tests.triggers import triggers_lifted

SECRET_NOTE = "Only I know this: the second one was asked for."


@pytest.fixture
def carol(db: Any) -> User:
    return person("carol")


@pytest.fixture
def policy(db: Any) -> None:
    """Two reviewers for everything that a policy can ask two for."""
    ReviewPolicy.objects.create(
        number=1,
        two_reviewers=list(ASKED_FOR),
        sample_percent=5,
        confidence_below="0.6",
        note=NOTE,
        created_by=person("adam", "admin"),
    )


@pytest.fixture
def case(policy: None) -> PairedCase:
    """`once` newly fails and is critical, `polite` newly fails and is not."""
    pair = paired(
        {"once": "PASS", "polite": "PASS"}, {"once": "FAIL", "polite": "FAIL"}, noncritical=("polite",)
    )
    fill_queue(pair.comparison)
    return pair


def decide(pair: PairedCase, actor: User, decision: str = "PASS", **changes: Any) -> Any:
    name, side = changes.pop("name", "once"), changes.pop("side", "CANDIDATE")
    values: dict[str, Any] = {"note": f"{actor.username}: {NOTE}", "seen_review_id": 0, **changes}
    return services.override_result(
        result_id=result_of(pair, name, side).pk, decision=decision, actor=actor, **values
    )


def standing_of(pair: PairedCase) -> tuple[str, str]:
    pair.refresh_from_db()
    return result_of(pair, "once").effective_status, str(pair.classification)


def open_reasons(pair: PairedCase) -> list[str]:
    return sorted(QueueEntry.objects.open().filter(pair=pair).values_list("reason", flat=True))


def told(actor: User | None = None) -> str:
    """Everything the audit log holds, as anybody reads it."""
    return json.dumps(
        list(AuditEntry.objects.values("before", "after", "note", "subject_label")), default=str
    )


# ------------------------------------------------------------------------------- what is asked for


def test_off_by_default_one_person_decides(db: Any, ann: User) -> None:
    pair = paired({"once": "PASS"}, {"once": "FAIL"})
    fill_queue(pair.comparison)
    assert open_reasons(pair) == []
    made = decide(pair, ann)
    assert isinstance(made, Review)
    assert standing_of(pair) == ("PASS", "UNCHANGED")
    assert not DoubleReview.objects.exists()


def test_the_queue_asks_for_two_where_the_policy_does(case: PairedCase) -> None:
    (entry,) = QueueEntry.objects.open().filter(pair=case)
    assert (entry.reason, entry.side) == ("SECOND_REVIEW", "CANDIDATE")
    assert entry.detail.startswith("candidate once: ")
    assert [subject.result_id for subject in entry.subjects.all()] == [result_of(case, "once").pk]


def test_what_is_not_critical_takes_one(case: PairedCase, ann: User) -> None:
    assert isinstance(decide(case, ann, name="polite"), Review)


def test_the_baseline_of_a_new_critical_failure_takes_two_as_well(case: PairedCase, ann: User) -> None:
    made = decide(case, ann, "FAIL", side="BASELINE")
    assert isinstance(made, BlindDecision)
    assert standing_of(case) == ("FAIL", "NEW_CRITICAL_FAILURE")


def test_what_could_not_be_evaluated_takes_two(policy: None, ann: User, bob: User) -> None:
    pair = paired({"once": "PASS"}, {"once": "ERROR"})
    fill_queue(pair.comparison)
    assert open_reasons(pair) == ["ERROR", "SECOND_REVIEW"]
    decide(pair, ann)
    assert open_reasons(pair) == ["SECOND_REVIEW"], "it is asked for once, as what it is now"
    decide(pair, bob)
    assert standing_of(pair) == ("PASS", "UNCHANGED")
    assert open_reasons(pair) == []


# ------------------------------------------------------------------------------------- agreement


def test_the_first_decision_changes_nothing_and_says_nothing(case: PairedCase, ann: User) -> None:
    made = decide(case, ann, "PASS", note=SECRET_NOTE)

    assert isinstance(made, BlindDecision)
    assert standing_of(case) == ("FAIL", "NEW_CRITICAL_FAILURE")
    assert not Review.objects.exists()
    round_ = DoubleReview.objects.get()
    assert (round_.state, round_.asked_for, round_.policy.number) == ("OPEN", "NEW_CRITICAL_FAILURE", 1)
    entry = AuditEntry.objects.get(action="blind_decision_recorded")
    assert (entry.actor, entry.note) == (ann, "")
    assert SECRET_NOTE not in told()
    assert '"PASS"' not in json.dumps(entry.after)
    assert SECRET_NOTE not in str(made)
    assert "PASS" not in str(made)


def test_two_who_agree_make_one_review_that_counts(case: PairedCase, ann: User, bob: User) -> None:
    decide(case, ann)
    made = decide(case, bob)

    assert isinstance(made, Review)
    assert (made.reviewer, made.decision, made.status_before, made.status_after) == (
        bob,
        "PASS",
        "FAIL",
        "PASS",
    )
    assert standing_of(case)[0] == "PASS"
    assert case.classification == "REGRESSED", "polite still newly fails"
    round_ = DoubleReview.objects.get()
    assert (round_.state, round_.review) == ("AGREED", made)
    assert open_reasons(case) == []
    opened = AuditEntry.objects.get(action="double_review_settled").after["decisions"]
    assert [(one["reviewer"], one["decision"]) for one in opened] == [("ann", "PASS"), ("bob", "PASS")]
    assert audit.verify().is_intact
    assert decision_problems() == []


def test_two_who_agree_that_it_stands_leave_it_confirmed(case: PairedCase, ann: User, bob: User) -> None:
    decide(case, ann, "FAIL")
    made = decide(case, bob, "FAIL")
    assert (made.status_before, made.status_after) == ("FAIL", "FAIL")
    assert standing_of(case) == ("FAIL", "NEW_CRITICAL_FAILURE")
    assert open_reasons(case) == []


def test_the_same_person_cannot_be_both(case: PairedCase, ann: User) -> None:
    decide(case, ann)
    records = AuditEntry.objects.count()
    with pytest.raises(AlreadyDecidedError):
        decide(case, ann)
    with pytest.raises(AlreadyDecidedError):
        decide(case, ann, "FAIL", note="I think otherwise today.")
    assert BlindDecision.objects.count() == 1
    assert AuditEntry.objects.count() == records
    assert standing_of(case)[0] == "FAIL"


def test_a_double_submit_is_one_decision_whichever_it_is(case: PairedCase, ann: User, bob: User) -> None:
    first, second = uuid.uuid4(), uuid.uuid4()
    assert decide(case, ann, form_token=first) == decide(case, ann, form_token=first)
    assert decide(case, bob, form_token=second) == decide(case, bob, form_token=second)
    # The first one's form, sent once more when it is all over.
    assert isinstance(decide(case, ann, form_token=first), BlindDecision)
    assert (BlindDecision.objects.count(), Review.objects.count()) == (2, 1)
    with pytest.raises(FormTokenError):
        decide(case, ann, "FAIL", form_token=first)


def test_a_decision_against_an_older_review_is_a_conflict_as_ever(
    case: PairedCase, ann: User, bob: User
) -> None:
    decide(case, ann)
    review = decide(case, bob)
    with pytest.raises(ReviewConflict):
        decide(case, ann, "FAIL")
    assert isinstance(decide(case, ann, "FAIL", seen_review_id=review.pk), BlindDecision)
    assert standing_of(case)[0] == "PASS", "a second round changes nothing before it is over, either"
    assert open_reasons(case) == ["SECOND_REVIEW"]


# ----------------------------------------------------------------------------------------- split


def test_a_split_goes_to_a_third_whose_decision_counts(
    case: PairedCase, ann: User, bob: User, carol: User
) -> None:
    decide(case, ann, "PASS")
    second = decide(case, bob, "FAIL")

    assert isinstance(second, BlindDecision)
    assert standing_of(case)[0] == "FAIL"
    assert open_reasons(case) == ["SPLIT"]
    split = AuditEntry.objects.get(action="double_review_split").after["decisions"]
    assert [one["decision"] for one in split] == ["PASS", "FAIL"], "both have decided: now it is said"
    for actor in (ann, bob):
        with pytest.raises(AlreadyDecidedError):
            decide(case, actor, "PASS", note="I have thought about it again.")

    made = decide(case, carol, "PASS")

    assert (made.reviewer, made.decision) == (carol, "PASS")
    assert standing_of(case)[0] == "PASS"
    assert DoubleReview.objects.get().state == "DECIDED"
    assert open_reasons(case) == []
    assert decision_problems() == []


# ---------------------------------------------------------------------------------- taking it back


def test_taking_back_what_two_decided_takes_two(case: PairedCase, ann: User, bob: User, carol: User) -> None:
    decide(case, ann)
    review = decide(case, bob)
    taking = {"review_id": review.pk, "note": NOTE, "seen_review_id": review.pk}

    first = services.withdraw_review(actor=carol, **taking)
    assert isinstance(first, BlindDecision)
    assert standing_of(case)[0] == "PASS"
    second = services.withdraw_review(actor=ann, **taking)

    assert isinstance(second, Review)
    assert (second.decision, second.withdraws) == ("WITHDRAWN", review)
    assert standing_of(case) == ("FAIL", "NEW_CRITICAL_FAILURE")
    assert decision_problems() == []


def test_a_round_goes_on_when_the_policy_is_switched_off(case: PairedCase, ann: User, bob: User) -> None:
    decide(case, ann)
    services.set_policy(
        two_reviewers=[], sample_percent=5, confidence_below="0.6", note=NOTE, seen_number=1,
        actor=User.objects.get(username="adam"),
    )  # fmt: skip
    assert isinstance(decide(case, bob, "FAIL"), BlindDecision), (
        "it was asked for, and is finished as it began"
    )
    assert open_reasons(case) == ["SPLIT"]


# ----------------------------------------------------------------------------------------- queue


def test_the_queue_gives_nobody_what_they_have_decided(
    case: PairedCase, ann: User, bob: User, carol: User
) -> None:
    entry = services.reserve_next(actor=ann)
    assert entry is not None
    decide(case, ann)
    entry.refresh_from_db()
    assert entry.reserved_by is None, "it is free for the other reviewer at once"
    assert services.reserve_next(actor=ann) is None
    with pytest.raises(EntryNotForYouError):
        services.reserve(entry_id=entry.pk, actor=ann)
    with pytest.raises(InvalidInputError):
        services.assign(entry_id=entry.pk, assignee_id=ann.pk, actor=bob)
    overview = services.queue_overview(actor=ann)
    assert (overview.open, overview.free, overview.for_other_reviewers) == (1, 0, 1)
    assert not overview.is_all_done

    assert services.reserve_next(actor=bob) == entry
    decide(case, bob, "FAIL")
    assert services.reserve_next(actor=bob) is None
    third = services.reserve_next(actor=carol)
    assert third is not None
    assert third.reason == "SPLIT"


def test_who_has_decided_one_check_of_a_case_still_gets_the_other(policy: None, ann: User, bob: User) -> None:
    pair = paired({"once": "PASS", "cheap": "PASS"}, {"once": "FAIL", "cheap": "FAIL"})
    fill_queue(pair.comparison)
    decide(pair, ann)
    assert services.reserve_next(actor=ann) is not None
    decide(pair, ann, name="cheap")
    assert services.reserve_next(actor=ann) is None
    decide(pair, bob)
    assert open_reasons(pair) == ["SECOND_REVIEW"]
    decide(pair, bob, name="cheap")
    assert open_reasons(pair) == []


def test_an_assignment_ends_with_the_decision(case: PairedCase, ann: User, bob: User) -> None:
    entry = QueueEntry.objects.get()
    services.assign(entry_id=entry.pk, assignee_id=ann.pk, actor=bob)
    decide(case, ann)
    entry.refresh_from_db()
    assert entry.assigned_to is None
    assert services.reserve_next(actor=bob) == entry


def test_nobody_closes_by_hand_what_waits_for_a_reviewer(case: PairedCase, ann: User) -> None:
    entry = QueueEntry.objects.get()
    decide(case, ann)
    with pytest.raises(EntryUndecidedError):
        services.close_entry(entry_id=entry.pk, note=NOTE, actor=person("adam2", "admin"))
    entry.refresh_from_db()
    assert entry.is_open


def test_before_anybody_decided_it_can_be_closed_by_hand(case: PairedCase, ann: User) -> None:
    services.close_entry(entry_id=QueueEntry.objects.get().pk, note=NOTE, actor=ann)
    assert open_reasons(case) == []
    decide(case, ann)
    assert open_reasons(case) == ["SECOND_REVIEW"], "a first decision asks for the second by itself"


# ------------------------------------------------------------------------------------- on record


def test_the_seal_in_the_log_fits_what_is_said_later(case: PairedCase, ann: User, bob: User) -> None:
    made = decide(case, ann, note=SECRET_NOTE)
    sealed = AuditEntry.objects.get(action="blind_decision_recorded").after["seal"]
    decide(case, bob)
    opened = AuditEntry.objects.get(action="double_review_settled").after["decisions"][0]
    content = {
        "double_review": made.double_review_id,
        "position": 1,
        "reviewer": ann.pk,
        **{name: opened[name] for name in ("decision", "note", "salt")},
    }
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == sealed == opened["seal"]


def test_a_decision_changed_behind_its_seal_is_found(case: PairedCase, ann: User) -> None:
    decide(case, ann)
    with triggers_lifted(connection), connection.cursor() as cursor:
        cursor.execute("UPDATE reviews_blinddecision SET decision = 'FAIL'")
    (problem,) = decision_problems()
    assert "blind decision" in problem
    assert "FAIL" not in problem


@pytest.mark.parametrize("table", ["reviews_blinddecision", "reviews_doublereview"])
def test_what_was_decided_is_written_once(case: PairedCase, ann: User, bob: User, table: str) -> None:
    decide(case, ann)
    decide(case, bob)
    column = {"reviews_blinddecision": "note", "reviews_doublereview": "state"}[table]
    for statement in (f"UPDATE {table} SET {column} = 'changed'", f"DELETE FROM {table}"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_a_bulk_action_goes_the_same_way(case: PairedCase, ann: User, bob: User) -> None:
    rows = [(result_of(case, name).pk, 0) for name in ("once", "polite")]
    outcome = services.override_results(results=rows, decision="PASS", note=NOTE, actor=ann)
    assert [type(made).__name__ for made in outcome.done] == ["BlindDecision", "Review"]
    again = services.override_results(results=rows[:1], decision="PASS", note=NOTE, actor=ann)
    assert [error.code for _, error in again.refused] == ["already_decided"]
