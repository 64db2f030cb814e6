from __future__ import annotations

from typing import Any

import pytest

from evaluations.grading import Divergence, first_divergence, trajectory
from tests.grading.building import claims, record, retrieval, timed_out, write

LOOK = record(1, "look", arguments={"order": "A"})


def parting(
    baseline: list[Any], candidate: list[Any], ends: tuple[str | None, str | None] = ("SUCCESS", "SUCCESS")
) -> Divergence:
    steps = (
        trajectory(records, claims(end)) for records, end in zip((baseline, candidate), ends, strict=True)
    )
    found = first_divergence(*steps, {})
    assert found is not None
    return found


def test_the_same_trajectories_do_not_part() -> None:
    steps = trajectory([LOOK, retrieval(2)], claims("SUCCESS"))
    assert first_divergence(steps, steps, {}) is None


def test_another_tool_and_the_irreversible_call_without_the_read() -> None:
    found = parting(
        [LOOK, record(2, "get_refund_policy", arguments={"order_id": "ORD-1001"})],
        [LOOK, write(2, "refund_payment", arguments={"order_id": "ORD-1001", "amount": 40})],
    )
    assert found.to_json() == {
        "step": 2,
        "kind": "tool",
        "summary": (
            "At step 2 the baseline called get_refund_policy(order_id=ORD-1001); "
            "the candidate called refund_payment(amount=40, order_id=ORD-1001)."
        ),
        "meaning": (
            "The candidate made the irreversible call refund_payment without first calling "
            "get_refund_policy, which the baseline did at this point."
        ),
        "baseline": "get_refund_policy(order_id=ORD-1001)",
        "candidate": "refund_payment(amount=40, order_id=ORD-1001)",
    }


def test_the_missing_read_is_told_of_the_baseline_too() -> None:
    found = parting([write(1)], [record(1, "policy")])
    assert found.meaning is not None
    assert found.meaning.startswith(
        "The baseline made the irreversible call pay without first calling policy"
    )


def test_a_read_that_was_made_before_is_missing_only_again() -> None:
    found = parting([LOOK, LOOK], [LOOK, write(2)])
    assert found.meaning is not None
    assert "without calling look again" in found.meaning


def test_a_search_is_a_read() -> None:
    found = parting([retrieval(1, "rules")], [write(1)])
    assert found.summary == 'At step 1 the baseline searched for "rules"; the candidate called pay().'
    assert found.meaning is not None
    assert "without first searching the knowledge base" in found.meaning


@pytest.mark.parametrize("risk", ["READ", "WRITE_REVERSIBLE", "EXECUTE"])
def test_other_risks_are_given_no_such_meaning(risk: str) -> None:
    assert parting([LOOK], [record(1, "other", risk=risk)]).meaning is None


UNKNOWN = write(2, **timed_out(arguments={"n": 1}, effect_key="pay:A"))


@pytest.mark.parametrize(
    ("again", "ending"),
    [
        ({"mutated": True}, "and it was applied again"),
        ({"mutated": False, "replayed": True}, "and the twin answered from its idempotency record"),
        ({"mutated": False, "status": "denied", "http_status": 403}, "and it ended in denied"),
    ],
)
def test_a_write_repeated_after_a_timeout_that_had_applied_it(again: dict[str, Any], ending: str) -> None:
    found = parting(
        [LOOK, UNKNOWN, LOOK], [LOOK, UNKNOWN, write(3, arguments={"n": 1}, effect_key="pay:A", **again)]
    )
    assert found.meaning is not None
    first, _, rest = found.meaning.partition(". ")
    assert first.rstrip(".") == (
        f"The candidate repeated pay after step 2 had ended in timeout with pay:A already applied, {ending}"
    )
    assert rest.startswith("The candidate made the irreversible call pay without calling look again")


def test_a_timeout_that_applied_nothing_is_no_repeat() -> None:
    nothing = write(2, **timed_out(effect_key="pay:A", mutated=False))
    found = parting([nothing, LOOK], [nothing, write(3, effect_key="pay:A")])
    assert found.meaning is not None
    assert "repeated" not in found.meaning


def test_a_repeat_after_the_other_side_stopped_is_told() -> None:
    found = parting([UNKNOWN], [UNKNOWN, write(3, effect_key="pay:A")])
    assert found.kind == "extra_steps"
    assert (
        found.summary
        == "At step 2 the baseline had stopped and reported SUCCESS; the candidate called pay()."
    )
    assert found.meaning is not None
    assert found.meaning.startswith("The candidate repeated pay after step 1")


def test_of_two_repeats_the_one_that_applied_it_again_is_told() -> None:
    keyed = write(1, **timed_out(effect_key="pay:A", idempotency_key="k", arguments={"key": "k"}))
    replay = write(
        2, effect_key="pay:A", idempotency_key="k", arguments={"key": "k"}, mutated=False, replayed=True
    )
    applied = write(2, effect_key="pay:A")
    found = parting([keyed, replay], [keyed, applied])
    assert found.kind == "arguments"
    assert found.meaning == (
        "The candidate repeated pay after step 1 had ended in timeout with pay:A already applied, "
        "and it was applied again. "
        "The candidate sent pay without an idempotency key; the baseline sent one."
    )


