"""What the description shows as examples."""

from __future__ import annotations

from typing import Any

_AT = "https://twin.example"
REVIEW: dict[str, Any] = {
    "id": 12,
    "result": 420,
    "expectation": "noDuplicateEffect",
    "number": 1,
    "decision": "PASS",
    "note": "The second refund is the one the customer asked for.",
    "reviewer": "ann",
    "token": None,
    "status_before": "FAIL",
    "status_after": "PASS",
    "replaces": None,
    "withdraws": None,
    "withdrawn_by": None,
    "case": 61,
    "comparison": 7,
    "scenario": "refund-timeout-after-mutation",
    "trial": 1,
    "side": "candidate",
    "created_at": "2026-11-29T20:15:00Z",
    "double_review": None,
    "links": {
        "self": f"{_AT}/api/v1/reviews/12/",
        "case": f"{_AT}/api/v1/cases/61/",
        "page": f"{_AT}/comparisons/7/cases/refund-timeout-after-mutation/",
    },
}
DECISION: dict[str, Any] = {
    "result": 420,
    "decision": "PASS",
    "note": "The second refund is the one the customer asked for.",
    "seen_review": 0,
}
WITHDRAWAL: dict[str, Any] = {"note": "That was the wrong case.", "seen_review": 12}
ENTRY: dict[str, Any] = {
    "id": 5,
    "case": 61,
    "comparison": 7,
    "scenario": "refund-timeout-after-mutation",
    "trial": 1,
    "reason": "CONTRADICTION",
    "side": "candidate",
    "detail": "It claimed SUCCESS, verification says FAILURE.",
    "priority": 0,
    "state": "OPEN",
    "reserved_by": None,
    "reserved_until": None,
    "assigned_to": None,
    "created_by": None,
    "created_at": "2026-11-29T20:15:00Z",
    "closed_by": None,
    "closed_at": None,
    "closing_note": "",
    "links": {
        "self": f"{_AT}/api/v1/queue/5/",
        "case": f"{_AT}/api/v1/cases/61/",
        "page": f"{_AT}/comparisons/7/cases/refund-timeout-after-mutation/",
    },
}
FLAG: dict[str, Any] = {"case": 61, "note": "The tone of the answer is off.", "side": "candidate"}
CLOSING: dict[str, Any] = {"note": "Looked at it: as it should be."}
AUDIT: dict[str, Any] = {
    "sequence": 33,
    "at": "2026-11-29T20:15:00Z",
    "actor": "ann",
    "action": "result_overridden",
    "subject_type": "result",
    "subject_id": "420",
    "subject_label": "noDuplicateEffect of refund-timeout-after-mutation, candidate, comparison 7",
    "before": {"status": "FAIL"},
    "after": {"status": "PASS"},
    "note": "The second refund is the one the customer asked for.",
    "via": "session",
    "previous_hash": "0" * 64,
    "entry_hash": "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098",
}
POLICY: dict[str, Any] = {
    "number": 1,
    "is_in_force": True,
    "two_reviewers": ["NEW_CRITICAL_FAILURE", "CRITICAL_JUDGED"],
    "sample_percent": 5.0,
    "confidence_below": 0.6,
    "note": "Two people look before a critical failure is lifted.",
    "created_by": "ada",
    "created_at": "2026-11-29T20:15:00Z",
    "links": {
        "self": f"{_AT}/api/v1/review-policy/versions/1/",
        "page": f"{_AT}/queue/policy/",
    },
}
ROUND: dict[str, Any] = {
    "id": 3,
    "result": 420,
    "expectation": "noDuplicateEffect",
    "number": 1,
    "state": "OPEN",
    "asked_for": "NEW_CRITICAL_FAILURE",
    "policy": 1,
    "decisions": [
        {
            "position": 1,
            "reviewer": "ann",
            "decision": None,
            "note": None,
            "token": None,
            "decided_at": "2026-11-29T20:15:00Z",
        }
    ],
    "review": None,
    "case": 61,
    "comparison": 7,
    "scenario": "refund-timeout-after-mutation",
    "trial": 1,
    "side": "candidate",
    "opened_at": "2026-11-29T20:15:00Z",
    "settled_at": None,
    "links": {
        "self": f"{_AT}/api/v1/double-reviews/3/",
        "case": f"{_AT}/api/v1/cases/61/",
        "page": f"{_AT}/comparisons/7/cases/refund-timeout-after-mutation/",
    },
}
_AGREED: dict[str, Any] = {
    "asked_for": None,
    "rounds": 24,
    "agreed": 21,
    "share": 0.875,
    "kappa": 0.7419354838709677,
    "kappa_interval": {"low": 0.4685, "high": 1.0},
}
AGREEMENT: dict[str, Any] = {
    "all": _AGREED,
    "by_kind": [{**_AGREED, "asked_for": "NEW_CRITICAL_FAILURE"}],
    "waiting": 2,
    "split": 0,
}
STEP: dict[str, Any] = {
    "row": 4,
    "match": "changed",
    "differing": ["tool"],
    "baseline": {
        "step": 4,
        "kind": "TOOL",
        "seq": 4,
        "text": "get_refund_status(order_id=ORD-1001)",
        "status": "ok",
        "http_status": 200,
        "error_code": None,
        "fault": None,
        "mutated": False,
    },
    "candidate": {
        "step": 4,
        "kind": "TOOL",
        "seq": 4,
        "text": "refund_payment(order_id=ORD-1001)",
        "status": "ok",
        "http_status": 200,
        "error_code": None,
        "fault": None,
        "mutated": True,
    },
}
