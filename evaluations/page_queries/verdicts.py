"""What pages show of judges' verdicts: a line beside each check, and the whole of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from evaluations.holdouts import seen
from evaluations.judges.interface import FAKE_LABEL, JudgeIdentity
from evaluations.models import ExpectationResult, JudgeVerdict, ManualSession
from evaluations.services.calibration import Standing, standing, standings
from scenarios.holdouts import Sight

_LARGEST_ID = 2**63 - 1
_LONG = ("shown", "answered", "quotes")


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and what verdicts of that judge by that rubric are worth. The line has no long texts."""

    verdict: JudgeVerdict
    standing: Standing


@dataclass(slots=True)
class Judging:
    """One judge beside a check: what its verdicts are worth, and those it gave, by the name of their side."""

    identity: JudgeIdentity
    standing: Standing
    verdicts: list[tuple[str, JudgeVerdict]] = field(default_factory=list)

    @property
    def is_of_a_model(self) -> bool:
        """A judge that is none is told by its label alone."""
        return self.identity.label != FAKE_LABEL


def judgings(judged: Iterable[tuple[str, Judged | None]]) -> list[Judging]:
    """The verdicts of a check's sides, told together where one judge gave both."""
    found: dict[tuple[JudgeIdentity, Standing], Judging] = {}
    for side, one in judged:
        if one is not None:
            key = (one.verdict.identity, one.standing)
            found.setdefault(key, Judging(*key)).verdicts.append((side, one.verdict))
    return list(found.values())


def judged_results(results: Iterable[ExpectationResult]) -> dict[int, Judged]:
    """By result; no query where no expectation was for a judge, else three however many there are."""
    ids = [result.pk for result in results if result.type == "semantic"]
    found = _judged(JudgeVerdict.objects.filter(result__in=ids)) if ids else []
    return {one.verdict.result_id: one for one in found if one.verdict.result_id is not None}


def judged_session(session: ManualSession) -> dict[str, Judged]:
    """By the id of the expectation; as above."""
    if not any(result["type"] == "semantic" for result in session.results):
        return {}
    return {one.verdict.expectation_id: one for one in _judged(session.judge_verdicts.all())}


def verdicts_seen(rows: QuerySet[JudgeVerdict], sight: Sight) -> QuerySet[JudgeVerdict]:
    """The verdicts of cases and sessions this person may look into."""
    return sight.of(seen(rows, sight, pair="result__case__pair"), "session__scenario_version")


def verdict_at(pk: int, sight: Sight) -> Judged | None:
    """One verdict whole, with the case or session it is of: three queries. None also for a hidden one."""
    if pk > _LARGEST_ID:
        return None
    found = verdicts_seen(JudgeVerdict.objects.filter(pk=pk), sight).select_related(
        "result__case__run", "result__case__pair__comparison", "session__scenario_version__scenario"
    )
    row = found.defer("result__case__answer", "result__case__metrics", "session__records").first()
    if row is None:
        return None
    return Judged(row, standing(row.identity, row.criterion, row.rubric_sha256))


def _judged(rows: QuerySet[JudgeVerdict]) -> list[Judged]:
    return judged_rows(list(rows.defer(*_LONG)))


def judged_rows(verdicts: Sequence[JudgeVerdict]) -> list[Judged]:
    """These verdicts, in their order, with what they are worth: two queries."""
    keys = {row.pk: (row.identity, row.criterion, row.rubric_sha256) for row in verdicts}
    worth = standings(keys.values())
    return [Judged(row, worth[keys[row.pk]]) for row in verdicts]
