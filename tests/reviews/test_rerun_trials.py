"""What becomes of the queue and of decisions when a trial is run again."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from evaluations.models import PairedCase
from evaluations.services.concluding import conclude_if_done
from evaluations.services.rerunning import rerun_trials
from reviews.errors import NotReviewableError
from reviews.models import AuditEntry, QueueEntry
from reviews.services import override_result
from reviews.services.filling import fill_queue
from reviews.services.queueing import close_entry, flag_case
from tests.models import factories
from tests.reviews.conftest import NOTE, paired, person, result_of


@pytest.fixture
def errored(db: Any) -> PairedCase:
    """A pair whose candidate has a check that could not be evaluated, with its queue entry."""
    comparison = factories.comparison(state="INCOMPLETE")
    pair = paired({"paid": "PASS"}, {"paid": "ERROR"}, comparison=comparison)
    fill_queue(comparison)
    return pair


def open_reasons(pair: PairedCase) -> set[str]:
    return set(QueueEntry.objects.open().filter(pair=pair).values_list("reason", flat=True))


def run_again(pair: PairedCase, actor: Any, status: str = "ERROR") -> PairedCase:
    """Run the pair again; both sides end at once, the candidate with this status."""
    (rerun,) = rerun_trials(comparison=pair.comparison, pair_ids=[pair.pk], actor=actor, wake=False)
    for case in rerun.cases.select_related("run"):
        own = status if case.run.side == "CANDIDATE" else "PASS"
        factories.result(case, "paid", status=own, effective_status=own, critical=True, type="state")
        case.state, case.finished_at = "FINISHED", timezone.now()
        case.verdict = case.effective_verdict = "PASSED" if own == "PASS" else "ERRORED"
        case.save()
    assert conclude_if_done(pair.comparison_id)
    rerun.refresh_from_db()
    return rerun


def test_what_was_run_again_leaves_the_queue_and_its_second_run_may_enter_it(errored: Any) -> None:
    editor = person("ed", "admin")
    assert open_reasons(errored) == {"ERROR"}
    flag_case(pair_id=errored.pk, note="Look at this.", actor=editor)
    rerun = run_again(errored, editor)
    # The flag is for a person to close.
    assert (open_reasons(errored), open_reasons(rerun)) == ({"FLAGGED"}, {"ERROR"})
    closed = QueueEntry.objects.get(pair=errored, reason="ERROR")
    assert (closed.state, closed.closed_by, closed.closing_note) == (
        "DONE",
        editor,
        "The trial was run again.",
    )
    actions = list(AuditEntry.objects.order_by("sequence").values_list("action", flat=True))
    assert actions[-3:] == ["case_flagged", "entries_closed", "trials_rerun"]
    (entry,) = AuditEntry.objects.filter(action="trials_rerun")
    assert (entry.subject_type, entry.subject_id) == ("comparison", str(errored.comparison_id))


def test_a_second_end_asks_again_for_nothing_that_was_settled(errored: Any) -> None:
    editor = person("ed", "admin")
    other = paired({"paid": "SKIPPED"}, {"paid": "PASS"}, comparison=errored.comparison)
    fill_queue(errored.comparison)
    entry = QueueEntry.objects.open().get(pair=other)
    close_entry(entry_id=entry.pk, note=NOTE, actor=editor)
    run_again(errored, editor, "PASS")
    assert not QueueEntry.objects.open().exists()


def test_nobody_decides_on_a_run_that_no_longer_counts(errored: Any, ann: Any) -> None:
    run_again(errored, person("ed", "admin"))
    result = result_of(errored, "paid")
    with pytest.raises(NotReviewableError, match="Decide on its second run"):
        override_result(result_id=result.pk, decision="FAIL", note=NOTE, seen_review_id=0, actor=ann)
    result.refresh_from_db()
    assert result.effective_status == "ERROR"
