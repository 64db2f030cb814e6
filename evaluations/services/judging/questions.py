"""What is asked about a case or a session, and what became of it. No rows in here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evaluations.grading import CompiledExpectation, Result, case_verdict, result_of
from evaluations.grading.results import Finding
from evaluations.judges import findings
from evaluations.judges.asking import Asked
from evaluations.judges.interface import (
    DEFAULT_CRITERION,
    TOOL_CALL,
    Judge,
    JudgeError,
    JudgeRequest,
    TokenUsage,
    Verdict,
)
from evaluations.judges.material import case_material
from evaluations.judges.prompt import shipped_prompt
from evaluations.judges.rendering import render, request_digest, rubric_digest
from evaluations.services.judges import judge_named, judge_request
from evaluations.services.kits import Kit
from evaluations.services.outcomes import errors_told


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One semantic expectation of one subject. `problem`: why nobody can be asked; "" where somebody can."""

    subject_id: int
    position: int
    item: CompiledExpectation
    criterion: str
    rubric_sha256: str
    request: JudgeRequest
    judge: Judge
    digest: str
    problem: str = ""

    @property
    def shown(self) -> str:
        return render(self.request, shipped_prompt()).text


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a question ended: a verdict, an error, or (both None) nobody was asked."""

    finding: Finding
    verdict: Verdict | None = None
    error: JudgeError | None = None
    shown: str = ""
    answered: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)
    attempts: int = 0
    from_cache: bool = False
    cost_usd: float | None = 0.0
    duration_ms: int = 0


@dataclass(slots=True)
class Subject:
    """A case or a session that waits for its judge.

    `results`: those that stand already, by position. `broken`: why nothing of it can be judged here.
    """

    id: int
    kit: Kit | None
    results: Mapping[int, Result]
    questions: tuple[Question, ...] = ()
    broken: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return len(self.outcomes) == len(self.questions)

    def judged_results(self) -> list[tuple[Question, Outcome, Result]]:
        """The results that judging gave, in order; nothing in them repeats a planted secret."""
        assert self.kit is not None or not self.questions
        found = []
        for question in self.questions:
            outcome = self.outcomes[question.position]
            result = result_of(question.item, outcome.finding, self.kit.redaction.value)  # type: ignore[union-attr]
            found.append((question, outcome, result))
        return found

    def merged(self, judged: Iterable[tuple[Question, Outcome, Result]]) -> Merged:
        """What all results together make of it."""
        results = dict(self.results) | {question.position: result for question, _, result in judged}
        ordered = [results[position] for position in sorted(results)]
        verdict, reason = case_verdict(ordered), errors_told(ordered)
        if self.broken and verdict != "FAILED":
            verdict, reason = "ERRORED", self.broken
        scores = [result.evidence.get("score") for result in ordered if result.type == "semantic"]
        known = [score for score in scores if isinstance(score, int | float)]
        metrics = {**self.metrics, "semantic_score": sum(known) / len(known) if known else None}
        return Merged(tuple(ordered), verdict, reason, metrics)


@dataclass(frozen=True, slots=True)
class Merged:
    """The grade of a subject once every expectation has its result."""

    results: tuple[Result, ...]
    verdict: str
    error_reason: str
    metrics: dict[str, Any]


def questions_of(
    *,
    subject_id: int,
    kit: Kit,
    answer: Mapping[str, Any] | None,
    records: Iterable[Any],
    always_the_same: bool,
    subject: str,
) -> tuple[Question, ...]:
    """The questions of a stored case. `answer` and `records` are as they are stored: redacted.

    `always_the_same`: the agent is deterministic, so that the same material is the same question wherever it
    turns up. Trials of any other agent are judged one by one: `subject` sets them apart.
    """
    hide = kit.redaction.value
    output = (answer or {}).get("output") or ""
    material = case_material(answer=output, customer_message=hide(kit.scenario.message), records=records)
    found = []
    for position in kit.judged:
        item, written = kit.expectations[position], kit.scenario.expectations[position]
        request = judge_request(
            category=written.category,
            rubric=hide(item.params.rubric),
            threshold=item.params.threshold,
            material=material,
        )
        judge, problem = judge_named(item.params.judge)
        found.append(
            Question(
                subject_id=subject_id,
                position=position,
                item=item,
                criterion=written.category or DEFAULT_CRITERION,
                rubric_sha256=rubric_digest(item.params.rubric),
                request=request,
                judge=judge,
                digest=request_digest(
                    request, judge.identity, address=judge.address, of="" if always_the_same else subject
                ),
                problem=problem,
            )
        )
    return tuple(found)


def answered(question: Question, asked: Asked, hide: Any) -> Outcome:
    """The outcome of a question that was asked. `hide` redacts planted secrets in what came back."""
    shown, identity = question.shown, question.judge.identity
    common: dict[str, Any] = {
        "shown": shown,
        "attempts": asked.attempts,
        "cost_usd": asked.cost_usd,
        "duration_ms": round(asked.seconds * 1000),
    }
    if asked.answer is not None:
        verdict = replace(asked.answer.verdict, reason=hide(asked.answer.verdict.reason))
        finding = findings.judged(
            verdict,
            threshold=question.request.threshold,
            identity=identity,
            criterion=question.criterion,
        )
        return Outcome(
            _with_calls(finding, verdict), verdict, None, answered=hide(asked.answer.raw),
            usage=asked.answer.usage, **common,
        )  # fmt: skip
    assert asked.error is not None
    error = JudgeError(asked.error.kind, hide(asked.error.detail), usage=asked.error.usage)
    return _failed(question, error, answered=hide(asked.error.raw), **common)


def remembered(question: Question, verdict: Verdict, *, shown: str, answered: str) -> Outcome:
    """The outcome of a question that was answered before: nobody was asked, nothing was paid."""
    finding = findings.judged(
        verdict,
        threshold=question.request.threshold,
        identity=question.judge.identity,
        criterion=question.criterion,
    )
    return Outcome(_with_calls(finding, verdict), verdict, shown=shown, answered=answered, from_cache=True)


def unasked(question: Question, error: JudgeError) -> Outcome:
    """ERROR without a question having gone out."""
    return _failed(question, error)


def unaffordable(question: Question, spent: str) -> Outcome:
    """SKIPPED: the budget is used up."""
    finding = findings.beyond_budget(spent, identity=question.judge.identity, criterion=question.criterion)
    return Outcome(finding)


def _failed(question: Question, error: JudgeError, attempts: int = 0, **more: Any) -> Outcome:
    finding = findings.not_judged(
        error, identity=question.judge.identity, criterion=question.criterion, attempts=attempts
    )
    return Outcome(finding, None, error, usage=error.usage, attempts=attempts, **more)


def _with_calls(finding: Finding, verdict: Verdict) -> Finding:
    """The calls a verdict quotes are its evidence."""
    named = [quote.source.partition(":") for quote in verdict.quotes]
    calls = sorted({int(number) for source, _, number in named if source == TOOL_CALL})
    return Finding(finding.status, finding.reason, finding.label, tuple(calls), (), finding.more)
