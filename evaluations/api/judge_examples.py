"""What the description shows as examples of criteria, labels and calibrations."""

from __future__ import annotations

from typing import Any

_AT = "https://twin.example"
_SHA = "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098"
NEW_CRITERION = {
    "name": "refund-handover",
    "rubric": "The reply says that the refund is not recorded and that a specialist will finish it.",
}
CRITERION: dict[str, Any] = {
    "name": "refund-handover",
    "version": 1,
    "is_current": True,
    "rubric": NEW_CRITERION["rubric"],
    "rubric_sha256": _SHA,
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "edi",
    "links": {
        "self": f"{_AT}/api/v1/criteria/refund-handover/",
        "page": f"{_AT}/judges/criteria/refund-handover/?version=1",
        "examples": f"{_AT}/api/v1/examples/?criterion=refund-handover&version=1",
    },
}
STANDING = {
    "state": "calibrated",
    "sentence": (
        "Calibrated: it agrees with people on 22 of 24 examples (91%), "
        "kappa 0.83 (95% interval 0.61 to 1.00)."
    ),
    "calibration": 4,
}
JUDGE = {
    "provider": "anthropic",
    "model": "a-model-1",
    "prompt_version": "1",
    "prompt_sha256": _SHA,
    "label": "llm",
}
FIGURES = {
    "examples": 24,
    "agreed": 22,
    "agreement": 0.917,
    "kappa": 0.83,
    "kappa_low": 0.61,
    "kappa_high": 1.0,
}
FULL_CRITERION: dict[str, Any] = {
    **CRITERION,
    "judge": JUDGE,
    "standing": STANDING,
    "examples": 24,
    "counted": 22,
    "split": 2,
    "labelled_by": {"ann": 24, "ben": 24},
    "people": [{**FIGURES, "first": "ann", "second": "ben"}],
}
EXAMPLES_DOCUMENT: dict[str, Any] = {
    "criterion": "refund-handover",
    "rubric": NEW_CRITERION["rubric"],
    "examples": [
        {
            "answer": "Your refund is not recorded yet; a specialist finishes it today.",
            "customer_message": "Where is my refund?",
            "tool_calls": [{"tool": "refund_payment", "text": "answered 200: succeeded"}],
            "source": "ticket 4711",
        }
    ],
}
IMPORTED = {
    "criterion": "refund-handover",
    "version": 1,
    "created": 1,
    "known": 0,
    "is_new_version": True,
    "links": CRITERION["links"],
}
EXAMPLE: dict[str, Any] = {
    "id": 12,
    "criterion": "refund-handover",
    "version": 1,
    "material": {
        "answer": "Your refund is not recorded yet; a specialist finishes it today.",
        "customer_message": "Where is my refund?",
        "tool_calls": [{"number": 1, "tool": "refund_payment", "text": "answered 200: succeeded"}],
    },
    "source": "ticket 4711",
    "people": 2,
    "own_label": "PASS",
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "edi",
    "links": {"self": f"{_AT}/api/v1/examples/12/", "page": f"{_AT}/judges/examples/12/"},
}
FULL_EXAMPLE: dict[str, Any] = {
    **EXAMPLE,
    "labels": [{"person": "ann", "label": "PASS"}, {"person": "ben", "label": "FAIL"}],
}
LABEL: dict[str, Any] = {
    "id": 55,
    "example": 12,
    "criterion": "refund-handover",
    "version": 1,
    "label": "PASS",
    "created_at": "2026-11-29T20:20:00Z",
    "taken_back_at": None,
}
CALIBRATION: dict[str, Any] = {
    "id": 4,
    "criterion": "refund-handover",
    "version": 1,
    "judge": JUDGE,
    "threshold": 0.7,
    "state": "COMPLETED",
    "reason": "",
    "counted": 24,
    "agreed": 22,
    "errors": 0,
    "kappa": 0.83,
    "kappa_low": 0.61,
    "kappa_high": 1.0,
    "is_calibrated": True,
    "decision": STANDING["sentence"],
    "created_at": "2026-11-29T20:30:00Z",
    "created_by": "edi",
    "finished_at": "2026-11-29T20:31:00Z",
    "links": {
        "self": f"{_AT}/api/v1/calibrations/4/",
        "page": f"{_AT}/judges/calibrations/4/",
        "results": f"{_AT}/api/v1/calibrations/4/results/",
    },
}
FULL_CALIBRATION: dict[str, Any] = {
    **CALIBRATION,
    "matrix": [
        {"people": "PASS", "judge": "PASS", "examples": 12},
        {"people": "PASS", "judge": "FAIL", "examples": 2},
        {"people": "FAIL", "judge": "FAIL", "examples": 10},
    ],
    "waiting": 0,
    "left_out": 0,
    "standing": STANDING,
}
RESULT: dict[str, Any] = {
    "example": 12,
    "position": 0,
    "labels": [{"person": "ann", "label": "PASS"}],
    "truth": "PASS",
    "outcome": "FAIL",
    "agrees": False,
    "score": 0.5,
    "confidence": 0.6,
    "reason": "It names no specialist.",
    "error_kind": "",
    "error_detail": "",
}
