"""The reports of a gate decision: for a terminal, for programs, for CI servers, for a pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree as ET

from evaluations.gate import Fired, Observation
from evaluations.reporting.gate_report import ERRORED, FAILED, NOT_COUNTED, GateCase, GateReport
from evaluations.reporting.junit_format import writable
from evaluations.reporting.markdown_format import escaped

# Observations of one rule that are told; JSON has all that were kept.
MOST_TOLD = 10
MOST_CASES = 50
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def render_gate_json(report: GateReport, base: str = "") -> str:
    """One object; the names are stable."""
    return json.dumps(gate_object(report, base), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def gate_object(report: GateReport, base: str = "") -> dict[str, Any]:
    """`base` is put before every link, which otherwise starts at the root of the site."""
    override = report.standing.override
    return {
        "decision": report.id,
        "revision": report.revision,
        "outcome": report.standing.outcome,
        "reads": report.standing.words,
        "exit_status": report.exit_status,
        "verified": report.verification.holds,
        "verification_problems": list(report.verification.problems),
        "sha256": report.sha256,
        "stale": report.is_stale,
        "policy": report.policy,
        "agent": report.agent,
        "candidate": report.candidate,
        "baseline": report.baseline,
        "dataset": report.dataset,
        "comparison": report.comparison,
        "seed": report.seed,
        "decided_at": report.decided_at.isoformat(),
        "decided_by": report.decided_by,
        "override": None
        if override is None
        else {
            "id": override.pk,
            "person": override.person.get_username(),
            "reason": override.reason,
            "ticket": override.ticket,
            "expires_at": override.expires_at.isoformat() if override.expires_at else None,
            "decision": override.decision_id,
        },
        "counts": {name.replace(" ", "_"): count for name, count in report.counts.items()},
        "rules": [_rule(one, base) for one in report.fired],
        "cases": [
            {
                "case_id": case.case_id or None,
                "scenario": case.scenario,
                "severity": case.severity,
                "status": case.status.replace(" ", "_"),
                "trials": case.trials,
                "passed": case.passed,
                "graded": case.graded,
                "baseline_passed": None if report.baseline is None else case.baseline_passed,
            }
            for case in report.cases
        ],
        "link": f"{base}{report.link}",
    }


def _rule(fired: Fired, base: str) -> dict[str, Any]:
    shown = fired.to_json()
    for one in shown["observations"]:
        one["link"] = f"{base}{one['link']}" if one["link"] else ""
    return shown


def render_gate_text(report: GateReport, base: str = "") -> str:
    """For a terminal; what agents and tools wrote cannot move the cursor."""
    return "".join(f"{_CONTROL.sub(' ', line).rstrip()}\n" for line in _text_lines(report, base))


def _text_lines(report: GateReport, base: str) -> Iterator[str]:
    yield f"{report.standing.words}: {report.agent} {report.title}"
    yield f"{report.counted}; {report.dataset or 'no dataset'}, policy {report.policy}"
    yield f"decision {report.id} (revision {report.revision}, {_verified(report)}): {base}{report.link}"
    if (override := report.standing.override) is not None and override.expires_at is not None:
        who, until = override.person.get_username(), f"{override.expires_at:%Y-%m-%d %H:%M} UTC"
        yield f"overridden by {who} until {until}, {override.ticket}: {override.reason}"
    yield from (f"does not verify: {problem}" for problem in report.verification.problems)
    if report.is_stale:
        yield "results have changed since: evaluate again"
    for fired in report.fired:
        yield ""
        yield f"{fired.outcome}  {fired.sentence} ({fired.rule}: {fired.detail})"
        for one in fired.observations[:MOST_TOLD]:
            yield f"  - {_where(one)}{one.observed}"
        if more := _more(fired):
            yield f"  and {more} more"
    if not report.fired:
        yield "no rule fired"
    yield from _missed(report, base)


def _missed(report: GateReport, base: str) -> Iterator[str]:
    """The cases that did not pass, each once: how they ended, where they part, which page shows it."""
    missed = [case for case in report.cases if case.status in (FAILED, ERRORED)]
    if missed:
        yield ""
        yield "Cases that did not pass"
    for case in missed[:MOST_CASES]:
        yield f"  - {case.name}, {case.severity}: {case.ending or case.tally}"
        if case.first_divergence:
            yield f"      {case.first_divergence}"
        if case.link:
            yield f"      {base}{case.link}"
    if len(missed) > MOST_CASES:
        yield f"  and {len(missed) - MOST_CASES} more"


def render_gate_markdown(report: GateReport, base: str = "") -> str:
    """For the comment of a pull request."""
    return "".join(f"{line}\n" for line in _markdown_lines(report, base))


def _markdown_lines(report: GateReport, base: str) -> Iterator[str]:
    yield f"### {escaped(report.standing.words)}: {escaped(report.agent)} {escaped(report.title)}"
    yield ""
    dataset = escaped(report.dataset or "no dataset")
    yield f"{escaped(report.counted)}; {dataset}, policy {escaped(report.policy)}."
    yield f"Decision {report.id}, revision {report.revision}, {_verified(report)}: {base}{report.link}"
    if (override := report.standing.override) is not None and override.expires_at is not None:
        yield ""
        yield (
            f"**Overridden** by {escaped(override.person.get_username())} until "
            f"{override.expires_at:%Y-%m-%d}, {escaped(override.ticket)}: {escaped(override.reason)}"
        )
    for problem in report.verification.problems:
        yield ""
        yield f"**Does not verify**: {escaped(problem)}"
    if report.is_stale:
        yield ""
        yield "Results have changed since; evaluate again."
    for fired in report.fired:
        yield ""
        yield f"**{fired.outcome}** {escaped(fired.sentence)} ({escaped(fired.detail)})"
        yield ""
        for one in fired.observations[:MOST_TOLD]:
            where = f"[{escaped(_where(one).removesuffix(': '))}]({base}{one.link}): " if one.scenario else ""
            yield f"- {where}{escaped(one.observed)}"
        if more := _more(fired):
            yield f"- and {more} more"

    parting = [case for case in report.cases if case.first_divergence]
    if parting:
        yield ""
        yield "**Where they part from the baseline**"
        yield ""
        for case in parting[:MOST_CASES]:
            yield f"- [{escaped(case.name)}]({base}{case.link}): {escaped(case.first_divergence)}"


def render_gate_junit(report: GateReport, base: str = "") -> str:
    """Two suites: the rules, and the cases with exactly the counts of the other reports.

    A rule that blocks is a failure; one that warns, or that an override covers, is skipped with its reason.
    """
    root = ET.Element("testsuites", {"name": "agenttwin gate"})
    rules, cases = _rules_suite(report, base), _cases_suite(report)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(int(rules.get(name, "0")) + int(cases.get(name, "0"))))
    root.extend((rules, cases))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _rules_suite(report: GateReport, base: str) -> ET.Element:
    name = f"gate: {report.agent} {report.title}"
    suite = ET.Element("testsuite", {"name": writable(name)})
    properties = ET.SubElement(suite, "properties")
    for key, value in (
        ("decision", report.id),
        ("outcome", report.standing.words),
        ("policy", report.policy),
        ("dataset", report.dataset or "none"),
        ("comparison", report.comparison),
        ("sha256", report.sha256),
        ("verified", _verified(report)),
    ):
        ET.SubElement(properties, "property", {"name": key, "value": writable(str(value))})
    failures = skipped = 0
    blocks = report.standing.override is None
    for fired in report.fired:
        element = ET.SubElement(suite, "testcase", {"classname": "agenttwin.gate", "name": fired.rule})
        is_failure = fired.outcome == "BLOCK" and blocks
        told = fired.detail if blocks else f"overridden: {fired.detail}"
        problem = ET.SubElement(
            element,
            "failure" if is_failure else "skipped",
            {"message": writable(f"{fired.sentence} {told}"), **({"type": "BLOCK"} if is_failure else {})},
        )
        lines = [f"{_where(one)}{one.observed} {base}{one.link}".rstrip() for one in fired.observations]
        problem.text = writable("\n".join([*lines, f"and {fired.more} more"] if fired.more else lines))
        failures, skipped = failures + is_failure, skipped + (not is_failure)
    if not report.verification.holds:
        element = ET.SubElement(suite, "testcase", {"classname": "agenttwin.gate", "name": "verification"})
        told = "; ".join(report.verification.problems)
        ET.SubElement(element, "error", {"message": writable(told), "type": "NOT VERIFIED"})
    if not report.fired and report.verification.holds:
        ET.SubElement(suite, "testcase", {"classname": "agenttwin.gate", "name": "no rule fired"})
    tests = len(suite.findall("testcase"))
    counts = {"tests": tests, "failures": failures, "errors": int(not report.verification.holds)}
    for attribute, number in {**counts, "skipped": skipped}.items():
        suite.set(attribute, str(number))
    return suite


def _cases_suite(report: GateReport) -> ET.Element:
    counts = report.counts
    suite = ET.Element(
        "testsuite",
        {
            "name": writable(f"cases: {report.dataset or report.agent}"),
            "tests": str(len(report.cases)),
            "failures": str(counts[FAILED]),
            "errors": str(counts[ERRORED]),
            "skipped": str(counts[NOT_COUNTED]),
        },
    )
    for case in report.cases:
        classname = writable(f"agenttwin.{report.agent}")
        element = ET.SubElement(suite, "testcase", {"classname": classname, "name": writable(case.name)})
        if (kind := _JUNIT.get(case.status)) is not None:
            problem = ET.SubElement(element, kind, {"message": writable(_told(case))})
            problem.text = writable("\n".join(filter(None, (case.ending, case.first_divergence))))
    return suite


_JUNIT = {FAILED: "failure", ERRORED: "error", NOT_COUNTED: "skipped"}


def _told(case: GateCase) -> str:
    if case.status == NOT_COUNTED:
        return f"generated and not approved: {case.tally}"
    return f"{case.severity}: {case.tally}"


def _where(one: Observation) -> str:
    if not one.scenario:
        return ""
    name = f"{one.case_id} ({one.scenario})" if one.case_id else one.scenario
    return f"{name}{f' trial {one.trial}' if one.trial is not None else ''}: "


def _more(fired: Fired) -> int:
    return fired.more + max(0, len(fired.observations) - MOST_TOLD)


def _verified(report: GateReport) -> str:
    return "verified" if report.verification.holds else "NOT VERIFIED"


GATE_FORMATS: dict[str, Callable[..., str]] = {
    "text": render_gate_text,
    "json": render_gate_json,
    "junit": render_gate_junit,
    "markdown": render_gate_markdown,
}
