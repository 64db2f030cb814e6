"""The JUnit report: a test case per pair; what is new and bad is a failure, missing evidence an error."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from evaluations.reporting.judge_lines import judge_lines
from evaluations.reporting.report import CaseReport, ComparisonReport, ResultLine
from evaluations.reporting.trial_figures import figures_lines

# XML 1.0 has no way to write these, not even escaped; one of them makes the whole report unreadable.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FAILURES = frozenset({"NEW_CRITICAL_FAILURE", "REGRESSED"})


def render_junit(report: ComparisonReport) -> str:
    """A JUnit document whose counts are those of the other reports."""
    counts = {
        "tests": str(len(report.cases)),
        "failures": str(sum(case.klass in _FAILURES for case in report.cases)),
        "errors": str(sum(case.klass == "INCOMPLETE" for case in report.cases)),
        "skipped": "0",
    }
    name = f"{report.agent} {report.title}"
    root = ET.Element("testsuites", {"name": "agenttwin", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": writable(name), **counts})
    properties = ET.SubElement(suite, "properties")
    for key, value in (
        ("comparison", report.id),
        ("seed", report.seed),
        ("state", report.state),
        ("baseline", "none" if report.baseline is None else f"{report.baseline} ({report.baseline_label})"),
        ("candidate", f"{report.candidate} ({report.candidate_label})"),
        *((("dataset", report.dataset),) if report.dataset else ()),
    ):
        ET.SubElement(properties, "property", {"name": key, "value": writable(str(value))})
    for line in judge_lines(report.judges):
        ET.SubElement(properties, "property", {"name": "judge", "value": writable(line)})
    for case in report.cases:
        _add_case(suite, case, report)
    if report.statistics is not None:
        lines = figures_lines(report.statistics)
        ET.SubElement(suite, "system-out").text = writable("\n".join(lines))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_case(suite: ET.Element, case: CaseReport, report: ComparisonReport) -> None:
    title = writable(case.title(report.with_trials))
    element = ET.SubElement(
        suite, "testcase", {"classname": writable(f"agenttwin.{report.agent}"), "name": title}
    )
    details = writable("\n".join(_details(case)))
    if case.klass in _FAILURES or case.klass == "INCOMPLETE":
        kind = "error" if case.klass == "INCOMPLETE" else "failure"
        problem = ET.SubElement(element, kind, {"type": case.klass, "message": writable(case.why)})
        problem.text = details
    else:
        ET.SubElement(element, "system-out").text = details


def _details(case: CaseReport) -> list[str]:
    if case.is_hidden:
        return [case.reason]
    lines = [f"{case.klass} ({case.severity}): {case.why}"]
    for name, side in case.sides:
        lines.append(
            f"{name}: {side.verdict or 'unfinished'}, "
            f"{side.told(side.tool_calls)} tool calls, {side.told(side.retries)} retries"
        )
        lines += [
            f"  {line.status} {line.id}{f' {line.label}' if line.label else ''}{_judged(line)}"
            f"{_overridden(line)}: {line.reason}"
            for line in side.results
            if line.status != "PASS" or line.is_overridden
        ]
    if case.first_divergence is not None:
        lines.append(case.first_divergence["summary"])
        if case.first_divergence.get("meaning"):
            lines.append(case.first_divergence["meaning"])
    return lines


def _judged(line: ResultLine) -> str:
    return "" if line.judge is None else f" [judged by {line.judge.told}]"


def _overridden(line: ResultLine) -> str:
    return f" [measured {line.measured}, overridden by a person]" if line.is_overridden else ""


def writable(value: str) -> str:
    """The text without what XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", value)
