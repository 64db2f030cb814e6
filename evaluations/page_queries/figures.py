"""Figures of trials in the words of a page: n and c beside each, "not available" where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from evaluations.grading.statistics import SuiteMean, TaskTrials, rate_words
from evaluations.page_queries.selection import case_path
from evaluations.reporting.trial_figures import shown_ks
from evaluations.services.statistics import (
    CheckStatistics,
    ComparisonStatistics,
    CostRates,
    TaskStatistics,
)

CHECKS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One side of a task, or of the suite, in words; `missing` says why a mean of the suite is none."""

    side: str
    trials: TaskTrials
    rate: str
    interval: str
    at_k: str
    hat_k: str
    cost: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class TaskRow:
    task: TaskStatistics
    sides: tuple[FigureRow, ...]


@dataclass(frozen=True, slots=True)
class KRow:
    """The figures of one k: a word for pass@k and one for pass^k per side."""

    k: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """One side's line in a picture: (k, figure), only where there is one."""

    side: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class CheckRow:
    check: CheckStatistics
    baseline: str
    candidate: str
    direction: str
    href: str


def suite_rows(statistics: ComparisonStatistics, k: int, rates: CostRates) -> list[FigureRow]:
    """The suite's means, a row per side."""
    rows = []
    for side in statistics.sides:
        rate = statistics.mean_pass_rate(side)
        at_k, hat_k = statistics.mean_pass_at_k(side, k), statistics.mean_pass_hat_k(side, k)
        together = statistics.all_trials(side)
        rows.append(
            FigureRow(
                side=side.lower(),
                trials=together.trials,
                rate=rate_words(rate.value),
                interval=_missing(rate),
                at_k=rate_words(at_k.value),
                hat_k=rate_words(hat_k.value),
                cost=together.cost_per_success(rates).words,
                missing=_missing(hat_k),
            )
        )
    return rows


def task_row(task: TaskStatistics, k: int, rates: CostRates) -> TaskRow:
    sides = []
    for side, own in task.sides.items():
        trials, interval = own.trials, own.trials.interval
        sides.append(
            FigureRow(
                side=side.lower(),
                trials=trials,
                rate=rate_words(trials.pass_rate),
                interval=""
                if interval is None
                else f"{rate_words(interval.low)} to {rate_words(interval.high)}",
                at_k=rate_words(trials.pass_at_k(k)),
                hat_k=rate_words(trials.pass_hat_k(k)),
                cost=own.cost_per_success(rates).words,
            )
        )
    return TaskRow(task, tuple(sides))


def suite_k_rows(statistics: ComparisonStatistics) -> list[KRow]:
    """The shown k for which a side has means: pass@k and pass^k of the first side, then of the second."""
    means = (statistics.mean_pass_at_k, statistics.mean_pass_hat_k)
    rows = []
    for k in shown_ks(statistics.most_trials):
        figures = [mean(side, k).value for side in statistics.sides for mean in means]
        if any(figure is not None for figure in figures):
            rows.append(KRow(k, tuple(map(rate_words, figures))))
    return rows


def suite_without(statistics: ComparisonStatistics, rows: Sequence[KRow]) -> str:
    """Why the rows end where they do: a sentence, or nothing if every shown k has a row."""
    beyond = [k for k in shown_ks(statistics.most_trials) if k not in {row.k for row in rows}]
    if not beyond:
        return ""
    mean = statistics.mean_pass_hat_k(statistics.sides[-1], beyond[0])
    return f"From k = {beyond[0]} on: not available, only {mean.available} of {mean.tasks} tasks have one."


def task_k_rows(task: TaskStatistics) -> list[KRow]:
    """The same of one task."""
    trials = [own.trials for own in task.sides.values()]
    most = max((own.n for own in trials), default=0)
    return [
        KRow(
            k,
            tuple(word for own in trials for word in map(rate_words, (own.pass_at_k(k), own.pass_hat_k(k)))),
        )
        for k in shown_ks(most)
    ]


def suite_curves(statistics: ComparisonStatistics) -> list[Curve]:
    """pass^k against k as the suite's means, for each side."""

    def mean(side: str, k: int) -> float | None:
        return statistics.mean_pass_hat_k(side, k).value

    return [_curve(side, statistics.most_trials, partial(mean, side)) for side in statistics.sides]


def task_curves(task: TaskStatistics) -> list[Curve]:
    """pass^k against k of one task, for each side."""
    return [_curve(side, own.trials.n, own.trials.pass_hat_k) for side, own in task.sides.items()]


def is_a_picture(curves: Iterable[Curve]) -> bool:
    """Whether there is a line to look at: one point is a number."""
    return any(len(curve.points) > 1 for curve in curves)


def check_rows(comparison_id: int, checks: Iterable[CheckStatistics]) -> list[CheckRow]:
    """Checks whose rates differ, the least likely to be noise first."""
    differing = [check for check in checks if check.differs and check.test is not None]
    differing.sort(key=lambda check: (check.test.p_value if check.test else 1.0, not check.is_worse))
    return [_check_row(comparison_id, check) for check in differing]


def task_check_rows(statistics: ComparisonStatistics, task: TaskStatistics) -> list[CheckRow]:
    """The checks of one task that failed in some trial, in the order of their ids."""
    return [
        _check_row(statistics.comparison_id, check)
        for check in _checks_of(statistics, task)
        if check.baseline[1] or check.candidate[1]
    ]


def never_failing(statistics: ComparisonStatistics, task: TaskStatistics) -> int:
    """How many checks of one task are not among `task_check_rows`."""
    return len(_checks_of(statistics, task)) - len(task_check_rows(statistics, task))


def _checks_of(statistics: ComparisonStatistics, task: TaskStatistics) -> list[CheckStatistics]:
    version = task.scenario_version_id
    return [check for check in statistics.checks if check.scenario_version_id == version]


def _check_row(comparison_id: int, check: CheckStatistics) -> CheckRow:
    return CheckRow(
        check=check,
        baseline=f"{check.baseline[1]} of {sum(check.baseline)}",
        candidate=f"{check.candidate[1]} of {sum(check.candidate)}",
        direction="more often" if check.is_worse else "less often",
        href=case_path(comparison_id, check.scenario),
    )


def _curve(side: str, trials: int, figure: Callable[[int], float | None]) -> Curve:
    points = ((k, figure(k)) for k in shown_ks(trials))
    return Curve(side.lower(), tuple((k, value) for k, value in points if value is not None))


def _missing(mean: SuiteMean) -> str:
    return "" if mean.complete else f"for {mean.available} of {mean.tasks} tasks"
