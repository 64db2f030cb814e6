"""Concluding: the last case ends its run, the last run ends the comparison.

Everything is read back from stored rows, a bounded number of pairs at a time, and gives the same answer
however often and by however many workers it is done. Only the last step, which names the comparison's end,
is done once: under a lock, and not if it was cancelled first.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Count, Exists, ExpressionWrapper, F, OuterRef, TextField
from django.db.models.lookups import IsNull
from django.utils import timezone

from agenttwin_site.events import comparison_concluded
from evaluations.models import (
    CLASS_RANKS,
    UNFINISHED,
    Case,
    CaseClass,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    Run,
    RunState,
    Side,
    ToolCall,
)
from evaluations.services.bulk import update_rows
from evaluations.services.pairing import (
    CASE_COLUMNS,
    JSON_COLUMNS,
    RECORD_COLUMNS,
    RESULT_COLUMNS,
    RawRecord,
    StoredSide,
    compare_pair,
)

logger = logging.getLogger(__name__)

PAIRS_AT_ONCE = 100
REASONS_SHOWN = 3
OPEN = (ComparisonState.QUEUED, ComparisonState.RUNNING)


def conclude_if_done(comparison_id: int) -> bool:
    """End the runs whose cases have all ended, and with the last the comparison; True if it ended now."""
    unfinished = Case.objects.filter(run=OuterRef("pk"), state__in=UNFINISHED)
    open_runs = Run.objects.filter(comparison_id=comparison_id, state__in=[RunState.QUEUED, RunState.RUNNING])
    open_runs.filter(~Exists(unfinished)).update(state=RunState.FINISHED, finished_at=timezone.now())
    if open_runs.exists() or not Comparison.objects.filter(pk=comparison_id, state__in=OPEN).exists():
        return False
    try:
        classify_pairs(comparison_id)
        return _end(comparison_id, *comparison_verdict(comparison_id))
    except DatabaseError:
        raise  # the sweep tries again
    except Exception as broken:
        logger.exception("comparison %s cannot be concluded", comparison_id)
        reason = f"it could not be concluded: {type(broken).__name__}: {broken}"
        return _end(comparison_id, ComparisonState.FAILED, reason)


def classify_pairs(comparison_id: int, *, again: bool = False) -> int:
    """Classify the pairs of a comparison from what is stored; how many were.

    Those that have a class keep it, unless `again`. Four queries and one transaction per hundred pairs.
    """
    pairs = PairedCase.objects.filter(comparison_id=comparison_id).order_by("pk")
    pairs = pairs.select_related("twin_version").defer("twin_version__document", "twin_version__source_text")
    if not again:
        pairs = pairs.filter(classification__isnull=True)
    last, classified = 0, 0
    while batch := list(pairs.filter(pk__gt=last)[:PAIRS_AT_ONCE]):
        last = batch[-1].pk
        sides = _stored_sides(batch)
        with transaction.atomic():
            update_rows(PairedCase, ((pair.pk, _columns(pair, sides)) for pair in batch))
        classified += len(batch)
    return classified


def _stored_sides(pairs: Sequence[PairedCase]) -> Mapping[tuple[int, str], StoredSide]:
    """The sides of these pairs by (pair id, side), with their records and results."""
    found = Case.objects.filter(pair__in=pairs).annotate(has_answer=IsNull(F("answer"), False))
    cases = list(found.values_list("pk", "pair_id", "run__side", *CASE_COLUMNS, named=True))
    ids = [case.pk for case in cases]
    records = _raw_records(ids)
    results: defaultdict[int, list[Any]] = defaultdict(list)
    rows = ExpectationResult.objects.filter(case__in=ids).order_by("case_id", "position")
    for row in rows.values_list("case_id", *RESULT_COLUMNS, named=True):
        results[row.case_id].append(row)
    return {
        (case.pair_id, case.run__side): StoredSide(case.run__side, case, results[case.pk], records[case.pk])
        for case in cases
    }


def _raw_records(case_ids: Sequence[int]) -> Mapping[int, list[RawRecord]]:
    """The records of these cases in order; JSON stays the text that it is in the database."""
    columns = [
        ExpressionWrapper(F(name), output_field=TextField()) if name in JSON_COLUMNS else F(name)
        for name in RECORD_COLUMNS
    ]
    found: defaultdict[int, list[RawRecord]] = defaultdict(list)
    rows = ToolCall.objects.filter(case__in=case_ids).order_by("case_id", "seq")
    for case_id, *row in rows.values_list("case_id", *columns):
        found[case_id].append(tuple(row))
    return found


def _columns(pair: PairedCase, sides: Mapping[tuple[int, str], StoredSide]) -> Mapping[str, Any]:
    compared = compare_pair(pair, sides.get((pair.pk, Side.BASELINE)), sides[pair.pk, Side.CANDIDATE])
    return {
        "classification": compared.klass,
        "class_rank": CLASS_RANKS[compared.klass],
        "reason": compared.reason,
        "first_divergence": compared.first_divergence,
        "newly_failing": list(compared.newly_failing),
        "flags": list(compared.flags),
    }


def comparison_verdict(comparison_id: int) -> tuple[str, str]:
    """COMPLETED, or INCOMPLETE with the reasons that occur most."""
    counted = PairedCase.objects.counted().filter(comparison_id=comparison_id)
    incomplete = counted.filter(classification=CaseClass.INCOMPLETE.value).order_by()
    reasons = list(incomplete.values_list("reason").annotate(count=Count("pk")).order_by("-count", "reason"))
    if not reasons:
        return ComparisonState.COMPLETED, ""
    missing = sum(count for _, count in reasons)
    total = counted.count()
    shown = "; ".join(
        f"{reason} ({count}x)" if count > 1 else reason for reason, count in reasons[:REASONS_SHOWN]
    )
    more = f"; and {len(reasons) - REASONS_SHOWN} other reasons" if len(reasons) > REASONS_SHOWN else ""
    return ComparisonState.INCOMPLETE, f"{missing} of {total} cases could not be compared: {shown}{more}"


def _end(comparison_id: int, state: str, reason: str) -> bool:
    with transaction.atomic():
        comparison = Comparison.objects.select_for_update().get(pk=comparison_id)
        if comparison.state not in OPEN:
            return False
        comparison.state, comparison.reason, comparison.finished_at = state, reason, timezone.now()
        comparison.save(update_fields=["state", "reason", "finished_at"])
        comparison_concluded.send(sender=Comparison, comparison=comparison)
    return True
