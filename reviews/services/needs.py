"""What needs a person, read from the stored rows: filling the queue, and noticing that nothing is left.

* ERROR, SKIPPED_CRITICAL: a check (a critical one) was not measured, on either side, and nobody decided it.
* CONTRADICTION: a side claims success and the verification says otherwise.
* INCOMPLETE: the pair could not be compared and no entry of the first two kinds says or said why.

`agentRun` findings and checks skipped because the run broke open no entry of the first kinds: nobody may
decide them. Their pair is INCOMPLETE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from evaluations.grading.run_findings import AGENT_RUN
from evaluations.grading.verdicts import OUTCOME_TYPES
from evaluations.models import (
    Case,
    CaseClass,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    ResultStatus,
)
from reviews.models import QueueEntry, QueueReason

BATCH = 500
# Checks named in the detail of an entry; the case page lists all.
NAMED = 3


def priority_of(pair: PairedCase) -> int:
    """Worst first: by class, then by severity."""
    return _priority(pair.class_rank, pair.severity_rank)


def fill_queue(comparison: Comparison) -> None:
    """Add an entry for all that needs a person in a comparison that has just ended.

    What was in the queue before for the same reason is left alone, open or done: a comparison of which trials
    were run again ends a second time. What counts no more is not asked about, and a cancelled comparison adds
    nothing: somebody chose to stop it.
    Memory and the number of queries follow what is added, never the size of the comparison.
    """
    if comparison.state == ComparisonState.CANCELLED:
        return
    _add(_unmeasured(comparison))
    _add(_contradicted(comparison))
    # Read last: it leaves out the pairs that the first two explain.
    _add(_incomplete(comparison))


def undecided(pair_id: int) -> set[str]:
    """The reasons among ERROR, SKIPPED_CRITICAL and INCOMPLETE for which the pair still needs a person."""
    found = {
        _reason_of(status)
        for status in _undecided_results(case__pair_id=pair_id).values_list("effective_status", flat=True)
    }
    if PairedCase.objects.filter(pk=pair_id, classification=CaseClass.INCOMPLETE).exists():
        found.add(QueueReason.INCOMPLETE)
    return {str(reason) for reason in found}


def reopen(pair: PairedCase, result: ExpectationResult, side: str) -> QueueEntry | None:
    """After a withdrawal: the entry that the result calls for again, or None if it calls for none."""
    status = result.effective_status
    if status == ResultStatus.ERROR or (result.critical and status == ResultStatus.SKIPPED):
        reason, detail = _reason_of(status), _line(side, result.expectation_id, result.reason)
    elif pair.classification == CaseClass.INCOMPLETE:
        reason, detail, side = QueueReason.INCOMPLETE, pair.reason, ""
    else:
        return None
    entry, _ = QueueEntry.objects.get_or_create(
        pair=pair,
        reason=reason,
        state="OPEN",
        defaults={"detail": detail, "side": side, "priority": priority_of(pair)},
    )
    return entry


@dataclass(slots=True)
class _Need:
    sides: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

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


def _undecided_results(**where: Any) -> QuerySet[ExpectationResult]:
    checks = ExpectationResult.objects.exclude(type=AGENT_RUN)
    # A run that broke skips every check: nothing there can be decided, its pair is INCOMPLETE.
    was_judged = Q(case__error_reason="") | Exists(
        checks.filter(case_id=OuterRef("case_id")).exclude(status=ResultStatus.SKIPPED)
    )
    skipped = Q(effective_status=ResultStatus.SKIPPED, critical=True) & was_judged
    return checks.filter(Q(effective_status=ResultStatus.ERROR) | skipped, **where)


def _unmeasured(comparison: Comparison) -> Iterator[QueueEntry]:
    rows = (
        _undecided_results(case__pair__comparison=comparison, case__pair__replaced=False)
        .order_by("case__pair_id", "case__run__side", "position")
        .values_list(
            "case__pair_id",
            "case__pair__class_rank",
            "case__pair__severity_rank",
            "case__run__side",
            "effective_status",
            "expectation_id",
            "reason",
        )
    )
    for (pair_id, class_rank, severity_rank), results in groupby(
        rows.iterator(BATCH), key=lambda row: row[:3]
    ):
        needs: dict[str, _Need] = {}
        for _, _, _, side, status, expectation_id, text in results:
            need = needs.setdefault(_reason_of(status), _Need())
            need.sides.add(side)
            need.lines.append(_line(side, expectation_id, text))
        for reason, need in needs.items():
            yield need.entry(pair_id, reason, _priority(class_rank, severity_rank))


def _contradicted(comparison: Comparison) -> Iterator[QueueEntry]:
    # The first check that disproves the claim says more than that there is one.
    disproving = ExpectationResult.objects.filter(
        case=OuterRef("pk"), type__in=OUTCOME_TYPES, status=ResultStatus.FAIL
    ).order_by("position")
    rows = (
        Case.objects.filter(pair__comparison=comparison, pair__replaced=False, contradiction=True)
        .order_by("pair_id", "run__side")
        .annotate(
            check_id=Subquery(disproving.values("expectation_id")[:1]),
            check_reason=Subquery(disproving.values("reason")[:1]),
        )
        .values_list(
            "pair_id",
            "pair__class_rank",
            "pair__severity_rank",
            "run__side",
            "claimed_outcome",
            "check_id",
            "check_reason",
        )
    )
    for (pair_id, class_rank, severity_rank), cases in groupby(rows.iterator(BATCH), key=lambda row: row[:3]):
        need = _Need()
        for _, _, _, side, claim, check_id, reason in cases:
            need.sides.add(side)
            recorded = _check(check_id, reason) if check_id else "the tools recorded otherwise"
            need.lines.append(f"{side.lower()} claims {claim}, but {recorded}")
        yield need.entry(pair_id, QueueReason.CONTRADICTION, _priority(class_rank, severity_rank))


def _incomplete(comparison: Comparison) -> Iterator[QueueEntry]:
    explained = [QueueReason.ERROR, QueueReason.SKIPPED_CRITICAL]
    rows = (
        PairedCase.objects.counted()
        .filter(comparison=comparison, classification=CaseClass.INCOMPLETE)
        .exclude(queue_entries__reason__in=explained)
        .order_by("pk")
        .values_list("pk", "class_rank", "severity_rank", "reason")
    )
    for pair_id, class_rank, severity_rank, reason in rows.iterator(BATCH):
        need = _Need(lines=[reason] if reason else [])
        yield need.entry(pair_id, QueueReason.INCOMPLETE, _priority(class_rank, severity_rank))


def _add(entries: Iterable[QueueEntry]) -> None:
    remaining = iter(entries)
    while batch := list(islice(remaining, BATCH)):
        known = set(
            QueueEntry.objects.filter(pair__in=[entry.pair_id for entry in batch]).values_list(
                "pair", "reason"
            )
        )
        batch = [entry for entry in batch if (entry.pair_id, str(entry.reason)) not in known]
        # The constraint "open once" turns adding the same thing twice into nothing.
        QueueEntry.objects.bulk_create(batch, ignore_conflicts=True)


def _priority(class_rank: int, severity_rank: int) -> int:
    return class_rank * 10 + severity_rank


def _reason_of(status: str) -> QueueReason:
    return QueueReason.ERROR if status == ResultStatus.ERROR else QueueReason.SKIPPED_CRITICAL


def _line(side: str, expectation_id: str, reason: str) -> str:
    return f"{side.lower()} {_check(expectation_id, reason)}"


def _check(expectation_id: str, reason: str) -> str:
    return f"{expectation_id}: {reason}"
