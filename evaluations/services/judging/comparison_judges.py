"""Which judges gave verdicts in a comparison, and by which rubrics: noted with the verdicts themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evaluations.models import Case, ComparisonJudge, JudgeVerdict, ResultStatus
from twins.engine.values import digest

_OF_A_JUDGE = (
    "provider", "model", "judge_label", "prompt_version", "prompt_sha256", "criterion", "rubric_sha256",
)  # fmt: skip


def note_judges(verdicts: Sequence[tuple[int, JudgeVerdict]]) -> None:
    """Note who judged, given (case, verdict); inside the transaction that stores them: two queries.

    Whoever was not asked judged nothing. What is noted already stays; others may note the same meanwhile.
    """
    verdicts = [one for one in verdicts if one[1].status != ResultStatus.SKIPPED]
    comparisons = _comparisons({case_id for case_id, _ in verdicts})
    found: dict[tuple[int, str], ComparisonJudge] = {}
    for case_id, verdict in verdicts:
        values = {name: getattr(verdict, name) for name in _OF_A_JUDGE}
        row = ComparisonJudge(comparison_id=comparisons[case_id], digest=digest(values), **values)
        found.setdefault((row.comparison_id, row.digest), row)
    # In one order for everybody: two transactions cannot wait for each other's rows.
    ComparisonJudge.objects.bulk_create([found[key] for key in sorted(found)], ignore_conflicts=True)


def _comparisons(case_ids: Collection[int]) -> dict[int, int]:
    return dict(Case.objects.filter(pk__in=case_ids).values_list("pk", "run__comparison_id"))
