"""The Markdown report: a summary for the comment of a pull request, what got worse first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluations.grading.wording import overridden_told
from evaluations.reporting.judge_lines import judge_lines
from evaluations.reporting.report import BLOCKING, CLASSES, CaseReport, ComparisonReport
from evaluations.reporting.trial_figures import figures_lines

# Cases told in full; a comment of a pull request has an end, and so has a reader.
MOST_TOLD = 50
_CELL_CHARACTERS = 300
# What would end a cell or a line, or be read as markup: agents and tools wrote some of it.
_ESCAPED = re.compile(r"([\\`*_{}\[\]()<>#+!|~&@-])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TITLES = {
    "NEW_CRITICAL_FAILURE": "new critical failure",
    "REGRESSED": "regressed",
    "IMPROVED": "improved",
    "UNCHANGED": "unchanged",
    "INCOMPLETE": "incomplete",
}
_ORDER = ("NEW_CRITICAL_FAILURE", "REGRESSED", "INCOMPLETE", "IMPROVED")


def render_markdown(report: ComparisonReport) -> str:
    """Verdict, counts, and a table of the cases that changed or are missing."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: ComparisonReport) -> Iterator[str]:
    verdict = "blocked" if report.blocks else "nothing new fails"
    yield f"### {escaped(report.agent)} {escaped(report.title)}: {verdict}"
    yield ""
    counts = [f"{count} {_TITLES[klass]}" for klass in CLASSES if (count := report.summary[klass])]
    calls = report.tool_calls
    before = "" if report.baseline is None else f"{calls['baseline']} → "
    dataset = f", dataset {escaped(report.dataset)}" if report.dataset else ""
    yield (
        f"{', '.join(counts) or 'no cases'}. Tool calls {before}{calls['candidate']}. "
        f"Comparison {report.id}, seed {report.seed}{dataset}."
    )
    if report.state != "COMPLETED":
        yield ""
        yield f"**{escaped(report.state)}** {escaped(report.state_reason)}".rstrip()
    told = sorted(
        (case for case in report.cases if case.klass in _ORDER),
        key=lambda case: (_ORDER.index(case.klass), case.severity_rank),
    )
    if told:
        yield ""
        yield "| Case | Severity | Class | Why |"
        yield "| --- | --- | --- | --- |"
        yield from (_row(case, report.with_trials) for case in told[:MOST_TOLD])
    if len(told) > MOST_TOLD:
        yield ""
        yield f"{len(told) - MOST_TOLD} more cases are not listed."
    # Those of cases that are unchanged now are in no row.
    if number := sum(case.overridden for case in report.cases):
        yield ""
        yield f"{overridden_told(number)}."
    if report.statistics is not None:
        yield ""
        yield "```"
        yield from (
            _CONTROL.sub(" ", line).replace("`", "'") for line in figures_lines(report.statistics, MOST_TOLD)
        )
        yield "```"
    if lines := judge_lines(report.judges):
        yield ""
        yield from (f"{escaped(line)}." for line in lines)
    if "deterministic-fake" in report.labels:
        yield ""
        yield "deterministic-fake: a scripted agent, no language model answered."


def _row(case: CaseReport, with_trials: bool) -> str:
    klass = _TITLES[case.klass]
    shown = f"**{klass}**" if case.klass in BLOCKING else klass
    why = [case.why]
    if case.first_divergence is not None:
        why.append(case.first_divergence["summary"])
    cells = (escaped(case.title(with_trials)), case.severity, shown, escaped(" ".join(why)))
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """One line in which nothing is markup, cut."""
    cut = text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}…"
    return _ESCAPED.sub(r"\\\1", _CONTROL.sub(" ", cut))
