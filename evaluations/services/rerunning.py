"""Running trials again that could not be graded, once, beside the original. A failure is never run again.

The re-run is a pair of its own: pinned as the original was (versions, trial, seed, initial state), with both
sides run anew. The original stays and can be read; what is counted anywhere counts the re-run in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.db import transaction

from agenttwin_site.events import governance, trials_replaced
from evaluations import dispatch
from evaluations.errors import NotRerunnableError
from evaluations.holdouts import seen
from evaluations.models import (
    Case,
    CaseState,
    Comparison,
    ComparisonState,
    PairedCase,
    Run,
    RunState,
    Verdict,
)
from evaluations.services.bulk import batched
from evaluations.services.comparisons import ROWS_PER_INSERT
from scenarios.holdouts import Sight, sight_of

RERUN = "trials_rerun"
# Trials named in the record of it; more are counted.
NAMED = 100
_ENDED = (ComparisonState.COMPLETED, ComparisonState.INCOMPLETE)
_PINNED = (
    "comparison_id",
    "scenario_version_id",
    "twin_version_id",
    "trial",
    "seed",
    "initial_state_id",
    "position",
    "scenario_name",
    "severity",
    "severity_rank",
)


def rerun_trials(
    *,
    comparison: Comparison,
    pair_ids: Collection[int] | None = None,
    actor: Any,
    via: str | None = None,
    wake: bool = True,
) -> list[PairedCase]:
    """Queue errored trials of an ended comparison once more; answers the new pairs, in the order planned.

    `pair_ids` None takes every trial that may be run again. The comparison runs until they have ended, and
    concludes again. All or nothing: if one of the named trials may not be run again, none is.

    Raises:
        NotRerunnableError: every reason; nothing was written.
    """
    with transaction.atomic():
        # As cancelling and deciding do: whoever locks the comparison first decides.
        locked = Comparison.objects.select_for_update().get(pk=comparison.pk)
        if problem := _closed(locked):
            raise NotRerunnableError([problem])
        originals = _chosen(locked, pair_ids, sight_of(actor))
        reruns = _write(locked, originals)
        before = {"state": locked.state, "reason": locked.reason}
        _reopen(locked)
        trials_replaced.send(sender=Comparison, comparison=locked, pairs=originals, actor=actor, via=via)
        governance.send(
            sender=Comparison,
            action=RERUN,
            actor=actor,
            subject=str(locked),
            subject_id=locked.pk,
            before=before,
            after=_told(originals, reruns),
            via=via,
        )
        if wake:
            dispatch.wake_workers(locked.pk, cases=len(locked.sides) * len(reruns))
    return reruns


def rerun_refusal(pair: PairedCase, cases: Sequence[Case], comparison: Comparison) -> str | None:
    """Why this trial may not be run again, in a sentence, or None. No queries."""
    if problem := _closed(comparison):
        return problem
    if pair.replaced:
        return f"{pair}: it has been run again already; the second run is the one that counts"
    if pair.rerun_of_id is not None:
        return f"{pair}: this is its second run, and there is no third"
    if any(Verdict.FAILED in (case.verdict, case.effective_verdict) for case in cases):
        return f"{pair}: a side failed, and a failure is not run again"
    errored = (c.state != CaseState.FINISHED or c.effective_verdict == Verdict.ERRORED for c in cases)
    if not any(errored):
        return f"{pair}: both sides were graded"
    return None


def _closed(comparison: Comparison) -> str | None:
    if comparison.state in _ENDED:
        return None
    if comparison.state in (ComparisonState.QUEUED, ComparisonState.RUNNING):
        return f"{comparison} still runs"
    return f"{comparison} is {comparison.state}: start it anew instead"


def _chosen(comparison: Comparison, pair_ids: Collection[int] | None, sight: Sight) -> list[PairedCase]:
    """The pairs to run again, locked. Raises NotRerunnableError."""
    pairs = PairedCase.objects.select_for_update(of=("self",)).filter(comparison=comparison)
    allowed = pairs.worth_running_again().order_by("position", "pk")
    if pair_ids is None:
        chosen = list(allowed.defer("first_divergence"))
        if not chosen:
            raise NotRerunnableError([f"no trial of {comparison} could not be graded: nothing to run again"])
        return chosen
    wanted = set(pair_ids)
    if not wanted:
        raise NotRerunnableError(["no trial was named"])
    # All that errored may be run again unseen; what is named must be seen.
    chosen = list(seen(allowed, sight).filter(pk__in=wanted).defer("first_divergence"))
    if refused := wanted - {pair.pk for pair in chosen}:
        raise NotRerunnableError(list(_reasons(comparison, sorted(refused), sight)))
    return chosen


def _reasons(comparison: Comparison, pair_ids: Sequence[int], sight: Sight) -> Iterator[str]:
    pairs = seen(PairedCase.objects.filter(comparison=comparison), sight)
    found = pairs.prefetch_related("cases").in_bulk(pair_ids)
    for pk in pair_ids:
        pair = found.get(pk)
        if pair is None:
            yield f"{comparison} has no case {pk}"
        elif reason := rerun_refusal(pair, list(pair.cases.all()), comparison):
            yield reason


def _write(comparison: Comparison, originals: Sequence[PairedCase]) -> list[PairedCase]:
    for pairs in batched(originals, ROWS_PER_INSERT):
        PairedCase.objects.filter(pk__in=[pair.pk for pair in pairs]).update(replaced=True)
    reruns = PairedCase.objects.bulk_create(
        [PairedCase(rerun_of=pair, **{name: getattr(pair, name) for name in _PINNED}) for pair in originals],
        batch_size=ROWS_PER_INSERT,
    )
    runs = list(comparison.runs.order_by("side"))
    Case.objects.bulk_create(
        [Case(run=run, pair=pair) for pair in reruns for run in runs], batch_size=ROWS_PER_INSERT
    )
    return reruns


def _reopen(comparison: Comparison) -> None:
    comparison.state, comparison.reason, comparison.finished_at = ComparisonState.RUNNING, "", None
    comparison.save(update_fields=["state", "reason", "finished_at"])
    Run.objects.filter(comparison=comparison).update(state=RunState.RUNNING, finished_at=None)


def _told(originals: Sequence[PairedCase], reruns: Sequence[PairedCase]) -> dict[str, Any]:
    named = [
        {"scenario": pair.scenario_name, "trial": pair.trial, "case": pair.pk, "rerun": rerun.pk}
        for pair, rerun in zip(originals[:NAMED], reruns, strict=False)
    ]
    return {"state": ComparisonState.RUNNING.value, "count": len(reruns), "trials": named}
