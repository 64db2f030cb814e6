"""What the description shows as examples."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

from evaluations.api.judge_examples import JUDGE, STANDING

_AT = "https://twin.example"
REQUEST: dict[str, Any] = {
    "agent": "support-refund-agent",
    "baseline": "1.2.4",
    "candidate": "1.3.0",
    "tags": ["refund"],
}
COMPARISON: dict[str, Any] = {
    "id": 7,
    "agent": "support-refund-agent",
    "baseline": "1.2.4",
    "candidate": "1.3.0",
    "seed": 0,
    "trials": None,
    "selection": {"scenarios": [], "tags": ["refund"], "dataset": None},
    "key": "pipeline-4711",
    "state": "COMPLETED",
    "reason": "",
    "dataset": None,
    "summary": {"NEW_CRITICAL_FAILURE": 1, "REGRESSED": 0, "IMPROVED": 0, "UNCHANGED": 4, "INCOMPLETE": 0},
    "pending": 0,
    "progress": {"cases": 10, "ended": 10},
    "blocks": True,
    "model_kinds": ["deterministic-fake"],
    "judges": [{"judge": JUDGE, "criterion": "refund-handover", "standing": STANDING}],
    "created_by": "ci",
    "created_at": "2026-11-29T20:15:00Z",
    "started_at": "2026-11-29T20:15:01Z",
    "finished_at": "2026-11-29T20:15:02Z",
    "links": {
        "self": f"{_AT}/api/v1/comparisons/7/",
        "page": f"{_AT}/comparisons/7/",
        "cases": f"{_AT}/api/v1/comparisons/7/cases/",
        "report": f"{_AT}/api/v1/comparisons/7/report/",
        "statistics": f"{_AT}/api/v1/comparisons/7/statistics/",
        "cancel": f"{_AT}/api/v1/comparisons/7/cancel/",
        "rerun": f"{_AT}/api/v1/comparisons/7/rerun/",
    },
}
DIVERGENCE: dict[str, Any] = {
    "step": 4,
    "kind": "tool",
    "summary": "At step 4 the baseline called get_refund_status; the candidate called refund_payment.",
    "meaning": "The candidate repeated a write after a timeout that had already applied it.",
    "baseline": "get_refund_status(order_id=ORD-1001)",
    "candidate": "refund_payment(order_id=ORD-1001)",
}
_SIDE: dict[str, Any] = {
    "state": "FINISHED",
    "verdict": "PASSED",
    "claimed_outcome": "SUCCESS",
    "contradiction": False,
    "tool_calls": 4,
    "retries": 0,
    "error_reason": "",
    "final_state_digest": "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098",
}
CASE: dict[str, Any] = {
    "id": 61,
    "comparison": 7,
    "scenario": "refund-timeout-after-mutation",
    "scenario_version": 1,
    "twin": "demo-co-support",
    "twin_version": 1,
    "trial": 1,
    "rerun_of": None,
    "replaced": False,
    "seed": 1204611031,
    "severity": "critical",
    "class": "NEW_CRITICAL_FAILURE",
    "reason": "noDuplicateEffect fails now",
    "newly_failing": ["noDuplicateEffect"],
    "flags": [],
    "first_divergence": DIVERGENCE,
    "baseline": _SIDE,
    "candidate": {**_SIDE, "verdict": "FAILED", "tool_calls": 5, "retries": 1},
    "links": {
        "self": f"{_AT}/api/v1/cases/61/",
        "page": f"{_AT}/comparisons/7/cases/refund-timeout-after-mutation/",
        "comparison": f"{_AT}/api/v1/comparisons/7/",
        "calls": f"{_AT}/api/v1/cases/61/calls/",
        "trajectory": f"{_AT}/api/v1/cases/61/trajectory/",
        "divergence": f"{_AT}/api/v1/cases/61/divergence/",
    },
}
_RESULT: dict[str, Any] = {
    "result": 420,
    "id": "noDuplicateEffect",
    "type": "noDuplicateEffect",
    "critical": True,
    "status": "PASS",
    "measured_status": "PASS",
    "label": None,
    "reason": "no effect was applied twice",
    "evidence": {"calls": [3]},
    "judgement": None,
}
_FULL_SIDE = {
    **_SIDE,
    "metrics": {"tool_calls": 4, "retries": 0},
    "answer": {"output": "Your refund is on its way.", "claimed_outcome": "SUCCESS"},
    "results": [_RESULT],
}
FULL_CASE: dict[str, Any] = {**CASE, "baseline": _FULL_SIDE, "candidate": _FULL_SIDE}
CALL: dict[str, Any] = {
    "seq": 3,
    "kind": "tool_call",
    "call_number": 1,
    "tool": "refund_payment",
    "arguments": {"order_id": "ORD-1001", "amount": 49},
    "http_status": 504,
    "status": "timeout",
    "error_code": "TIMEOUT",
    "response": {"error": {"code": "TIMEOUT", "message": "The dependency did not answer in time."}},
    "risk": "WRITE_IRREVERSIBLE",
    "fault": "timeout_after_mutation",
    "mutated": True,
    "expects_mutation": True,
    "replayed": False,
    "redelivered": False,
    "effect_key": "refund:ORD-1001",
    "cross_tenant": None,
    "policy_violation": None,
    "changes": [{"op": "changed", "path": "orders.ORD-1001.refunded", "before": 0, "after": 49}],
    "delay_ms": 0,
}
_REPORT_SIDE: dict[str, Any] = {
    "verdict": "FAILED",
    "tool_calls": 5,
    "retries": 1,
    "results": [
        {
            "id": "noDuplicateEffect",
            "type": "noDuplicateEffect",
            "critical": True,
            "status": "FAIL",
            "label": "DUPLICATE_EFFECT",
            "reason": "refund:ORD-1001 was applied twice (calls 3 and 4)",
        }
    ],
    "final_state_digest": _SIDE["final_state_digest"],
}
REPORT = [
    OpenApiExample(
        "Report",
        value={
            "id": 7,
            "agent": "support-refund-agent",
            "baseline": "1.2.4",
            "candidate": "1.3.0",
            "seed": 0,
            "summary": COMPARISON["summary"],
            "tool_calls": {"baseline": 20, "candidate": 24},
            "cases": [
                {
                    "scenario": CASE["scenario"],
                    "severity": "critical",
                    "class": "NEW_CRITICAL_FAILURE",
                    "reason": CASE["reason"],
                    "first_divergence": DIVERGENCE,
                    "baseline": {**_REPORT_SIDE, "verdict": "PASSED", "results": []},
                    "candidate": _REPORT_SIDE,
                }
            ],
        },
    )
]
_COUNTS = {"n": 10, "c": 7, "failed": 3, "errored": 0}
_MEAN = {"value": 0.7, "tasks": 1, "tasks_with_a_figure": 1}
_TASK_SIDE: dict[str, Any] = {
    **_COUNTS,
    "pass_rate": 0.7,
    "interval": [0.397, 0.892],
    "by_k": [
        {"k": 1, "pass_at_k": 0.7, "pass_hat_k": 0.7},
        {"k": 3, "pass_at_k": 0.992, "pass_hat_k": 0.292},
    ],
    "cost_per_success": {"state": "known", "usd": 0.013},
}
_SUITE_SIDE: dict[str, Any] = {
    "tasks": 1,
    **_COUNTS,
    "mean_pass_rate": _MEAN,
    "by_k": [{"k": 1, "mean_pass_at_k": _MEAN, "mean_pass_hat_k": _MEAN}],
    "cost_per_success": {"state": "unknown", "usd": None},
}
_PAIRED = {"both_pass": 5, "both_fail": 1, "only_baseline": 2, "only_candidate": 2, "without_evidence": 0}
_NOISE = {
    "p_value": 1.0,
    "adjusted_p_value": 1.0,
    "significant": False,
    "words": "p = 1.00, could be noise",
}
STATISTICS: dict[str, Any] = {
    "suite": {"baseline": _SUITE_SIDE, "candidate": _SUITE_SIDE},
    "paired": {**_PAIRED, "test": _NOISE},
    "unequal": [],
    "rerun": 0,
    "tasks": [
        {
            "scenario": CASE["scenario"],
            "severity": "critical",
            "rerun": 0,
            "baseline": _TASK_SIDE,
            "candidate": _TASK_SIDE,
            "paired": {**_PAIRED, "test": None},
        }
    ],
    "checks": [
        {
            "scenario": CASE["scenario"],
            "id": "refunded-exactly-once",
            "critical": True,
            "baseline": {"passed": 8, "failed": 2},
            "candidate": {"passed": 7, "failed": 3},
            "unmeasured": 0,
            "test": _NOISE,
        }
    ],
}
