"""The rows of verdicts: written with their results, and found again when the same question comes up."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from evaluations.judges.interface import Quote, Verdict
from evaluations.models import JudgeVerdict
from evaluations.services.judging.questions import Outcome, Question, remembered

# What is kept of a reply; a verdict needs a hundredth of it.
KEPT_REPLY = 64 * 1024


def verdict_row(question: Question, outcome: Outcome, status: str, **of: Any) -> JudgeVerdict:
    """The unsaved row; `of` names the result or the session it belongs to."""
    identity, verdict, error = question.judge.identity, outcome.verdict, outcome.error
    said: dict[str, Any] = {}
    if verdict is not None:
        said = {
            "score": verdict.score,
            "label": verdict.label,
            "confidence": verdict.confidence,
            "reason": verdict.reason,
            "quotes": [{"source": quote.source, "text": quote.text} for quote in verdict.quotes],
            "dropped_quotes": verdict.dropped_quotes,
        }
    if error is not None:
        said = {"error_kind": error.kind, "error_detail": error.detail}
    return JudgeVerdict(
        expectation_id=question.item.id,
        status=status,
        provider=identity.provider,
        model=identity.model,
        judge_label=identity.label,
        prompt_version=identity.prompt_version,
        prompt_sha256=identity.prompt_sha256,
        criterion=question.criterion,
        rubric_sha256=question.rubric_sha256,
        threshold=question.request.threshold,
        request_digest=question.digest,
        shown=outcome.shown,
        answered=outcome.answered[:KEPT_REPLY],
        attempts=outcome.attempts,
        from_cache=outcome.from_cache,
        input_tokens=outcome.usage.input_tokens,
        output_tokens=outcome.usage.output_tokens,
        cost_usd=outcome.cost_usd,
        duration_ms=outcome.duration_ms,
        **said,
        **of,
    )


def known_verdicts(digests: Collection[str]) -> dict[str, JudgeVerdict]:
    """Earlier verdicts on exactly these questions. Errors are no verdicts and are never among them."""
    rows = JudgeVerdict.objects.filter(
        request_digest__in=digests, score__isnull=False, from_cache=False
    ).order_by("pk")
    return {row.request_digest: row for row in rows}


def outcome_of_row(question: Question, row: JudgeVerdict) -> Outcome:
    """What an earlier verdict makes of the same question."""
    assert row.score is not None
    assert row.label is not None
    assert row.confidence is not None
    verdict = Verdict(
        score=row.score,
        label=row.label,
        confidence=row.confidence,
        reason=row.reason,
        quotes=tuple(Quote(one["source"], one["text"]) for one in row.quotes),
        dropped_quotes=row.dropped_quotes,
    )
    return remembered(question, verdict, shown=row.shown, answered=row.answered)