@pytest.mark.parametrize(
    ("keys", "who"),
    [(("k", None), "The candidate sent pay without"), ((None, "k"), "The baseline sent pay without")],
)
def test_a_dropped_idempotency_key(keys: tuple[str | None, str | None], who: str) -> None:
    baseline, candidate = (write(1, idempotency_key=key) for key in keys)
    found = parting([baseline], [candidate])
    assert found.kind == "arguments"
    assert found.meaning is not None
    assert found.meaning.startswith(who)
    assert "with an idempotency key in its header" in found.summary


def test_another_key_in_the_header_is_no_difference() -> None:
    one, other = (trajectory([write(1, idempotency_key=key)], None) for key in ("k1", "k2"))
    assert first_divergence(one, other, {}) is None


def test_other_arguments() -> None:
    found = parting([LOOK], [record(1, "look", arguments={"order": "B"})])
    assert (found.kind, found.baseline, found.candidate) == ("arguments", "look(order=A)", "look(order=B)")
    assert found.summary == "At step 1 the baseline called look(order=A); the candidate called look(order=B)."


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        (timed_out(), "the baseline's answered 200 ok, the candidate's answered 504 timeout TIMEOUT."),
        ({"response": {"result": 2}}, "answered 200 ok with other content."),
        ({"mutated": False}, "answered 200 ok, and only the baseline's took effect."),
        ({"replayed": True}, "the candidate's answered 200 ok, a replay."),
    ],
)
def test_another_result_or_effect(fields: dict[str, Any], ending: str) -> None:
    found = parting([write(1)], [write(1, **fields)])
    assert found.kind == "result"
    assert found.summary.startswith("At step 1 both made the same call pay(); ")
    assert found.summary.endswith(ending)
    assert found.meaning is None


def test_a_search_that_found_other_documents() -> None:
    found = parting([retrieval(1, "q", "d-1")], [retrieval(1, "q")])
    assert found.kind == "result"
    assert found.summary.endswith("the baseline's found 1, the candidate's found 0.")


DENIED = {"status": "denied", "http_status": 403, "mutated": False}


def test_a_policy_that_only_one_side_met() -> None:
    refused = record(1, "look", arguments={"order": "Z"}, policy_violation="CROSS_TENANT", **DENIED)
    found = parting([LOOK], [refused])
    assert found.kind == "policy"
    assert found.summary == (
        "At step 1 the baseline called look(order=A); "
        "the candidate called look(order=Z) and was refused by policy (CROSS_TENANT)."
    )
    assert (found.baseline, found.candidate) == ("look(order=A)", "look(order=Z) CROSS_TENANT")


def test_the_same_call_met_by_a_policy_on_one_side() -> None:
    refused = record(1, "look", arguments={"order": "A"}, policy_violation="TOOL_NOT_ALLOWED", **DENIED)
    assert parting([LOOK], [refused]).summary == (
        "At step 1 both called look(order=A); only the candidate was refused by policy (TOOL_NOT_ALLOWED)."
    )
    assert "only the baseline was refused" in parting([refused], [LOOK]).summary


def test_two_policies() -> None:
    one, other = (record(1, policy_violation=name, **DENIED) for name in ("ADMIN_ONLY", "CROSS_TENANT"))
    assert parting([one], [other]).summary.endswith(
        "the baseline was refused as ADMIN_ONLY, the candidate as CROSS_TENANT."
    )


def test_a_refused_irreversible_call_was_tried_and_not_made() -> None:
    refused = write(1, policy_violation="TOOL_NOT_ALLOWED", **DENIED)
    meaning = parting([LOOK], [refused]).meaning
    assert meaning is not None
    assert meaning.startswith("The candidate tried the irreversible call pay")


def test_one_side_stopping_early() -> None:
    found = parting([LOOK, write(2)], [LOOK])
    assert (found.step, found.kind) == (2, "stopped_early")
    assert (
        found.summary
        == "At step 2 the baseline called pay(); the candidate had stopped and reported SUCCESS."
    )
    assert found.candidate == "reported SUCCESS"


def test_another_reported_outcome() -> None:
    found = parting([LOOK], [LOOK], ("PARTIAL", "SUCCESS"))
    assert (found.step, found.kind, found.meaning) == (2, "outcome", None)
    assert found.summary == "At step 2 the baseline reported PARTIAL; the candidate reported SUCCESS."


def test_no_answer_is_another_outcome() -> None:
    found = first_divergence(trajectory([], claims("SUCCESS")), trajectory([], None), {})
    assert found is not None
    assert found.summary == "At step 1 the baseline reported SUCCESS; the candidate gave no answer."


def test_a_second_delivery_is_not_said_to_be_called() -> None:
    found = parting([write(1), write(2, redelivered=True)], [write(1), LOOK])
    assert "the baseline met a second delivery of pay()" in found.summary


def test_no_cause_is_ever_claimed() -> None:
    found = parting([LOOK, UNKNOWN, LOOK], [LOOK, UNKNOWN, write(3, effect_key="pay:A")])
    words = f"{found.summary} {found.meaning}".lower()
    assert not any(word in words for word in ("because", "caused", "due to", "therefore", "led to"))


def test_ten_thousand_equal_steps_are_walked_quickly() -> None:
    records = [record(n, arguments={"n": n}) for n in range(1, 10_001)]
    one, other = trajectory(records, claims("SUCCESS")), trajectory(records, claims("PARTIAL"))
    found = first_divergence(one, other, {})
    assert found is not None
    assert (found.step, found.kind) == (10_001, "outcome")
