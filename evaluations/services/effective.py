"""What a person's decision makes of a case: the effective status of one result, and all that follows from it.

The measured status, the records and the first divergence never change; what follows is worked out again from
stored results, without running anything. Totals are counted from the pairs, so they follow by themselves.
Nobody calls this but a service that keeps a record of who decided and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from evaluations.grading import Result, case_verdict
from evaluations.models import (
    CLASS_RANKS,
    Case,
    CaseClass,
    CaseState,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    Side,
)
from evaluations.services.concluding import comparison_verdict
from evaluations.services.pairing import Compared, StoredSide, classed_pair

# Pairs looked at together by `strayed_standings`.
STANDINGS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand: the result, the verdict of its side, the class of the pair, the comparison.

    `classification` is None for a pair that was never classified (a cancelled comparison).
    """

    status: str
    verdict: str
    classification: str | None
    reason: str
    newly_failing: tuple[str, ...]
    comparison_state: str

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "verdict": self.verdict,
            "classification": self.classification,
            "newly_failing": list(self.newly_failing),
            "comparison_state": self.comparison_state,
        }


@dataclass(frozen=True, slots=True)
class Effect:
    """What a status changes. `critical_failing`: the candidate's critical checks that newly fail then."""

    side: str
    expectation_id: str
    before: Standing
    after: Standing
    critical_failing: tuple[str, ...]


def preview_effective_status(*, result: ExpectationResult, status: str) -> Effect:
    """What would follow if the result had this effective status. Writes nothing; three queries."""
    pair = PairedCase.objects.select_related("comparison").get(cases__results=result.pk)
    return _effect(_Loaded.of(pair, result.pk), status)


@transaction.atomic
def set_effective_status(*, result: ExpectationResult, status: str) -> Effect:
    """Give the result this effective status; its case, pair and comparison follow in the same transaction.

    The comparison and the pair stay locked until the end of the transaction: two decisions in one comparison
    follow one another, or each would work the classes out without seeing the other.
    """
    pair = lock_pair_of(result.pk)
    loaded = _Loaded.of(pair, result.pk)
    effect = _effect(loaded, status)
    ExpectationResult.objects.filter(pk=result.pk).update(effective_status=status)
    Comparison.objects.filter(pk=pair.comparison_id).update(evidence_changed_at=timezone.now())
    Case.objects.filter(pk=loaded.case.pk).update(effective_verdict=effect.after.verdict)
    result.effective_status = status
    if pair.classification is None:
        return effect
    compared = loaded.compared()
    pair.classification, pair.class_rank = compared.klass, CLASS_RANKS[compared.klass]
    pair.reason, pair.newly_failing = compared.reason, list(compared.newly_failing)
    pair.flags = list(compared.flags)
    pair.save(update_fields=["classification", "class_rank", "reason", "newly_failing", "flags"])
    return _with_comparison(effect, pair.comparison)


def lock_pair_of(result_id: int) -> PairedCase:
    """The pair of a result and its comparison, both locked, the comparison first.

    Raises ExpectationResult.DoesNotExist.
    """
    found = ExpectationResult.objects.values("case__pair_id", "case__pair__comparison_id").get(pk=result_id)
    comparison = Comparison.objects.select_for_update().get(pk=found["case__pair__comparison_id"])
    pair = PairedCase.objects.select_for_update().get(pk=found["case__pair_id"])
    pair.comparison = comparison
    return pair


def strayed_standings() -> Iterator[str]:
    """Cases whose verdict, and pairs whose class, is not what their effective results make of them.

    Memory does not grow with their number. What a decision moves at this moment is looked at again, locked.
    """
    last = 0
    pairs = PairedCase.objects.select_related("comparison").defer("comparison__selection").order_by("pk")
    while chunk := list(pairs.filter(pk__gt=last)[:STANDINGS_AT_ONCE]):
        last = chunk[-1].pk
        for pk, found in _standing_problems(chunk).items():
            if found:
                yield from _standing_problems_now(pk)


def _standing_problems_now(pair_id: int) -> list[str]:
    with transaction.atomic():
        comparison_id = PairedCase.objects.values_list("comparison_id", flat=True).get(pk=pair_id)
        Comparison.objects.select_for_update().get(pk=comparison_id)
        pair = PairedCase.objects.select_for_update().get(pk=pair_id)
        return _standing_problems([pair])[pair_id]


