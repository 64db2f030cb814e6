"""The figures of repeated trials as they are written in reports and answered by the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evaluations.grading.statistics import (
    CostPerSuccess,
    PairedCounts,
    Significance,
    SuiteMean,
    TaskTrials,
    rate_words,
)
from evaluations.services.statistics import (
    NO_RATES,
    CheckStatistics,
    ComparisonStatistics,
    CostRates,
    SideTrials,
    TaskStatistics,
)

# Every k up to ten, then fewer: figures of k = 37 tell nobody more than those of 30 and 40.
_FEWER = (15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 750, 1000)
_NAMED = 10


def shown_ks(trials: int) -> list[int]:
    """The k of which figures are shown where there are so many trials; the last is always among them."""
    return [k for k in (*range(1, _NAMED + 1), *_FEWER) if k < trials] + ([trials] if trials else [])


def usual_k(trials: int) -> int:
    """The k that is told first: 3, or fewer where no task has so many trials."""
    return max(1, min(3, trials))


def figures_object(statistics: ComparisonStatistics, rates: CostRates = NO_RATES) -> dict[str, Any]:
    """Everything, with null where a figure is not available. The suite's means stand before its tasks."""
    return {
        "suite": {_key(side): _suite(statistics, side, rates) for side in statistics.sides},
        "paired": _paired(statistics.paired, statistics.mcnemar),
        "unequal": list(statistics.unequal),
        "rerun": statistics.rerun,
        "tasks": [_task(task, statistics.sides, rates) for task in statistics.tasks],
        "checks": [_check(check) for check in statistics.checks if check.differs],
    }


def _suite(statistics: ComparisonStatistics, side: str, rates: CostRates) -> dict[str, Any]:
    together = statistics.all_trials(side)
    return {
        "tasks": len(statistics.tasks),
        **_counts(together.trials),
        "mean_pass_rate": _mean(statistics.mean_pass_rate(side)),
        "by_k": [
            {
                "k": k,
                "mean_pass_at_k": _mean(statistics.mean_pass_at_k(side, k)),
                "mean_pass_hat_k": _mean(statistics.mean_pass_hat_k(side, k)),
            }
            for k in shown_ks(statistics.most_trials)
        ],
        "cost_per_success": _cost(together.cost_per_success(rates)),
    }


def _mean(mean: SuiteMean) -> dict[str, Any]:
    return {"value": mean.value, "tasks": mean.tasks, "tasks_with_a_figure": mean.available}


def _task(task: TaskStatistics, sides: tuple[str, ...], rates: CostRates) -> dict[str, Any]:
    return {
        "scenario": task.scenario,
        "severity": task.severity,
        "rerun": task.rerun,
        **{_key(side): _side(task.sides[side], rates) for side in sides},
        "paired": _paired(task.paired, None) if len(sides) > 1 else None,
    }


def _side(side: SideTrials, rates: CostRates) -> dict[str, Any]:
    trials = side.trials
    interval = trials.interval
    return {
        **_counts(trials),
        "pass_rate": trials.pass_rate,
        "interval": None if interval is None else [interval.low, interval.high],
        "by_k": [
            {"k": k, "pass_at_k": trials.pass_at_k(k), "pass_hat_k": trials.pass_hat_k(k)}
            for k in shown_ks(trials.n)
        ],
        "cost_per_success": _cost(side.cost_per_success(rates)),
    }


def _counts(trials: TaskTrials) -> dict[str, int]:
    return {"n": trials.n, "c": trials.c, "failed": trials.failed, "errored": trials.errored}


def _cost(cost: CostPerSuccess) -> dict[str, Any]:
    return {"state": cost.state, "usd": cost.usd}


def _paired(counts: PairedCounts, test: Significance | None) -> dict[str, Any]:
    return {
        "both_pass": counts.both_pass,
        "both_fail": counts.both_fail,
        "only_baseline": counts.only_baseline,
        "only_candidate": counts.only_candidate,
        "without_evidence": counts.without_evidence,
        "test": _test(test),
    }


