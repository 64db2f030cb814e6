"""Who judged in a comparison, by what, and what that is worth: for its head, its reports and the API."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from evaluations.judges.interface import JudgeIdentity
from evaluations.models import ComparisonJudge
from evaluations.services.calibration import Key, Standing, standings


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """A judge, a criterion it judged by, and what its verdicts on that are worth."""

    judge: JudgeIdentity
    criterion: str
    standing: Standing

    def to_json(self) -> dict[str, Any]:
        return {
            "judge": self.judge.to_json(),
            "criterion": self.criterion,
            "standing": self.standing.to_json(),
        }


@dataclass(frozen=True, slots=True)
class JudgeOfComparison:
    """One judge of a comparison with all it judged by."""

    judge: JudgeIdentity
    criteria: tuple[JudgedBy, ...]


def judged_by(comparison_ids: Collection[int]) -> dict[int, tuple[JudgedBy, ...]]:
    """Who judged in each of these comparisons and by what: three queries, one where nobody did."""
    rows = ComparisonJudge.objects.filter(comparison__in=comparison_ids)
    noted = list(rows.order_by("comparison", "criterion", "id"))
    worth = standings({_key(row) for row in noted})
    told: dict[int, list[JudgedBy]] = {}
    for row in noted:
        one = JudgedBy(row.identity, row.criterion, worth[_key(row)])
        told.setdefault(row.comparison_id, []).append(one)
    return {comparison_id: tuple(ones) for comparison_id, ones in told.items()}


def by_judge(ones: Iterable[JudgedBy]) -> tuple[JudgeOfComparison, ...]:
    """The same, gathered under each judge."""
    found: dict[JudgeIdentity, list[JudgedBy]] = {}
    for one in ones:
        found.setdefault(one.judge, []).append(one)
    return tuple(JudgeOfComparison(judge, tuple(criteria)) for judge, criteria in found.items())


def _key(row: ComparisonJudge) -> Key:
    return row.identity, row.criterion, row.rubric_sha256
