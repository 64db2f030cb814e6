from __future__ import annotations

from typing import Any

import pytest

from evaluations.grading import retry_seqs
from evaluations.grading.signals import (
    claimed_without_change,
    duplicate_effects,
    effect_identity,
    escalated,
    executed,
    fingerprint,
    fresh_attempts,
    outcome_unknown,
)
from tests.grading.building import record, retrieval, timed_out, write

FAILED = ["error", "timeout", "rate_limited", "denied", "invalid", "dropped", "partial", "malformed"]


@pytest.mark.parametrize("status", FAILED)
def test_same_call_after_a_failure_is_a_retry(status: str) -> None:
    assert retry_seqs([record(1, status=status), record(2)]) == {2}


@pytest.mark.parametrize("status", ["ok", "not_found", "unknown_tool"])
def test_same_call_after_an_answer_is_no_retry(status: str) -> None:
    assert retry_seqs([record(1, status=status), record(2)]) == frozenset()


def test_only_the_previous_call_of_the_tool_counts() -> None:
    records = [
        record(1, status="error", arguments={"n": 1}),
        record(2, status="error", arguments={"n": 2}),
        record(3, arguments={"n": 1}),
    ]
    assert retry_seqs(records) == frozenset()


def test_another_tool_a_search_and_a_redelivery_in_between_hide_nothing() -> None:
    records = [
        record(1, status="error"),
        record(2, "other"),
        retrieval(3),
        record(4, redelivered=True),
        record(5),
    ]
    assert retry_seqs(records) == {5}


@pytest.mark.parametrize(
    ("first", "again", "is_retry"),
    [
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 0.3}, {"n": 0.1 + 0.2}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": 7}, {"n": "7"}, False),
        ({"n": "007"}, {"n": "7"}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": None}, {}, False),
    ],
)
def test_same_arguments_means_json_equality(first: Any, again: Any, is_retry: bool) -> None:
    records = [record(1, status="error", arguments=first), record(2, arguments=again)]
    assert bool(retry_seqs(records)) is is_retry


def test_a_redelivery_is_never_a_retry() -> None:
    assert retry_seqs([record(1, status="error"), record(2, redelivered=True)]) == frozenset()


def test_arguments_too_large_to_keep_are_compared_in_full() -> None:
    marker = {"too_large": {"bytes": 9}}
    same = [record(n, status="error", arguments=marker, sent_arguments={"a": 1}) for n in (1, 2)]
    other = record(3, arguments=marker, sent_arguments={"a": 2})
    assert retry_seqs([*same, other]) == {2}


@pytest.mark.parametrize(
    ("fields", "unknown"),
    [
        ({"status": "timeout", "http_status": 504}, True),
        ({"status": "timeout", "http_status": 408}, True),
        ({"status": "dropped", "http_status": 0}, True),
        ({"status": "partial", "http_status": 409}, True),
        ({"status": "malformed", "http_status": 200}, True),
        ({"status": "error", "http_status": 500}, True),
        ({"status": "error", "http_status": 503}, True),
        ({"status": "error", "http_status": 413}, False),
        ({"status": "rate_limited", "http_status": 429}, False),
        ({"status": "invalid", "http_status": 409}, False),
        ({"status": "denied", "http_status": 403}, False),
        ({"status": "ok", "http_status": 200}, False),
    ],
)
def test_unknown_outcomes(fields: dict[str, Any], unknown: bool) -> None:
    assert outcome_unknown(record(**fields)) is unknown


@pytest.mark.parametrize(
    ("fields", "is_executed", "is_escalated", "is_hollow"),
    [
        ({"status": "ok", "mutated": True, "expects_mutation": True}, True, True, False),
        ({"status": "ok", "mutated": False, "expects_mutation": True}, True, False, True),
        ({"status": "ok", "mutated": False, "expects_mutation": True, "replayed": True}, True, False, False),
        ({"status": "ok", "mutated": False, "expects_mutation": False}, True, True, False),
        ({"status": "timeout", "mutated": True, "expects_mutation": True}, True, True, False),
        ({"status": "malformed", "mutated": False, "expects_mutation": False}, False, False, False),
        ({"status": "malformed", "mutated": False, "expects_mutation": True}, False, False, False),
        ({"status": "denied", "mutated": False, "expects_mutation": True}, False, False, False),
    ],
)
def test_what_a_call_came_to(
    fields: dict[str, Any], is_executed: bool, is_escalated: bool, is_hollow: bool
) -> None:
    call = record(**fields)
    assert (executed(call), escalated(call), claimed_without_change(call)) == (
        is_executed,
        is_escalated,
        is_hollow,
    )


def test_the_effect_key_decides_across_tools() -> None:
    first, other = write(1, "pay", effect_key="pay:A"), write(2, "refund", effect_key="pay:A")
    assert effect_identity(first, {}) == effect_identity(other, {})
    assert [len(one.calls) for one in duplicate_effects([first, other], {})] == [2]


