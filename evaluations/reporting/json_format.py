"""The JSON report of FORMATS 7: others script against these names."""

from __future__ import annotations

import json
from typing import Any

from evaluations.reporting.report import CaseReport, ComparisonReport, SideReport
from evaluations.reporting.trial_figures import figures_object
from evaluations.services.statistics import configured_rates


def render_json(report: ComparisonReport) -> str:
    """One object; where scenarios were tried more than once, cases carry "trial" and it has "statistics".

    It has "judges" where an expectation needed one: each with a criterion and what its verdicts are worth.
    """
    return json.dumps(report_object(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def report_object(report: ComparisonReport) -> dict[str, Any]:
    return {
        "id": report.id,
        "agent": report.agent,
        "baseline": report.baseline,
        "candidate": report.candidate,
        "seed": report.seed,
        **({"dataset": report.dataset} if report.dataset else {}),
        "summary": report.summary,
        "tool_calls": report.tool_calls,
        "cases": [_case(case, report.with_trials) for case in report.cases],
        **(
            {"judges": [by.to_json() for one in report.judges for by in one.criteria]}
            if report.judges
            else {}
        ),
        **(
            {"statistics": figures_object(report.statistics, configured_rates())} if report.statistics else {}
        ),
    }


def _judges(report: ComparisonReport) -> list[dict[str, Any]]:
    return [by.to_json() for one in report.judges for by in one.criteria]


def _case(case: CaseReport, with_trial: bool) -> dict[str, Any]:
    return {
        "scenario": case.scenario,
        **({"trial": case.trial} if with_trial else {}),
        "severity": case.severity,
        "class": case.klass,
        "reason": case.why,
        "first_divergence": case.first_divergence,
        "baseline": None if case.baseline is None else _side(case.baseline),
        "candidate": _side(case.candidate),
    }


def _side(side: SideReport) -> dict[str, Any]:
    return {
        "verdict": side.verdict,
        "tool_calls": side.tool_calls,
        "retries": side.retries,
        "results": [
            {
                "id": line.id,
                "type": line.type,
                "critical": line.critical,
                "status": line.status,
                "label": line.label,
                "reason": line.reason,
                **({} if line.judge is None else {"judge": line.judge.to_json()}),
            }
            for line in side.results
        ],
        "final_state_digest": side.final_state_digest,
    }