def _standing_problems(pairs: Sequence[PairedCase]) -> dict[int, list[str]]:
    """By pair; three queries, without answers, records or evidence."""
    results = ExpectationResult.objects.defer("evidence").order_by("case_id", "position")
    cases = (
        Case.objects.filter(pair__in=pairs)
        .select_related("run")
        .defer("answer", "metrics")
        .prefetch_related(Prefetch("results", results))
    )
    sides: dict[int, dict[str, StoredSide]] = {pair.pk: {} for pair in pairs}
    for case in cases:
        sides[case.pair_id][case.run.side] = StoredSide(case.run.side, case, list(case.results.all()))
    return {pair.pk: list(_pair_problems(pair, sides[pair.pk])) for pair in pairs}


def _pair_problems(pair: PairedCase, sides: dict[str, StoredSide]) -> Iterator[str]:
    name = f"{pair} in comparison {pair.comparison_id}"
    for side, stored in sorted(sides.items()):
        counts = stored.case.effective_verdict
        if stored.case.state == CaseState.FINISHED:
            verdict = case_verdict([_graded(row) for row in stored.results])
            if counts != verdict:
                yield f"the {side.lower()} of {name} counts as {counts}; its results make it {verdict}"
    if pair.classification is None or len(sides) < len(pair.comparison.sides):
        return
    found = classed_pair(pair, sides.get(Side.BASELINE), sides[Side.CANDIDATE])
    if pair.classification != found.klass or pair.class_rank != CLASS_RANKS[found.klass]:
        yield f"{name} counts as {pair.classification}; its results make it {found.klass}"
    elif pair.newly_failing != list(found.newly_failing):
        yield f"{name} names other newly failing checks than its results do"


@dataclass(slots=True)
class _Loaded:
    """A pair with both sides' results, one of which is in question."""

    pair: PairedCase
    sides: dict[str, StoredSide]
    result: ExpectationResult
    case: Case

    @classmethod
    def of(cls, pair: PairedCase, result_id: int) -> _Loaded:
        cases = list(Case.objects.filter(pair=pair).select_related("run").prefetch_related("results"))
        # The trajectories are not needed: what was called decides no class.
        sides = {case.run.side: StoredSide(case.run.side, case, list(case.results.all())) for case in cases}
        result, case = next(
            (row, side.case) for side in sides.values() for row in side.results if row.pk == result_id
        )
        return cls(pair, sides, result, case)

    @property
    def own_results(self) -> Sequence[ExpectationResult]:
        return self.sides[self.case.run.side].results

    def compared(self) -> Compared:
        return classed_pair(self.pair, self.sides.get(Side.BASELINE), self.sides[Side.CANDIDATE])


def _effect(loaded: _Loaded, status: str) -> Effect:
    pair, case, result = loaded.pair, loaded.case, loaded.result
    before = Standing(
        status=result.effective_status,
        verdict=case.effective_verdict or "",
        classification=pair.classification,
        reason=pair.reason,
        newly_failing=tuple(pair.newly_failing),
        comparison_state=pair.comparison.state,
    )
    result.effective_status = status
    case.effective_verdict = case_verdict([_graded(row) for row in loaded.own_results])
    compared = loaded.compared() if pair.classification is not None else None
    after = Standing(
        status=status,
        verdict=case.effective_verdict,
        classification=compared.klass if compared else None,
        reason=compared.reason if compared else pair.reason,
        newly_failing=tuple(compared.newly_failing) if compared else (),
        comparison_state=pair.comparison.state,
    )
    critical = {row.expectation_id for row in loaded.sides[Side.CANDIDATE].results if row.critical}
    failing = tuple(name for name in after.newly_failing if name in critical)
    return Effect(case.run.side, result.expectation_id, before, after, failing)


def _graded(row: ExpectationResult) -> Result:
    """A stored result as the grading room knows it, with its effective status."""
    return Result(
        id=row.expectation_id,
        type=row.type,
        critical=row.critical,
        status=row.effective_status,
        label=row.label,
        reason=row.reason,
        evidence={},  # a verdict needs none
    )


def _with_comparison(effect: Effect, comparison: Comparison) -> Effect:
    """A comparison is INCOMPLETE while one of its pairs is; a decision may complete it, or undo that."""
    ended = (ComparisonState.COMPLETED, ComparisonState.INCOMPLETE)
    classes = {effect.before.classification, effect.after.classification}
    if comparison.state not in ended or len(classes) == 1 or CaseClass.INCOMPLETE.value not in classes:
        return effect
    state, reason = comparison_verdict(comparison.pk)
    if (state, reason) != (comparison.state, comparison.reason):
        comparison.state, comparison.reason = state, reason
        comparison.save(update_fields=["state", "reason"])
    return replace(effect, after=replace(effect.after, comparison_state=state))
