from __future__ import annotations

import pytest

from twins.engine.records import Reply, call_status, first_half


@pytest.mark.parametrize(
    ("status", "code", "transport", "word"),
    [
        (200, None, "normal", "ok"),
        (201, None, "normal", "ok"),
        (299, None, "normal", "ok"),
        (429, "RATE_LIMITED", "normal", "rate_limited"),
        (401, "X", "normal", "denied"),
        (403, "X", "normal", "denied"),
        (404, "NOT_FOUND", "normal", "not_found"),
        (404, "UNKNOWN_TOOL", "normal", "unknown_tool"),
        (408, "X", "normal", "timeout"),
        (504, "TIMEOUT", "normal", "timeout"),
        (400, "X", "normal", "invalid"),
        (409, "X", "normal", "invalid"),
        (422, "X", "normal", "invalid"),
        (413, "ARGUMENTS_TOO_LARGE", "normal", "error"),
        (500, "X", "normal", "error"),
        (503, "X", "normal", "error"),
        (302, None, "normal", "error"),
        (418, "X", "normal", "error"),
        (0, None, "drop", "dropped"),
        (404, "NOT_FOUND", "partial", "partial"),
        (404, "UNKNOWN_TOOL", "partial", "partial"),
        (200, None, "malformed", "malformed"),
    ],
)
def test_the_word_for_how_a_call_ended(status, code, transport, word):
    assert call_status(status, code, transport) == word


@pytest.mark.parametrize(
    ("body", "half"),
    [({"a": 1}, '{"a'), ({"a": "ü"}, '{"a"'), ("", '"'), ({"result": {"a": 1, "b": [2]}}, '{"result":{"a')],
)
def test_half_is_of_the_compact_json_in_characters_rounded_down(body, half):
    assert first_half(body) == half


def test_a_reply_as_it_is_printed():
    assert Reply(0, {}, None, 40, "drop").to_json() == {
        "status": 0,
        "headers": {},
        "body": None,
        "delay_ms": 40,
        "transport": "drop",
    }