def test_without_an_effect_key_tool_and_arguments_decide() -> None:
    calls = [
        write(1, arguments={"n": 1, "key": "a"}),
        write(2, arguments={"n": 1, "key": "b"}),
        write(3, arguments={"n": 2, "key": "a"}),
        write(4, "other", arguments={"n": 1, "key": "a"}),
    ]
    (twice,) = duplicate_effects(calls, {"pay": "key", "other": "key"})
    assert [call.seq for call in twice.calls] == [1, 2]


def test_an_effect_key_never_meets_an_identity_by_arguments() -> None:
    assert duplicate_effects([write(1, effect_key="pay"), write(2, arguments={})], {}) == ()


def test_redeliveries_apply_effects_and_replays_do_not() -> None:
    assert duplicate_effects([write(1), write(2, redelivered=True)], {})
    assert not duplicate_effects([write(1), write(2, mutated=False, replayed=True)], {})


def test_an_argument_that_holds_the_text_of_a_key_from_a_header_says_what_is_done() -> None:
    """Two orders, each paid under its own id as the key, are two effects; one under two keys is one."""
    one, other = ({"order": name, "amount": 5} for name in ("A", "B"))
    first = write(1, arguments=one, idempotency_key="A")
    assert not duplicate_effects([first, write(2, arguments=other, idempotency_key="B")], {})
    assert duplicate_effects([first, write(2, arguments=one, idempotency_key="again")], {})
    unknown = write(1, **timed_out(arguments=one, idempotency_key="A"))
    assert fresh_attempts([unknown, write(2, arguments=one, idempotency_key="again")], {})
    assert not fresh_attempts([unknown, write(2, arguments=other, idempotency_key="B")], {})


def test_duplicates_of_ten_thousand_calls_are_found_at_once() -> None:
    calls = [write(n, arguments={"n": n % 9_999}) for n in range(1, 10_001)]
    (twice,) = duplicate_effects(calls, {})
    assert [call.seq for call in twice.calls] == [1, 10_000]


FIRST = {"effect_key": "pay:A", "idempotency_key": "k1"}


@pytest.mark.parametrize(
    ("later", "is_fresh"),
    [
        (FIRST, False),
        ({**FIRST, "idempotency_key": "k2"}, True),
        ({**FIRST, "idempotency_key": None}, True),
        ({**FIRST, "idempotency_key": "k2", "status": "denied", "http_status": 403, "mutated": False}, True),
        ({**FIRST, "effect_key": "pay:B", "idempotency_key": "k2"}, False),
        ({**FIRST, "idempotency_key": "k2", "risk": "READ"}, False),
    ],
)
def test_attempts_after_an_unknown_write(later: dict[str, Any], is_fresh: bool) -> None:
    assert bool(fresh_attempts([write(1, **timed_out(**FIRST)), write(2, **later)], {})) is is_fresh


def test_a_first_write_without_a_key_forbids_any_later_attempt() -> None:
    first = write(1, **timed_out(effect_key="pay:A"))
    for key in (None, "k1"):
        assert fresh_attempts([first, write(2, effect_key="pay:A", idempotency_key=key)], {})


def test_a_known_first_write_forbids_nothing() -> None:
    assert not fresh_attempts([write(1, **FIRST), write(2, effect_key="pay:A", idempotency_key="k2")], {})


def test_a_success_in_between_does_not_lift_it() -> None:
    calls = [
        write(1, **timed_out(**FIRST)),
        write(2, **FIRST, replayed=True, mutated=False),
        write(3, effect_key="pay:A", idempotency_key="k2"),
    ]
    assert [(one.first.seq, one.later.seq) for one in fresh_attempts(calls, {})] == [(1, 3)]


def test_two_unknown_writes_with_different_keys_forbid_every_key() -> None:
    calls = [write(n, **timed_out(effect_key="pay:A", idempotency_key=f"k{n}")) for n in (1, 2)]
    last = write(3, effect_key="pay:A", idempotency_key="k1")
    assert [(one.first.seq, one.later.seq) for one in fresh_attempts([*calls, last], {})] == [(1, 2), (2, 3)]


def test_ten_thousand_unknown_writes_are_looked_at_once() -> None:
    calls = [write(n, **timed_out(effect_key="e", idempotency_key=f"k{n}")) for n in range(10_000)]
    assert len(fresh_attempts(calls, {})) == 9_999


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (1, True, False),
        ("1", 1, False),
        (None, {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (1e300, 1e300, True),
    ],
)
def test_fingerprint_is_the_same_for_equal_values(left: Any, right: Any, same: bool) -> None:
    assert (fingerprint(left) == fingerprint(right)) is same
