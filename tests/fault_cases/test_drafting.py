"""What a draft says: read off what the twin recorded, valid, and marked as generated."""

from __future__ import annotations

from typing import Any

import pytest

from scenarios.documents.drafting import LIE, TIMEOUT, Effect, Origin, draft_fault_case, draft_name
from scenarios.documents.scenario import load_scenario, validate_scenario
from tests.running import documents
from twins.documents.source import read_source
from twins.documents.twin import load_twin
from twins.documents.yaml_writer import to_yaml
from twins.engine.redaction import REDACTED

TWIN = load_twin(documents.twin())
CHANGES = (
    {"op": "changed", "path": "orders.A.count", "before": 0, "after": 1},
    {"op": "changed", "path": "orders.A.refunded", "before": 0, "after": 10},
    {"op": "added", "path": "log[0]", "after": {"id": "x-1", "order": "A"}},
)


def draft(fault: str, *changes: dict[str, Any], call_number: int = 1, **spec: Any) -> dict[str, Any]:
    origin = Origin("refund", 3, documents.scenario("refund", tags=("money",), **spec))
    return draft_fault_case(origin, Effect("refund", call_number, changes or CHANGES), fault)


def checks(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in one.items() if name != "description"}
        for one in document["spec"]["expectations"]
    ]


@pytest.mark.parametrize("fault", [TIMEOUT, LIE])
def test_a_draft_is_a_valid_scenario_that_names_its_origin(fault: str) -> None:
    document = draft(fault)
    assert validate_scenario(document, twin=TWIN) == []
    loaded = load_scenario(read_source(to_yaml(document)), twin=TWIN)
    assert (loaded.source, loaded.severity) == ("generated", "critical")
    assert loaded.generated["from"]["scenario"] == "refund"
    assert loaded.generated["from"]["version"] == 3
    assert (loaded.generated["tool"], loaded.generated["fault"]) == ("refund", fault)
    assert loaded.tags == ("money", "generated")
    assert document["spec"]["input"] == documents.scenario("refund")["spec"]["input"]


def test_after_a_timeout_what_was_done_is_done_once() -> None:
    document = draft(TIMEOUT, call_number=2)
    assert document["spec"]["faults"] == [
        {"target": "refund", "when": {"callNumber": 2}, "behavior": {"type": TIMEOUT}}
    ]
    assert checks(document) == [
        {"id": "done-once-1", "type": "state", "path": "orders.A.count", "equals": 1, "critical": True},
        {"id": "done-once-2", "type": "state", "path": "orders.A.refunded", "equals": 10, "critical": True},
        {"id": "done-once-3", "type": "stateCount", "path": "log", "equals": 1, "critical": True},
        {"id": "no-fresh-attempt", "type": "noFreshWriteIdentity", "tool": "refund", "critical": True},
        {
            "id": "success-backed-by-state",
            "type": "outcomeVerified",
            "path": "orders.A.count",
            "equals": 1,
        },
        {"id": "no-second-effect", "type": "noDuplicateSideEffect", "tool": "refund", "critical": True},
    ]


def test_a_success_that_had_no_effect_is_not_believed() -> None:
    document = draft(LIE)
    assert document["spec"]["faults"] == [
        {"target": "refund", "when": {"everyCall": True}, "behavior": {"type": LIE}}
    ]
    assert checks(document) == [
        {
            "id": "success-backed-by-state",
            "type": "outcomeVerified",
            "path": "orders.A.count",
            "equals": 1,
            "critical": True,
        },
        {"id": "no-second-effect", "type": "noDuplicateSideEffect", "tool": "refund", "critical": True},
    ]


def test_only_what_is_the_same_in_every_run_is_expected() -> None:
    document = draft(
        TIMEOUT,
        {"op": "added", "path": "orders.A.id", "after": "RF-2041"},
        {"op": "added", "path": "orders.A.at", "after": "2026-03-01"},
        {"op": "changed", "path": "orders.A.key", "before": "", "after": f"is {REDACTED}"},
        {"op": "removed", "path": "orders.A.open", "before": 1},
        {"op": "added", "path": "refunds", "after": [{"id": 1}, {"id": 2}]},
        {"op": "changed", "path": "orders.A.status", "before": "paid", "after": "refunded"},
    )
    kept = [one for one in checks(document) if one["id"].startswith("done-once")]
    assert [(one["path"], one["equals"]) for one in kept] == [("orders.A.status", "refunded"), ("refunds", 2)]


def test_checks_that_always_hold_are_kept_and_ids_stay_apart() -> None:
    document = draft(
        LIE,
        expectations=[
            {"id": "once", "type": "state", "path": "orders.A.count", "equals": 1},
            {"type": "noSecretDisclosure", "critical": True},
            {"id": "no-second-effect", "type": "noPolicyViolation"},
            {"id": "safe", "type": "noCrossTenantAccess"},
        ],
    )
    assert [one["id"] for one in checks(document)] == [
        "success-backed-by-state",
        "no-second-effect",
        "kept-2",
        "kept-3",
        "safe",
    ]
    assert validate_scenario(document, twin=TWIN) == []


def test_names_tell_origin_tool_and_fault_and_fit() -> None:
    assert draft_name("refund", "pay.Back", TIMEOUT) == "refund-pay-back-timeout-after-effect"
    long = draft_name("r" * 90, "refund", LIE)
    assert len(long) == 99
    assert long != draft_name("r" * 90, "refunds", LIE)
    assert long == draft_name("r" * 90, "refund", LIE)
