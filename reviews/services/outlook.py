"""What a page says before anything is decided: who may not decide what, and what a decision would change."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Max

from evaluations.grading.run_findings import AGENT_RUN
from evaluations.models import Case, Comparison, ComparisonState, ExpectationResult, ResultStatus
from evaluations.services.effective import preview_effective_status
from reviews.effects import explain
from reviews.models import Review

_UNFINISHED = (ComparisonState.QUEUED, ComparisonState.RUNNING)

_STILL_RUNNING = "The comparison is still running. Its results can be decided once it has ended."
_FACT_OF_THE_RUN = (
    "This is a fact about the run, recorded by the harness, and no judgement: nobody may override it. "
    "Run the comparison again instead."
)
_RUN_AGAIN = "This trial was run again and no longer counts. Decide on its second run."
_NEVER_JUDGED = (
    "This side did not run to its end, so there is nothing recorded to decide on. "
    "Run the comparison again instead."
)


def latest_review_ids(result_ids: Sequence[int]) -> dict[int, int]:
    """What a form must carry as `seen_review_id` for each of these results: 0 where there is no review."""
    found = (
        Review.objects.filter(result_id__in=result_ids)
        .order_by()
        .values_list("result_id")
        .annotate(last=Max("id"))
    )
    return dict.fromkeys(result_ids, 0) | dict(found)


def explain_effect(result: ExpectationResult, decision: str) -> str:
    """What deciding so would change, in words, before it is sent. Nothing is written."""
    return explain(preview_effective_status(result=result, status=decision))


def explain_withdrawal(review: Review) -> str:
    """What withdrawing this review, the one that counts, would change. Nothing is written."""
    before = review.result.reviews.standing().exclude(pk=review.pk).order_by("-id").first()
    status = before.decision if before else review.result.status
    return explain(preview_effective_status(result=review.result, status=status))


def refusals(case: Case, results: Sequence[ExpectationResult], comparison: Comparison) -> dict[int, str]:
    """Result id -> why nobody may decide on it now, in a sentence, for those that are closed to decisions.

    `results` are all results of the case, its pair is loaded. No queries.
    """
    if case.pair.replaced:
        return dict.fromkeys((result.pk for result in results), _RUN_AGAIN)
    if comparison.state in _UNFINISHED:
        return dict.fromkeys((result.pk for result in results), _STILL_RUNNING)
    judged = [result for result in results if result.type != AGENT_RUN]
    # Without one measured check a broken run left nothing behind that a person could judge.
    if case.error_reason and all(result.status == ResultStatus.SKIPPED for result in judged):
        reasons = dict.fromkeys((result.pk for result in judged), _NEVER_JUDGED)
    else:
        reasons = {}
    return reasons | {result.pk: _FACT_OF_THE_RUN for result in results if result.type == AGENT_RUN}
