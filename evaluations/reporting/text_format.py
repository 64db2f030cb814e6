"""The text report: what got worse first, one line for each case that needs no attention."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluations.grading.run_findings import AGENT_RUN
from evaluations.reporting.judge_lines import judge_lines
from evaluations.reporting.report import CLASSES, CaseReport, ComparisonReport, ResultLine
from evaluations.reporting.trial_figures import figures_lines

_ORDER = {
    klass: rank for rank, klass in enumerate(("NEW_CRITICAL_FAILURE", "REGRESSED", "INCOMPLETE", "IMPROVED"))
}
_COUNTED = {
    "NEW_CRITICAL_FAILURE": ("new critical failure", "new critical failures"),
    "REGRESSED": ("regression", "regressions"),
    "IMPROVED": ("improved", "improved"),
    "UNCHANGED": ("unchanged", "unchanged"),
    "INCOMPLETE": ("incomplete", "incomplete"),
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def render_text(report: ComparisonReport) -> str:
    """A report for a terminal, without colours; what agents and tools wrote cannot move the cursor."""
    cases = sorted(report.cases, key=lambda case: (_ORDER.get(case.klass, len(_ORDER)), case.severity_rank))
    width = max((len(case.title(report.with_trials)) for case in cases), default=0)
    lines = [*_head(report), ""]
    for case in cases:
        lines.append(_headline(case, report.with_trials, width))
        lines.extend(f"    {line}" for line in _details(case))
    if report.statistics is not None:
        lines += ["", *figures_lines(report.statistics)]
    lines += ["", *_totals(report)]
    return "".join(f"{_CONTROL.sub(' ', line).rstrip()}\n" for line in lines)


def _head(report: ComparisonReport) -> Iterator[str]:
    labels = " against ".join(report.labels)
    against = "alone, no baseline" if report.baseline is None else f"against baseline {report.baseline}"
    dataset = f", dataset {report.dataset}" if report.dataset else ""
    yield f"{report.agent}: candidate {report.candidate} {against}"
    yield f"comparison {report.id}, seed {report.seed}, agent: {labels}{dataset}"
    yield from judge_lines(report.judges)
    counts = [
        f"{count} {_COUNTED[klass][count != 1]}" for klass in CLASSES if (count := report.summary[klass])
    ]
    yield f"{', '.join(counts) or 'no cases'}"
    if report.state not in ("COMPLETED",):
        yield f"{report.state}: {report.state_reason}"


def _headline(case: CaseReport, with_trials: bool, width: int) -> str:
    sides = [side for _, side in case.sides]
    calls = " -> ".join(side.told(side.tool_calls) for side in sides)
    retries = " -> ".join(side.told(side.retries) for side in sides)
    verdicts = " -> ".join(_verdict(side.verdict) for side in sides)
    title = case.title(with_trials)
    klass = case.klass.replace("_", " ")
    if case.is_hidden:
        return f"{klass:<20}  {case.reason}"
    figures = f"calls {calls:<8}  retries {retries:<6}  {verdicts}"
    return f"{klass:<20}  {case.severity:<8}  {title:<{width}}  {figures}"


def _verdict(verdict: str | None) -> str:
    return (verdict or "unfinished").lower()


def _details(case: CaseReport) -> Iterator[str]:
    if case.is_hidden:
        return
    for name, side in case.sides:
        for one in side.overridden:
            counts = f"measured {one.measured}, counts as {one.status}"
            yield f"overridden by a person: {name} {one.id}: {counts}"
    if case.klass != "INCOMPLETE":
        yield from (
            _unmeasured(line) for line in case.candidate.results if line.status in ("SKIPPED", "ERROR")
        )
    if case.klass == "UNCHANGED":
        failing = [line.id for line in case.candidate.results if line.status == "FAIL"]
        if failing:
            yield f"fails{' in both' if case.baseline is not None else ''}: {', '.join(failing)}"
            yield from _ended_badly(case)
        return
    if case.klass in ("IMPROVED", "INCOMPLETE"):
        yield case.reason
    for name in case.newly_failing:
        if (line := case.candidate.result(name)) is not None:
            yield _failing(line)
    if (divergence := case.first_divergence) is not None:
        yield divergence["summary"]
        if divergence.get("meaning"):
            yield f"  {divergence['meaning']}"


def _ended_badly(case: CaseReport) -> Iterator[str]:
    """How a run ended that failed on both sides: without it nobody sees that no agent was at work."""
    for name, side in case.sides:
        run = side.result(AGENT_RUN)
        if run is not None and run.status == "FAIL":
            yield f"  {name}: {run.reason}"


def _failing(line: ResultLine) -> str:
    critical = " (critical)" if line.critical else ""
    label = f" {line.label}" if line.label else ""
    judged = f" (judged by {line.judge.provider})" if line.judge is not None else ""
    return f"fails now: {line.id}{critical}{label}{judged}: {line.reason}"


def _unmeasured(line: ResultLine) -> str:
    critical = " (critical)" if line.critical else ""
    return f"not measured: {line.id}{critical}: {line.reason}"


def _totals(report: ComparisonReport) -> Iterator[str]:
    calls, retries = (
        " -> ".join(str(count) for count in totals.values() if count is not None)
        for totals in (report.tool_calls, report.retries)
    )
    yield f"tool calls {calls}, retries {retries}"
    if "deterministic-fake" in report.labels:
        yield "deterministic-fake: a scripted agent, no language model answered"
