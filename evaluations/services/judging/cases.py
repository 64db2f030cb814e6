"""Cases of comparisons that wait for a judge: loaded, and stored with their merged grade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from evaluations.grading import Result
from evaluations.judges.interface import FAKE_LABEL
from evaluations.models import Case, CaseState, ExpectationResult, JudgeVerdict, ToolCall
from evaluations.services.bulk import update_rows
from evaluations.services.judging.claims import cases_to_judge, still_held
from evaluations.services.judging.comparison_judges import note_judges
from evaluations.services.judging.questions import Subject, questions_of
from evaluations.services.judging.verdict_rows import verdict_row
from evaluations.services.kits import KitKey, kits_for
from twins.engine.records import Record


class _Row(NamedTuple):
    """What is loaded of a case that waits: its answer, whose it is, and the names of its kit."""

    case_id: int
    answer: Mapping[str, Any] | None
    metrics: Mapping[str, Any]
    model_kind: str
    scenario_version_id: int
    scenario_digest: str
    twin_version_id: int
    twin_digest: str

    @property
    def kit_key(self) -> KitKey:
        return KitKey(*self[4:])


_ROW_FIELDS = (
    "pk", "answer", "metrics", "run__model_kind",
    "pair__scenario_version_id", "pair__scenario_version__digest",
    "pair__twin_version_id", "pair__twin_version__digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseShelf:
    """The cases of one comparison, or of all."""

    comparison_id: int | None

    @property
    def waiting(self) -> QuerySet[Case]:
        return cases_to_judge(self.comparison_id)

    def load(self, ids: Sequence[int]) -> list[Subject]:
        """Everything that judging these cases needs; a fixed number of queries."""
        rows = [
            _Row(*row) for row in Case.objects.filter(pk__in=ids).order_by("pk").values_list(*_ROW_FIELDS)
        ]
        kits = kits_for(row.kit_key for row in rows)
        records = _records(ids)
        results = _results(ids)
        return [
            self._subject(row, kits[row.kit_key], records[row.case_id], results[row.case_id]) for row in rows
        ]

    def _subject(
        self, row: _Row, kit: Any, records: Sequence[Record], results: Mapping[int, Result]
    ) -> Subject:
        if isinstance(kit, str):
            return Subject(row.case_id, None, results, broken=kit, metrics=row.metrics)
        questions = questions_of(
            subject_id=row.case_id,
            kit=kit,
            answer=row.answer,
            records=records,
            always_the_same=row.model_kind == FAKE_LABEL,
            subject=f"case {row.case_id}",
        )
        return Subject(row.case_id, kit, results, questions, metrics=row.metrics)

    def store(self, subjects: Sequence[Subject], token: str) -> int:
        """Write results, verdicts and grades of what is still ours; how many cases that was."""
        with transaction.atomic():
            held = still_held(self.waiting, [subject.id for subject in subjects], token)
            ours = [subject for subject in subjects if subject.id in held]
            now = timezone.now()
            graded = []
            rows: list[tuple[ExpectationResult, JudgeVerdict]] = []
            for subject in ours:
                judged = subject.judged_results()
                merged = subject.merged(judged)
                for question, outcome, result in judged:
                    row = _result_row(subject.id, question.position, result)
                    rows.append((row, verdict_row(question, outcome, result.status, result=row)))
                graded.append(
                    (
                        subject.id,
                        {
                            "state": CaseState.FINISHED,
                            "verdict": merged.verdict,
                            "effective_verdict": merged.verdict,
                            "error_reason": merged.error_reason,
                            "metrics": merged.metrics,
                            "claim_token": "",
                            "lease_expires_at": None,
                            "finished_at": now,
                        },
                    )
                )
            ExpectationResult.objects.bulk_create([row for row, _ in rows])
            for row, verdict in rows:
                verdict.result_id = row.pk
            JudgeVerdict.objects.bulk_create([verdict for _, verdict in rows])
            note_judges([(row.case_id, verdict) for row, verdict in rows])
            update_rows(Case, graded)
        return len(ours)


def _result_row(case_id: int, position: int, result: Result) -> ExpectationResult:
    row = ExpectationResult(
        case_id=case_id,
        position=position,
        expectation_id=result.id,
        type=result.type,
        critical=result.critical,
        status=result.status,
        effective_status=result.status,
        label=result.label,
        reason=result.reason,
    )
    row.evidence = result.evidence
    return row


def _records(case_ids: Sequence[int]) -> Mapping[int, list[Record]]:
    found: defaultdict[int, list[Record]] = defaultdict(list)
    for row in ToolCall.objects.filter(case__in=case_ids).order_by("case_id", "seq"):
        found[row.case_id].append(row.to_record())
    return found


def _results(case_ids: Sequence[int]) -> Mapping[int, dict[int, Result]]:
    """Those that stand already, by case and position."""
    found: defaultdict[int, dict[int, Result]] = defaultdict(dict)
    for row in ExpectationResult.objects.filter(case__in=case_ids).defer("evidence"):
        found[row.case_id][row.position] = Result(
            id=row.expectation_id,
            type=row.type,
            critical=row.critical,
            status=row.effective_status,
            label=row.label,
            reason=row.reason,
            evidence={},  # a verdict needs none
        )
    return found


def comparisons_waiting() -> Iterator[int]:
    """Comparisons with cases that wait for a judge while none of theirs is with one."""
    at_work = cases_to_judge().filter(lease_expires_at__gte=timezone.now())
    waiting = cases_to_judge().exclude(run__comparison__in=at_work.values("run__comparison"))
    yield from waiting.order_by("run__comparison").values_list("run__comparison", flat=True).distinct()
