"""What a reader must not overlook in a stranger's text."""

from __future__ import annotations

import pytest

from evaluations.grading.wording import call_text, clean, shown, storable
from twins.engine.visible import visible


@pytest.mark.parametrize(
    "number", [0, 7, 0x1B, 0x7F, 0x9B, 0xAD, 0x200B, 0x200F, 0x202E, 0x2066, 0x2069, 0xFEFF]
)
def test_a_hidden_character_is_written_out(number: int) -> None:
    assert visible(f"a{chr(number)}b") == f"a\\u{number:04x}b"


def test_a_hidden_character_beyond_the_first_plane_has_eight_digits() -> None:
    assert visible("a\U000e0041") == "a\\U000e0041"


@pytest.mark.parametrize("text", ["", "two\n\tlines\r\n", "Grüße, 日本, שלום, مرحبا", "👍🏽", "a\xa0b…"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_calls_values_and_reasons_are_written_out_and_what_is_looked_up_again_is_not() -> None:
    evil = "ORD-1\u202e"

    assert call_text("refund", {"order_id": evil}) == "refund(order_id=ORD-1\\u202e)"
    assert shown(evil) == '"ORD-1\\u202e"'
    assert clean(evil) == "ORD-1\\u202e"
    assert storable(evil) == evil
