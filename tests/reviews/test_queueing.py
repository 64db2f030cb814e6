"""The queue: what fills it, who holds what, and when nothing is left."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agenttwin_site.events import comparison_concluded
from evaluations.models import Comparison
from reviews import services
from reviews.errors import (
    EntryClosedError,
    EntryTakenError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
)
from reviews.models import AuditEntry, QueueEntry, QueueReason
from reviews.services.filling import fill_queue
from scenarios.holdouts import EVERYTHING
from tests.models import factories
from tests.reviews.conftest import NOTE, paired, person, result_of

pytestmark = pytest.mark.django_db

HALF_AN_HOUR = timedelta(minutes=30)


def reasons(pair) -> dict[str, str]:
    return dict(QueueEntry.objects.open().filter(pair=pair).values_list("reason", "detail"))


def flagged(actor, severity_rank: int = 1) -> QueueEntry:
    pair = factories.pair(factories.comparison(state="COMPLETED"), severity_rank=severity_rank, class_rank=0)
    return services.flag_case(pair_id=pair.pk, note=NOTE, actor=actor)[0]


# ------------------------------------------------------------------------------------- what fills the queue


def test_a_concluded_comparison_puts_what_needs_a_person_into_the_queue():
    comparison = factories.comparison(state="INCOMPLETE")
    error = paired({"a": "PASS"}, {"a": "ERROR"}, comparison=comparison)
    skipped = paired({"a": "SKIPPED"}, {"a": "PASS"}, comparison=comparison)
    claimed = paired(
        {"a": "PASS"}, {"a": "FAIL"}, comparison=comparison, candidate_case={"contradiction": True}
    )
    unreachable = paired(
        {"a": "PASS"},
        {"a": "SKIPPED", "agentRun": "ERROR"},
        comparison=comparison,
        candidate_case={"error_reason": "The agent could not be reached"},
    )
    fine = paired({"a": "PASS"}, {"a": "FAIL"}, comparison=comparison)
    comparison_concluded.send(sender=Comparison, comparison=comparison)
    assert reasons(error) == {"ERROR": "candidate a: expected 1, got 2"}
    assert list(reasons(skipped)) == ["SKIPPED_CRITICAL"]
    assert reasons(claimed) == {"CONTRADICTION": "candidate claims SUCCESS, but a: expected 1, got 2"}
    assert reasons(unreachable) == {"INCOMPLETE": unreachable.reason}
    assert reasons(fine) == {}
    assert QueueEntry.objects.get(pair=skipped).side == "BASELINE"


def test_a_skipped_check_that_is_not_critical_needs_nobody():
    pair = paired({"a": "PASS", "b": "SKIPPED"}, {"a": "PASS", "b": "SKIPPED"}, noncritical=("b",))
    fill_queue(pair.comparison)
    assert reasons(pair) == {}


def test_filling_twice_adds_nothing():
    pair = paired({"a": "ERROR"}, {"a": "ERROR"}, candidate_case={"contradiction": True})
    fill_queue(pair.comparison)
    fill_queue(pair.comparison)
    assert sorted(reasons(pair)) == ["CONTRADICTION", "ERROR"]
    assert QueueEntry.objects.get(reason="ERROR").side == ""


def test_many_failing_checks_are_named_in_part():
    names = dict.fromkeys("abcde", "ERROR")
    pair = paired(names, names)
    fill_queue(pair.comparison)
    assert reasons(pair)["ERROR"].splitlines()[-1] == "and 7 more"


def test_a_cancelled_comparison_fills_nothing():
    pair = paired({"a": "PASS"}, {"a": "ERROR"}, comparison=factories.comparison(state="CANCELLED"))
    fill_queue(pair.comparison)
    assert reasons(pair) == {}


def test_filling_takes_the_same_queries_for_ten_pairs_as_for_one(django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def queries(number: int) -> int:
        comparison = factories.comparison(state="INCOMPLETE")
        for _ in range(number):
            paired(
                {"a": "PASS"}, {"a": "ERROR"}, comparison=comparison, candidate_case={"contradiction": True}
            )
        with CaptureQueriesContext(
            connection,
        ) as captured:
            fill_queue(comparison)
        return len(captured)

    assert queries(10) == queries(1)


# ------------------------------------------------------------------------------------------------- flags


def test_flagging_the_same_case_twice_is_one_entry_with_both_reasons(timeout_case, ann, bob):
    first, is_new = services.flag_case(pair_id=timeout_case.pk, note="Paid twice, it seems.", actor=ann)
    assert is_new
    second, is_new = services.flag_case(pair_id=timeout_case.pk, note="The policy read is gone.", actor=bob)
    assert (second.pk, is_new) == (first.pk, False)
    assert second.detail == "ann: Paid twice, it seems.\n\nbob: The policy read is gone."
    assert AuditEntry.objects.filter(action="case_flagged").count() == 2


def test_a_flag_sent_twice_is_one_entry_and_one_record(timeout_case, ann):
    for _ in range(2):
        services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    assert (QueueEntry.objects.count(), AuditEntry.objects.filter(action="case_flagged").count()) == (1, 1)


def test_a_case_flagged_again_after_it_was_closed_is_a_new_entry(timeout_case, ann):
    first, _ = services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    services.close_entry(entry_id=first.pk, note=NOTE, actor=ann)
    second, is_new = services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=ann)
    assert is_new
    assert second.pk != first.pk


def test_flags_are_refused_without_note_right_or_case(timeout_case, ann, eve):
    records = AuditEntry.objects.count()
    with pytest.raises(InvalidInputError):
        services.flag_case(pair_id=timeout_case.pk, note="hm", actor=ann)
    with pytest.raises(NotAllowedError):
        services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=eve)
    with pytest.raises(NotFoundError):
        services.flag_case(pair_id=10**9, note=NOTE, actor=ann)
    assert (QueueEntry.objects.count(), AuditEntry.objects.count()) == (0, records)


# ------------------------------------------------------------------------------------------ reservations


def test_the_worst_entry_is_taken_first_and_held_for_half_an_hour(ann):
    flagged(ann, severity_rank=2)
    worst = flagged(ann, severity_rank=0)
    now = timezone.now()
    taken = services.reserve_next(actor=ann, now=now)
    assert taken == worst
    assert (taken.reserved_by, taken.reserved_until) == (ann, now + HALF_AN_HOUR)


def test_asking_again_answers_the_same_entry_with_fresh_time(ann):
    flagged(ann)
    flagged(ann)
    now = timezone.now()
    first = services.reserve_next(actor=ann, now=now)
    again = services.reserve_next(actor=ann, now=now + timedelta(minutes=5))
    assert again == first
    assert again.reserved_until == now + timedelta(minutes=35)
    assert QueueEntry.objects.held(now).count() == 1


def test_what_somebody_holds_is_not_taken_until_the_time_is_over(ann, bob):
    entry = flagged(ann)
    now = timezone.now()
    services.reserve_next(actor=ann, now=now)
    assert services.reserve_next(actor=bob, now=now + HALF_AN_HOUR - timedelta(seconds=1)) is None
    assert services.reserve_next(actor=bob, now=now + HALF_AN_HOUR) == entry


def test_skipping_releases_the_entry_and_goes_on_behind_it_then_round(ann):
    first, second = flagged(ann), flagged(ann)
    assert services.reserve_next(actor=ann) == first
    assert services.reserve_next(actor=ann, skip_entry_id=first.pk) == second
    first.refresh_from_db()
    assert first.reserved_by is None
    assert services.reserve_next(actor=ann, skip_entry_id=second.pk) == first


def test_what_is_assigned_to_me_comes_first_and_to_others_never(ann, bob):
    worst, mine, others = flagged(ann, 0), flagged(ann, 3), flagged(ann, 1)
    services.assign(entry_id=mine.pk, assignee_id=bob.pk, actor=ann)
    services.assign(entry_id=others.pk, assignee_id=ann.pk, actor=ann)
    assert services.reserve_next(actor=bob) == mine
    services.close_entry(entry_id=mine.pk, note=NOTE, actor=bob)
    assert services.reserve_next(actor=bob) == worst
    services.close_entry(entry_id=worst.pk, note=NOTE, actor=bob)
    assert services.reserve_next(actor=bob) is None


def test_one_reason_alone_can_be_asked_for(ann):
    flagged(ann)
    pair = paired({"a": "PASS"}, {"a": "ERROR"})
    fill_queue(pair.comparison)
    assert services.reserve_next(actor=ann, reason="ERROR").pair == pair


def test_reserving_one_entry_gives_up_the_other(ann, bob):
    first, second = flagged(ann), flagged(ann)
    services.reserve(entry_id=first.pk, actor=ann)
    services.reserve(entry_id=second.pk, actor=ann)
    services.reserve(entry_id=first.pk, actor=bob)
    with pytest.raises(EntryTakenError, match="works on it already: ann, until") as taken:
        services.reserve(entry_id=second.pk, actor=bob)
    assert taken.value.entry == second


def test_only_a_manager_releases_what_somebody_else_holds_and_it_is_recorded(ann, bob):
    entry = flagged(ann)
    services.reserve_next(actor=ann)
    with pytest.raises(NotAllowedError):
        services.release(entry_id=entry.pk, actor=bob)
    services.release(entry_id=entry.pk, actor=person("root", "admin"))
    entry.refresh_from_db()
    assert entry.reserved_by is None
    record = AuditEntry.objects.get(action="entry_released")
    assert (record.actor_name, record.before) == ("root", {"reserved_by": "ann"})


def test_releasing_ones_own_is_no_governance_action(ann):
    entry = flagged(ann)
    services.reserve_next(actor=ann)
    services.release(entry_id=entry.pk, actor=ann)
    assert not AuditEntry.objects.filter(action="entry_released").exists()


def test_a_viewer_takes_nothing(ann, eve):
    entry = flagged(ann)
    for refused in (
        lambda: services.reserve_next(actor=eve),
        lambda: services.reserve(entry_id=entry.pk, actor=eve),
        lambda: services.release(entry_id=entry.pk, actor=eve),
        lambda: services.assign(entry_id=entry.pk, assignee_id=None, actor=eve),
        lambda: services.close_entry(entry_id=entry.pk, note=NOTE, actor=eve),
    ):
        with pytest.raises(NotAllowedError):
            refused()


# --------------------------------------------------------------------------------- assignment and closing


def test_assigning_is_recorded_with_before_and_after(ann, bob):
    entry = flagged(ann)
    services.assign(entry_id=entry.pk, assignee_id=bob.pk, actor=ann)
    services.assign(entry_id=entry.pk, assignee_id=bob.pk, actor=ann)
    record = AuditEntry.objects.get(action="entry_assigned")
    assert record.before == {"assigned_to": None}
    assert record.after["assigned_to"] == "bob"
    services.assign(entry_id=entry.pk, assignee_id=None, actor=ann)
    assert AuditEntry.objects.filter(action="entry_assigned").count() == 2


def test_only_who_can_decide_is_assigned(ann, eve):
    entry = flagged(ann)
    for account_id in (eve.pk, 10**9):
        with pytest.raises(InvalidInputError):
            services.assign(entry_id=entry.pk, assignee_id=account_id, actor=ann)


def test_an_entry_in_somebody_elses_hands_is_neither_assigned_nor_closed(ann, bob):
    entry = flagged(ann)
    services.reserve_next(actor=ann)
    with pytest.raises(EntryTakenError):
        services.assign(entry_id=entry.pk, assignee_id=bob.pk, actor=bob)
    with pytest.raises(EntryTakenError):
        services.close_entry(entry_id=entry.pk, note=NOTE, actor=bob)
    entry.refresh_from_db()
    assert entry.is_open


def test_closing_needs_a_note_and_is_recorded(ann):
    entry = flagged(ann)
    with pytest.raises(InvalidInputError):
        services.close_entry(entry_id=entry.pk, note="ok", actor=ann)
    closed = services.close_entry(entry_id=entry.pk, note=NOTE, actor=ann)
    assert (closed.state, closed.closed_by, closed.closing_note, closed.reserved_by) == (
        "DONE",
        ann,
        NOTE,
        None,
    )
    assert AuditEntry.objects.get(action="entry_closed").note == NOTE


def test_a_closed_entry_stays_as_it_is(ann, bob):
    entry = flagged(ann)
    services.close_entry(entry_id=entry.pk, note=NOTE, actor=ann)
    for refused in (
        lambda: services.close_entry(entry_id=entry.pk, note=NOTE, actor=ann),
        lambda: services.reserve(entry_id=entry.pk, actor=ann),
        lambda: services.assign(entry_id=entry.pk, assignee_id=bob.pk, actor=ann),
    ):
        with pytest.raises(EntryClosedError):
            refused()
    with pytest.raises(IntegrityError, match="written once"), transaction.atomic():
        QueueEntry.objects.filter(pk=entry.pk).update(state="OPEN")


# ------------------------------------------------------------------------------ what a decision settles


def test_a_decision_closes_the_entry_only_when_nothing_is_left_undecided(ann):
    pair = paired({"a": "PASS", "b": "PASS"}, {"a": "ERROR", "b": "ERROR"})
    fill_queue(pair.comparison)
    first = services.override_result(
        result_id=result_of(pair, "a").pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann
    )
    assert list(reasons(pair)) == ["ERROR"]
    second = services.override_result(
        result_id=result_of(pair, "b").pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann
    )
    assert reasons(pair) == {}
    entry = QueueEntry.objects.get(pair=pair)
    assert (entry.closed_by, entry.closing_note) == (ann, f"Decided by review {second.pk}.")
    assert first.pk != second.pk


def test_withdrawing_puts_the_case_back_into_the_queue(ann):
    pair = paired({"a": "PASS"}, {"a": "ERROR"})
    fill_queue(pair.comparison)
    review = services.override_result(
        result_id=result_of(pair, "a").pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann
    )
    services.withdraw_review(review_id=review.pk, note=NOTE, seen_review_id=review.pk, actor=ann)
    assert reasons(pair) == {"ERROR": "candidate a: expected 1, got 2"}


@pytest.mark.parametrize("holds_it", [True, False])
def test_a_flag_is_settled_by_the_decision_of_whoever_took_it(timeout_case, ann, bob, holds_it):
    entry, _ = services.flag_case(pair_id=timeout_case.pk, note=NOTE, actor=bob)
    services.reserve(entry_id=entry.pk, actor=ann if holds_it else bob)
    result = result_of(timeout_case, "refunded-amount")
    services.override_result(result_id=result.pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann)
    entry.refresh_from_db()
    assert entry.is_open is not holds_it


# -------------------------------------------------------------------------------------------------- counts


def test_counts_name_every_reason_in_one_query(ann, django_assert_num_queries):
    flagged(ann)
    flagged(ann)
    with django_assert_num_queries(1):
        counts = services.queue_counts(EVERYTHING)
    assert list(counts) == QueueReason.values
    assert {name: count for name, count in counts.items() if count} == {"FLAGGED": 2}


def test_all_done_is_only_said_when_nothing_is_left_for_anybody(ann, bob, django_assert_num_queries):
    assert services.queue_overview(actor=ann).is_all_done
    held, assigned, mine = flagged(ann), flagged(ann), flagged(ann)
    services.reserve(entry_id=held.pk, actor=bob)
    services.assign(entry_id=assigned.pk, assignee_id=bob.pk, actor=bob)
    services.reserve(entry_id=mine.pk, actor=ann)
    flagged(ann)
    with django_assert_num_queries(3):
        overview = services.queue_overview(actor=ann)
    assert (
        overview.open,
        overview.mine,
        overview.free,
        overview.held_by_others,
        overview.assigned_to_others,
    ) == (4, 1, 1, 1, 1)
    assert not overview.is_all_done


def test_progress_counts_decisions_closings_and_what_is_held(ann, bob, django_assert_num_queries):
    pair = paired({"a": "PASS"}, {"a": "ERROR"})
    fill_queue(pair.comparison)
    services.override_result(
        result_id=result_of(pair, "a").pk, decision="PASS", note=NOTE, seen_review_id=0, actor=ann
    )
    flagged(ann)
    services.reserve_next(actor=bob)
    held = services.queue_overview(actor=ann).held
    with django_assert_num_queries(4):
        progress = services.progress_by_reviewer(held=held)
    assert [(row.reviewer, row.reviews, row.closed, row.holding) for row in progress] == [
        (ann, 1, 1, 0),
        (bob, 0, 0, 1),
    ]
    later = timezone.now() + timedelta(hours=1)
    assert [row.reviewer for row in services.progress_by_reviewer(held=held, since=later)] == [bob]


def test_the_list_of_a_hundred_entries_takes_one_query(ann, django_assert_num_queries):
    for number in range(100):
        flagged(ann, number % 4)
    services.reserve_next(actor=ann)
    with django_assert_num_queries(1):
        for entry in QueueEntry.objects.open().for_list():
            assert entry.pair.comparison.agent.name
            assert (entry.reserved_by and entry.reserved_by.username) in (None, "ann")
            assert entry.created_by.username
