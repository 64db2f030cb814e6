"""Verdicts of judges that a person should look at, read from what was stored when a comparison ended.

* UNCALIBRATED_CRITICAL: a critical check, decided by a judge that is not calibrated for its rubric.
* LOW_CONFIDENCE: the judge says itself that it is less sure than the policy asks for.
* SAMPLE: drawn from what passes for the candidate and is in neither of the above. What is drawn hangs on the
  version, the scenario, the seed and the check alone, so the same comparison always asks for the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from evaluations.judges.interface import JudgeIdentity
from evaluations.models import Comparison, JudgeVerdict, ResultStatus, Side
from evaluations.services.calibration import Key, Standing, standings
from reviews.models import QueueEntry, QueueReason
from reviews.services.needs import Need, line, rank
from reviews.two_reviewers import Policy, is_sampled

BATCH = 500
_OF_JUDGE = ("provider", "model", "prompt_version", "prompt_sha256", "criterion", "rubric_sha256")


class _Row(NamedTuple):
    pair_id: int
    class_rank: int
    severity_rank: int
    result_id: int
    side: str
    critical: bool
    status: str
    expectation_id: str
    reason: str
    confidence: float
    agent_digest: str
    scenario_digest: str
    seed: int
    trial: int
    provider: str
    model: str
    prompt_version: str
    prompt_sha256: str
    criterion: str
    rubric_sha256: str

    @property
    def key(self) -> Key:
        """What its calibration is asked for by."""
        judge = JudgeIdentity(self.provider, self.model, self.prompt_version, self.prompt_sha256)
        return judge, self.criterion, self.rubric_sha256

    @property
    def drawn_by(self) -> tuple[object, ...]:
        return self.agent_digest, self.scenario_digest, self.seed, self.trial, self.expectation_id


def judged(comparison: Comparison, policy: Policy) -> Iterator[tuple[QueueEntry, list[int]]]:
    """An entry a pair and reason, with the results it is about; one pass, and three queries before it."""
    verdicts = JudgeVerdict.objects.filter(
        result__case__pair__comparison=comparison,
        result__case__pair__replaced=False,
        status__in=[ResultStatus.PASS, ResultStatus.FAIL],
    )
    critical = verdicts.filter(result__critical=True).order_by()
    keys = critical.values_list(*_OF_JUDGE).distinct()
    known = standings((JudgeIdentity(*key[:4]), key[4], key[5]) for key in keys)
    rows = verdicts.order_by("result__case__pair_id", "result__case__run__side", "result__position")
    for (pair_id, class_rank, severity_rank), found in groupby(
        map(_Row._make, rows.values_list(*_COLUMNS).iterator(BATCH)), key=lambda row: row[:3]
    ):
        for reason, need in _needs(found, known, policy).items():
            yield need.entry(pair_id, reason, rank(class_rank, severity_rank)), need.results


def _needs(rows: Iterator[_Row], known: dict[Key, Standing], policy: Policy) -> dict[str, Need]:
    needs: dict[str, Need] = {}
    for row in rows:
        for reason, why in _reasons(row, known, policy):
            need = needs.setdefault(reason, Need())
            need.sides.add(row.side)
            need.lines.append(line(row.side, row.expectation_id, f"{row.status} by {why}: {row.reason}"))
            need.results.append(row.result_id)
    return needs


def _reasons(row: _Row, known: dict[Key, Standing], policy: Policy) -> list[tuple[str, str]]:
    """Why this verdict should be looked at, each with the judge as the reason makes it out."""
    found: list[tuple[str, str]] = []
    standing = known.get(row.key) if row.critical else None
    if standing is not None and not standing.is_calibrated:
        found.append((QueueReason.UNCALIBRATED_CRITICAL, f"{row.provider} ({standing.tag})"))
    if row.confidence < float(policy.confidence_below):
        sure = f"{row.provider}, {row.confidence:.2f} sure"
        found.append((QueueReason.LOW_CONFIDENCE, sure))
    is_quiet = row.status == ResultStatus.PASS and row.side == Side.CANDIDATE and not found
    if is_quiet and is_sampled(policy.sample_percent, row.drawn_by):
        found.append((QueueReason.SAMPLE, row.provider))
    return found


_COLUMNS: tuple[Any, ...] = (
    "result__case__pair_id",
    "result__case__pair__class_rank",
    "result__case__pair__severity_rank",
    "result_id",
    "result__case__run__side",
    "result__critical",
    "status",
    "result__expectation_id",
    "result__reason",
    "confidence",
    "result__case__run__agent_version__digest",
    "result__case__pair__scenario_version__digest",
    "result__case__pair__seed",
    "result__case__pair__trial",
    *_OF_JUDGE,
)
