"""Why a case needs a person: the words of an entry, and noticing in the stored rows that nothing is left.

* ERROR, SKIPPED_CRITICAL: a check (a critical one) was not measured, on either side, and nobody decided it.
  JUDGE_ERROR, JUDGE_SKIPPED: the same of a check that a judge reads, critical or not.
* CONTRADICTION: a side claims success and the verification says otherwise.
* INCOMPLETE: the pair could not be compared and no entry of the kinds above says or said why.
* UNCALIBRATED_CRITICAL, LOW_CONFIDENCE, SAMPLE: a verdict of a judge that somebody should look at.
* SECOND_REVIEW, SPLIT: results that two people decide, and those on which they disagree.

`agentRun` findings and checks skipped because the run broke open no entry of the first kinds: nobody may
decide them. Their pair is INCOMPLETE.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from evaluations.grading.expectations.judged import SEMANTIC
from evaluations.grading.run_findings import AGENT_RUN
from evaluations.models import CaseClass, ExpectationResult, PairedCase, ResultStatus
from reviews.models import DoubleReview, DoubleReviewState, QueueEntry, QueueReason, QueueSubject, Review

# Checks named in the detail of an entry; the case page lists all.
NAMED = 3
# What asks for a look at a whole case: nothing stored says when that was done.
BY_HAND = frozenset({QueueReason.CONTRADICTION, QueueReason.FLAGGED})
# What is about the results that the entry names, and over when each of them is decided.
LOOKED_AT = frozenset({QueueReason.UNCALIBRATED_CRITICAL, QueueReason.LOW_CONFIDENCE, QueueReason.SAMPLE})


def priority_of(pair: PairedCase) -> int:
    """Worst first: by class, then by severity."""
    return rank(pair.class_rank, pair.severity_rank)


def rank(class_rank: int, severity_rank: int) -> int:
    return class_rank * 10 + severity_rank


def undecided(pair_id: int) -> set[str]:
    """The reasons for which the pair still needs a person, of all but those that end by hand.

    A result that waits for another reviewer is one reason and no more: it is asked for as SECOND_REVIEW.
    """
    rounds = DoubleReview.objects.unsettled().filter(result__case__pair_id=pair_id)
    waiting = dict(rounds.values_list("result_id", "state"))
    open_results = unmeasured_results(case__pair_id=pair_id).exclude(pk__in=list(waiting))
    found: set[str] = {reason_of(*row) for row in open_results.values_list("effective_status", "type")}
    if PairedCase.objects.filter(pk=pair_id, classification=CaseClass.INCOMPLETE).exists():
        found.add(QueueReason.INCOMPLETE)
    if DoubleReviewState.SPLIT in waiting.values():
        found.add(QueueReason.SPLIT)
    named = QueueSubject.objects.filter(entry__pair_id=pair_id, entry__state="OPEN")
    subjects = list(named.values_list("entry__reason", "result_id"))
    decided = _decided(result_id for _, result_id in subjects)
    for reason, result_id in subjects:
        state = waiting.get(result_id)
        if reason == QueueReason.SECOND_REVIEW:
            is_left = state == DoubleReviewState.OPEN if state else result_id not in decided
        else:
            is_left = state is None and result_id not in decided
        if is_left:
            found.add(reason)
    return {str(reason) for reason in found}


def reopen(pair: PairedCase, result: ExpectationResult, side: str) -> None:
    """After a withdrawal: the entries that the result calls for again."""
    status = result.effective_status
    if is_unmeasured(result):
        reason = reason_of(status, result.type)
        _open(pair, reason, side, line(side, result.expectation_id, result.reason))
    elif pair.classification == CaseClass.INCOMPLETE:
        _open(pair, QueueReason.INCOMPLETE, "", pair.reason)
    # What somebody should look at has been looked at by nobody again.
    closed = QueueEntry.objects.done().filter(pair=pair, reason__in=LOOKED_AT, subjects__result=result)
    for why, of_side, detail in set(closed.values_list("reason", "side", "detail")):
        _open(pair, why, of_side, detail, [result.pk])


def is_unmeasured(result: ExpectationResult) -> bool:
    """Whether nothing is known of the check that its case, or a person, is waiting for."""
    status = result.effective_status
    matters = result.critical or result.type == SEMANTIC
    return status == ResultStatus.ERROR or (matters and status == ResultStatus.SKIPPED)


def ask_for_two(pair: PairedCase, result: ExpectationResult, side: str, reason: str) -> None:
    """The entry SECOND_REVIEW or SPLIT of the pair, with this result among its subjects."""
    text = line(side, result.expectation_id, result.reason)
    entry = _open(pair, reason, side, text, [result.pk])
    if text not in entry.detail.split("\n"):
        entry.detail = f"{entry.detail}\n{text}"
        entry.side = side if entry.side == side else ""
        entry.save(update_fields=["detail", "side"])


@dataclass(slots=True)
class Need:
    """What an entry will say: which sides, which checks, which results."""

    sides: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def entry(self, pair_id: int, reason: str, priority: int) -> QueueEntry:
        more = len(self.lines) - NAMED
        lines = [*self.lines[:NAMED], f"and {more} more"] if more > 0 else self.lines
        return QueueEntry(
            pair_id=pair_id,
            reason=reason,
            side=next(iter(self.sides)) if len(self.sides) == 1 else "",
            detail="\n".join(lines),
            priority=priority,
        )


def unmeasured_results(**where: Any) -> QuerySet[ExpectationResult]:
    """Results that nothing is known of, of which a person may say what they count as."""
    checks = ExpectationResult.objects.exclude(type=AGENT_RUN)
    # A run that broke skips every check: nothing there can be decided, its pair is INCOMPLETE.
    was_judged = Q(case__error_reason="") | Exists(
        checks.filter(case_id=OuterRef("case_id")).exclude(status=ResultStatus.SKIPPED)
    )
    # Nobody could have read the answer of an agent that could not be run.
    not_run = Exists(ExpectationResult.objects.filter(case_id=OuterRef("case_id"), type=AGENT_RUN))
    matters = Q(critical=True) & ~Q(type=SEMANTIC) | Q(type=SEMANTIC) & ~not_run
    skipped = Q(effective_status=ResultStatus.SKIPPED) & matters & was_judged
    return checks.filter(Q(effective_status=ResultStatus.ERROR) | skipped, **where)


def reason_of(status: str, kind: str) -> QueueReason:
    """Of a result that was not measured."""
    if kind == SEMANTIC:
        return QueueReason.JUDGE_ERROR if status == ResultStatus.ERROR else QueueReason.JUDGE_SKIPPED
    return QueueReason.ERROR if status == ResultStatus.ERROR else QueueReason.SKIPPED_CRITICAL


def line(side: str, expectation_id: str, reason: str) -> str:
    return f"{side.lower()} {expectation_id}: {reason}"


def _decided(result_ids: Iterable[int]) -> set[int]:
    ids = list(result_ids)
    return (
        set(Review.objects.standing().filter(result__in=ids).values_list("result_id", flat=True))
        if ids
        else set()
    )


def _open(pair: PairedCase, reason: str, side: str, detail: str, results: Iterable[int] = ()) -> QueueEntry:
    entry, _ = QueueEntry.objects.get_or_create(
        pair=pair,
        reason=reason,
        state="OPEN",
        defaults={"detail": detail, "side": side, "priority": priority_of(pair)},
    )
    QueueSubject.objects.bulk_create(
        [QueueSubject(entry=entry, result_id=result_id) for result_id in results], ignore_conflicts=True
    )
    return entry
