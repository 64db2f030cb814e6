"""Reports for readers who may not look into holdouts: the same counts, and no word about any hidden case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evaluations.holdouts import hides_cases, shown_reason
from evaluations.models import CLASS_RANKS, Comparison
from scenarios.holdouts import Sight

if TYPE_CHECKING:
    from evaluations.reporting.report import CaseReport, ComparisonReport
    from evaluations.services.statistics import ComparisonStatistics

NAME = "[holdout]"
SEVERITY = "hidden"
WHY = "a case of a holdout: its details are shown only to those who may see them"


def as_seen(report: ComparisonReport, comparison: Comparison, sight: Sight) -> ComparisonReport:
    """The report as `sight` has it. Hidden cases keep their class alone, and stand at the end, worst first:
    neither their order nor anything in them says which scenario they are.
    """
    if sight.sees_all:
        return report
    hides_all = hides_cases(comparison, sight)
    hidden = [case for case in report.cases if hides_all or sight.hides(case.scenario)]
    if not hidden:
        return report
    shown = [case for case in report.cases if case not in hidden]
    nameless = sorted((_nameless(case) for case in hidden), key=lambda case: CLASS_RANKS[case.klass])
    return replace(
        report,
        cases=(*shown, *nameless),
        state_reason=shown_reason(comparison, sight),
        all_cases=report.all_cases or report.cases,
        # They are told scenario by scenario.
        statistics=None,
    )


def statistics_as_seen(
    statistics: ComparisonStatistics, comparison: Comparison, sight: Sight
) -> ComparisonStatistics:
    """The statistics of trials without the tasks that are hidden, for what is told task by task.

    Take what counts every task (the means, the paired counts) of the whole ones.
    """
    hides_all = hides_cases(comparison, sight)
    tasks = tuple(task for task in statistics.tasks if not (hides_all or sight.hides(task.scenario)))
    if len(tasks) == len(statistics.tasks):
        return statistics
    checks = tuple(check for check in statistics.checks if not (hides_all or sight.hides(check.scenario)))
    return replace(statistics, tasks=tasks, checks=checks, unequal=())


def _nameless(case: CaseReport) -> CaseReport:
    nothing = replace(
        case.candidate, verdict=None, tool_calls=0, retries=0, results=(), final_state_digest=None
    )
    return replace(
        case,
        scenario=NAME,
        trial=1,
        severity=SEVERITY,
        severity_rank=len(CLASS_RANKS),
        reason=WHY,
        first_divergence=None,
        newly_failing=(),
        baseline=None if case.baseline is None else nothing,
        candidate=nothing,
        is_hidden=True,
    )
