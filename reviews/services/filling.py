"""Filling the queue when a comparison has ended: what needs a person, read from its stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery

from evaluations.grading.expectations.judged import SEMANTIC
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
    Side,
)
from reviews.models import QueueEntry, QueueReason, QueueSubject
from reviews.services.judged import judged
from reviews.services.needs import Need, line, rank, reason_of, unmeasured_results
from reviews.services.policies import current_policy
from reviews.two_reviewers import Measured, Policy, asked_for

BATCH = 500
_OF_PAIR = ("case__pair_id", "case__pair__class_rank", "case__pair__severity_rank")

Entry = tuple[QueueEntry, list[int]]
"""An entry and the results that are its subjects."""


def fill_queue(comparison: Comparison) -> None:
    """Add an entry for all that needs a person in a comparison that has just ended.

    What was in the queue before for the same reason is left alone, open or done: a comparison of which trials
    were run again ends a second time. What counts no more is not asked about, and a cancelled comparison adds
    nothing: somebody chose to stop it.
    Memory and the number of queries follow what is added, never the size of the comparison.
    """
    if comparison.state == ComparisonState.CANCELLED:
        return
    policy = current_policy()
    _add(_unmeasured(comparison))
    _add(_contradicted(comparison))
    _add(judged(comparison, policy))
    if policy.two_reviewers:
        _add(_asked_twice(comparison, policy))
    # Read last: it leaves out the pairs that the first explain.
    _add(_incomplete(comparison))


def _unmeasured(comparison: Comparison) -> Iterator[Entry]:
    rows = (
        unmeasured_results(case__pair__comparison=comparison, case__pair__replaced=False)
        .order_by("case__pair_id", "case__run__side", "position")
        .values_list(*_OF_PAIR, "case__run__side", "effective_status", "type", "expectation_id", "reason")
    )
    for pair, results in _by_pair(rows):
        needs: dict[str, Need] = {}
        for side, status, kind, expectation_id, text in results:
            need = needs.setdefault(reason_of(status, kind), Need())
            need.sides.add(side)
            need.lines.append(line(side, expectation_id, text))
        for reason, need in needs.items():
            yield _entry(need, pair, reason)


def _contradicted(comparison: Comparison) -> Iterator[Entry]:
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
    for pair, cases in _by_pair(rows):
        need = Need()
        for side, claim, check_id, reason in cases:
            need.sides.add(side)
            recorded = f"{check_id}: {reason}" if check_id else "the tools recorded otherwise"
            need.lines.append(f"{side.lower()} claims {claim}, but {recorded}")
        yield _entry(need, pair, QueueReason.CONTRADICTION)


def _incomplete(comparison: Comparison) -> Iterator[Entry]:
    explained = [QueueReason.ERROR, QueueReason.SKIPPED_CRITICAL, QueueReason.JUDGE_ERROR]
    unread = ExpectationResult.objects.filter(
        case__pair=OuterRef("pk"), type=SEMANTIC, critical=True, effective_status=ResultStatus.SKIPPED
    )
    rows = (
        PairedCase.objects.counted()
        .filter(comparison=comparison, classification=CaseClass.INCOMPLETE)
        .exclude(queue_entries__reason__in=explained)
        .exclude(Exists(unread), queue_entries__reason=QueueReason.JUDGE_SKIPPED)
        .order_by("pk")
        .values_list("pk", "class_rank", "severity_rank", "reason")
    )
    for *pair, reason in rows.iterator(BATCH):
        yield _entry(Need(lines=[reason] if reason else []), tuple(pair), QueueReason.INCOMPLETE)


def _asked_twice(comparison: Comparison, policy: Policy) -> Iterator[Entry]:
    """Of the candidate, and of either side what could not be evaluated: whatever else would be decided there
    takes two as well, but nobody is asked to.
    """
    measured = Q(status=ResultStatus.FAIL) | Q(type=SEMANTIC, status=ResultStatus.PASS)
    unmeasured = unmeasured_results(case__pair__comparison=comparison).values("pk")
    baseline = ExpectationResult.objects.filter(
        case__pair=OuterRef("case__pair"),
        case__run__side=Side.BASELINE,
        expectation_id=OuterRef("expectation_id"),
    )
    rows = (
        ExpectationResult.objects.filter(
            Q(case__run__side=Side.CANDIDATE) & measured & ~Q(type=AGENT_RUN) | Q(pk__in=unmeasured),
            case__pair__comparison=comparison,
            case__pair__replaced=False,
            critical=True,
        )
        .annotate(baseline_status=Subquery(baseline.values("status")[:1]))
        .order_by("case__pair_id", "case__run__side", "position")
        .values_list(
            *_OF_PAIR,
            "pk",
            "case__run__side",
            "type",
            "status",
            "baseline_status",
            "expectation_id",
            "reason",
        )
    )
    for pair, results in _by_pair(rows):
        need = Need()
        for pk, side, kind, status, baseline_status, expectation_id, text in results:
            candidate = status if side == Side.CANDIDATE else None
            if asked_for(policy, Measured(kind, True, status, candidate, baseline_status)):
                need.sides.add(side)
                need.lines.append(line(side, expectation_id, text))
                need.results.append(pk)
        if need.results:
            yield _entry(need, pair, QueueReason.SECOND_REVIEW)


def _by_pair(rows: Any) -> Iterator[tuple[tuple[int, int, int], Iterator[Any]]]:
    """Rows that begin with pair, class rank and severity rank, together by pair and without those three."""
    for pair, found in groupby(rows.iterator(BATCH), key=lambda row: row[:3]):
        yield pair, (row[3:] for row in found)


def _entry(need: Need, pair: Any, reason: str) -> Entry:
    pair_id, class_rank, severity_rank = pair
    return need.entry(pair_id, reason, rank(class_rank, severity_rank)), need.results


def _add(entries: Iterable[Entry]) -> None:
    remaining = iter(entries)
    while batch := list(islice(remaining, BATCH)):
        pairs = [entry.pair_id for entry, _ in batch]
        known = set(QueueEntry.objects.filter(pair__in=pairs).values_list("pair", "reason"))
        batch = [one for one in batch if (one[0].pair_id, str(one[0].reason)) not in known]
        # The constraint "open once" turns adding the same thing twice into nothing.
        QueueEntry.objects.bulk_create([entry for entry, _ in batch], ignore_conflicts=True)
        _name_subjects([one for one in batch if one[1]])


def _name_subjects(entries: list[Entry]) -> None:
    """Rows that were added without saying their ids are looked up again."""
    if not entries:
        return
    added = QueueEntry.objects.open().filter(pair__in=[entry.pair_id for entry, _ in entries])
    ids = {(pair, reason): pk for pk, pair, reason in added.values_list("pk", "pair", "reason")}
    QueueSubject.objects.bulk_create(
        (
            QueueSubject(entry_id=ids[entry.pair_id, str(entry.reason)], result_id=result_id)
            for entry, results in entries
            for result_id in results
        ),
        batch_size=BATCH,
        ignore_conflicts=True,
    )
