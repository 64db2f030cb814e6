"""Words and shapes of evidence: pure, so without a database."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reviews.presenting.bounded import compared_leaves, indented, leaves, one_line, stored_text
from reviews.presenting.calls import call_line, call_notes, claim_line, fault_facts
from reviews.presenting.scenarios import scenario_brief
from twins.engine.faults import FAULTS
from twins.engine.values import MISSING


def call(**fields: Any) -> Any:
    values = {
        "status": "ok",
        "http_status": 200,
        "error_code": None,
        "policy_violation": None,
        "mutated": False,
        "replayed": False,
        "expects_mutation": False,
        "cross_tenant": None,
        "redelivered": False,
    }
    return SimpleNamespace(**{**values, **fields})


def notes(**fields: Any) -> list[str]:
    extra = {name: fields.pop(name) for name in ("first_applied", "is_retry") if name in fields}
    return [f"{note.text}!" if note.is_bad else note.text for note in call_notes(call(**fields), **extra)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["ok"]),
        ({"status": "timeout", "http_status": 504, "mutated": True}, ["timeout", "applied"]),
        (
            {"mutated": True, "first_applied": 2, "is_retry": True},
            ["ok", "applied AGAIN (first by #2)!", "retry"],
        ),
        ({"replayed": True, "expects_mutation": True}, ["ok", "replay, nothing applied twice"]),
        ({"expects_mutation": True}, ["ok", "says done, changed nothing!"]),
        # What was applied before is no repeat if this call applied nothing.
        ({"first_applied": 2}, ["ok"]),
        ({"cross_tenant": "allowed"}, ["ok", "carries another tenant's record!"]),
        ({"redelivered": True, "mutated": True}, ["ok", "applied", "second delivery by the network"]),
        (
            {"status": "error", "http_status": 500, "error_code": "UPSTREAM_ERROR"},
            ["error (500 UPSTREAM_ERROR)"],
        ),
        ({"status": "dropped", "http_status": 0}, ["connection dropped"]),
        (
            {"status": "denied", "http_status": 403, "policy_violation": "ADMIN_ONLY"},
            ["denied (403)", "refused by policy: only an admin may call this tool!"],
        ),
        ({"policy_violation": "A_LATER_RULE"}, ["ok", "refused by policy: A_LATER_RULE!"]),
    ],
)
def test_a_call_is_told_in_a_few_words(fields: dict[str, Any], expected: list[str]) -> None:
    assert notes(**fields) == expected


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_every_fault_is_told_as_its_two_facts(fault: str) -> None:
    facts = fault_facts(fault)

    assert facts.did == FAULTS[fault].did.value
    assert facts.sees == FAULTS[fault].sees.value
    assert facts.about


def test_a_fault_nobody_knows_is_named_and_nothing_made_up() -> None:
    assert fault_facts("earthquake").did == "not known to this version"


def test_a_call_is_written_as_the_first_divergence_writes_it() -> None:
    line = call_line("refund_payment", {"order_id": "ORD-1", "amount": 40})

    assert (line.tool, line.rest) == ("refund_payment", "(amount=40, order_id=ORD-1)")


@pytest.mark.parametrize(
    ("claim", "has_answer", "expected"),
    [("SUCCESS", True, "says SUCCESS"), (None, True, "reports no outcome"), (None, False, "no answer")],
)
def test_the_claim_is_told(claim: str | None, has_answer: bool, expected: str) -> None:
    assert claim_line(claim, has_answer) == expected


def test_leaves_name_each_value_by_its_path() -> None:
    value = {"a": {"b c": [1, {"d": None}]}, "e": {}, "f": []}

    assert leaves(value) == [("a['b c'][0]", 1), ("a['b c'][1].d", None), ("e", {}), ("f", [])]
    assert leaves("text") == [("", "text")]


def test_too_many_leaves_are_not_read_one_by_one() -> None:
    assert leaves(list(range(41))) is None
    assert compared_leaves({"a": 1}, list(range(41))) is None


@pytest.mark.parametrize(
    ("value", "other", "marked"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 1, "b": 2}, {"a": 1}, ["b"]),
        ({"a": None}, {}, ["a"]),
        ({"a": 1}, MISSING, []),
    ],
)
def test_only_what_differs_is_marked(value: Any, other: Any, marked: list[str]) -> None:
    found = compared_leaves(value, other)

    assert found is not None
    assert [leaf.path for leaf in found if leaf.differs] == marked


def test_a_value_is_written_no_further_than_it_is_shown() -> None:
    class Explodes(list):
        """A list that must not be walked to its end."""

        def __iter__(self) -> Any:
            for number in range(10**9):
                assert number < 1000, "the rest of the value was written although nobody sees it"
                yield number

    cut = indented(Explodes([0]), limit=500)

    assert cut.is_cut
    assert len(cut.text) == 500


def test_a_stored_text_that_was_cut_is_shown_as_it_is() -> None:
    assert stored_text('{"a":', 5000).is_cut
    assert stored_text('{"a":1}', 7).text == '{\n  "a": 1\n}'
    assert stored_text('"half an answ', 100).text == '"half an answ'
    assert stored_text('"a text"', 8).text == "a text"


def test_a_value_fits_a_line() -> None:
    assert one_line(MISSING) == "not there"
    assert one_line(None) == "null"
    assert one_line(list(range(1000))) == "a list of 1000"
    assert len(one_line("x" * 500)) == 110


def test_a_scenario_is_told_without_its_secrets_and_whatever_is_missing() -> None:
    document = {
        "spec": {
            "input": {"message": "My code is HIDDEN-1 and HIDDEN-2."},
            "faults": [
                {
                    "target": "*",
                    "when": {"firstN": 2, "argsMatch": {"id": "HIDDEN-1"}},
                    "behavior": {"type": "delay"},
                },
                "nonsense",
            ],
            "expectations": [
                {
                    "type": "noSecretDisclosure",
                    "secrets": ["HIDDEN-2"],
                    "description": "Never says HIDDEN-2.",
                },
                {"type": "state", "id": "named", "description": "…"},
            ],
        }
    }

    brief = scenario_brief(document, ("HIDDEN-1",))

    assert brief.message == "My code is [REDACTED] and [REDACTED]."
    assert brief.checks == {"e1": "Never says [REDACTED].", "named": "…"}
    assert len(brief.faults) == 1
    assert brief.faults[0].target == "every tool"
    assert brief.faults[0].when == 'the first 2, with {"id":"[REDACTED]"}'
    for odd in (None, [], {}, {"spec": {"input": "x", "faults": {}, "expectations": 3}}):
        assert scenario_brief(odd).message == ""