def _check(check: CheckStatistics) -> dict[str, Any]:
    sides = (("baseline", check.baseline), ("candidate", check.candidate))
    return {
        "scenario": check.scenario,
        "id": check.expectation_id,
        "critical": check.critical,
        **{name: {"passed": passed, "failed": failed} for name, (passed, failed) in sides},
        "unmeasured": check.unmeasured,
        "test": _test(check.test),
    }


def _test(test: Significance | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "p_value": test.p_value,
        "adjusted_p_value": test.deciding,
        "significant": test.significant,
        "words": test.words,
    }


def _key(side: str) -> str:
    return side.lower()


# ------------------------------------------------------------------------------------------- text


def figures_lines(statistics: ComparisonStatistics, most_tasks: int | None = None) -> Iterator[str]:
    """The same for a terminal: the suite's mean above the list of its tasks, n and c beside every figure.

    Of more than `most_tasks` the worst are told, and how many are not.
    """
    told = statistics.tasks[:most_tasks]
    k = usual_k(statistics.most_trials)
    yield f"trials: passed of all with its 95% interval; pass@{k}: one of {k} passes; pass^{k}: all {k} do"
    width = max([len("mean over tasks"), *(len(task.scenario) for task in told)])
    for side in statistics.sides:
        means = (
            statistics.mean_pass_rate(side),
            statistics.mean_pass_at_k(side, k),
            statistics.mean_pass_hat_k(side, k),
        )
        rate, at_k, hat_k = (_mean_words(mean) for mean in means)
        yield f"  {'mean over tasks':<{width}}  {_key(side):<9}  {rate}, pass@{k} {at_k}, pass^{k} {hat_k}"
    for task in told:
        for number, side in enumerate(statistics.sides):
            name = task.scenario if number == 0 else ""
            yield f"  {name:<{width}}  {_key(side):<9}  {_side_line(task.sides[side].trials, k)}"
        if task.rerun:
            yield f"  {'':<{width}}  {task.rerun} errored, run again"
    if len(told) < len(statistics.tasks):
        yield f"  {len(statistics.tasks) - len(told)} more tasks are not listed"
    if len(statistics.sides) > 1:
        yield from _paired_lines(statistics)
    yield from statistics.unequal


def _side_line(trials: TaskTrials, k: int) -> str:
    errored = f", {trials.errored} errored" if trials.errored else ""
    counts = f"{trials.c} of {trials.n}{errored}"
    interval = trials.interval
    if interval is None:
        return f"{rate_words(None)} ({counts})"
    between = f"{rate_words(interval.low)} to {rate_words(interval.high)}"
    figures = f"pass@{k} {rate_words(trials.pass_at_k(k))}, pass^{k} {rate_words(trials.pass_hat_k(k))}"
    return f"{rate_words(trials.pass_rate)} ({counts}, {between}), {figures}"


def _mean_words(mean: SuiteMean) -> str:
    if mean.complete or not mean.tasks:
        return rate_words(mean.value)
    return f"{rate_words(None)} ({mean.available} of {mean.tasks} tasks have it)"


def _paired_lines(statistics: ComparisonStatistics) -> Iterator[str]:
    counts = statistics.paired
    without = f", {counts.without_evidence} without evidence on both" if counts.without_evidence else ""
    yield (
        f"both sides of a trial: {counts.both_pass} both pass, {counts.both_fail} both fail, "
        f"{counts.only_baseline} only the baseline, {counts.only_candidate} only the candidate{without}"
    )
    if statistics.mcnemar is not None and counts.only_baseline != counts.only_candidate:
        yield f"  the difference: {statistics.mcnemar.words} (exact McNemar)"
    for check in statistics.checks:
        if check.differs and check.test is not None and check.test.significant:
            word = "more" if check.is_worse else "less"
            yield (
                f"  {check.scenario}: {check.expectation_id} fails {word} often, {check.baseline[1]} of "
                f"{sum(check.baseline)} -> {check.candidate[1]} of {sum(check.candidate)}: "
                f"{check.test.words} (Fisher)"
            )
