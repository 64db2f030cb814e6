"""The trials of one scenario in the comparisons of an agent, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from evaluations.grading.statistics import TaskTrials, rate_words, task_trials
from evaluations.holdouts import seen
from evaluations.models import Case, CaseState, Comparison, ComparisonState, Side
from scenarios.holdouts import Sight
from scenarios.models import ScenarioVersion

# Comparisons of the agent that are looked through, and how many of them are shown.
LOOKED_THROUGH = 200
SHOWN = 24
_ENDED = (ComparisonState.COMPLETED, ComparisonState.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class HistorySide:
    version: str
    trials: TaskTrials

    @property
    def words(self) -> str:
        """`70% (40% to 89%)`, the pass rate with its interval."""
        interval = self.trials.interval
        if interval is None:
            return rate_words(None)
        return (
            f"{rate_words(self.trials.pass_rate)} ({rate_words(interval.low)} to {rate_words(interval.high)})"
        )


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One comparison; `baseline` is None where the candidate was tried alone."""

    comparison: Comparison
    is_this: bool
    baseline: HistorySide | None
    candidate: HistorySide | None


def trials_over_time(comparison: Comparison, scenario: str, sight: Sight) -> list[HistoryPoint]:
    """The latest ended comparisons of this agent that tried the scenario, oldest first: three queries."""
    ended = Comparison.objects.with_names().filter(agent=comparison.agent_id, state__in=_ENDED)
    latest = {one.pk: one for one in ended.order_by("-pk")[:LOOKED_THROUGH]}
    latest[comparison.pk] = comparison
    versions = ScenarioVersion.objects.filter(scenario__name=scenario).values_list("pk", flat=True)
    rows = (
        seen(Case.objects.all(), sight, pair="pair")
        .filter(
            pair__comparison__in=list(latest), pair__scenario_version__in=list(versions), pair__replaced=False
        )
        .order_by()
        .values_list("pair__comparison_id", "run__side", "state", "effective_verdict")
        .annotate(number=Count("pk"))
    )
    found: dict[int, dict[str, list[str | None]]] = {}
    for pk, side, state, verdict, number in rows:
        verdicts = found.setdefault(pk, {}).setdefault(side, [])
        verdicts.extend([verdict if state == CaseState.FINISHED else None] * number)
    shown = sorted(found)[-SHOWN:]
    return [_point(latest[pk], comparison, found[pk]) for pk in shown]


def _point(one: Comparison, this: Comparison, verdicts: dict[str, list[str | None]]) -> HistoryPoint:
    versions = {Side.BASELINE.value: one.baseline_version or "", Side.CANDIDATE.value: one.candidate.version}
    sides = {side: HistorySide(versions[side], task_trials(own)) for side, own in verdicts.items()}
    return HistoryPoint(one, one.pk == this.pk, sides.get(Side.BASELINE), sides.get(Side.CANDIDATE))
