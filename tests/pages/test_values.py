"""Showing values that strangers wrote."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string

from agenttwin_site.templatetags.values import SHOWN_CHARACTERS, folded, grouped


def shown(value: Any, **context: Any) -> str:
    return render_to_string("shared/_value.html", {"value": value, **context})


def test_a_short_value_stands_in_the_line() -> None:
    assert '<code class="break">{&quot;a&quot;: 1}</code>' in shown({"a": 1})


def test_a_long_value_is_folded_with_its_size() -> None:
    html = shown("word " * 1000, label="answer")

    assert "<details" in html
    assert "answer: <code>word word" in html
    assert "5,000 characters" in html


def test_a_huge_value_is_cut_and_says_so() -> None:
    html = shown("x" * 5_000_000, full_href="/all/")

    assert len(html) < SHOWN_CHARACTERS + 2_000
    assert "the first 50,000 of 5,000,000 characters" in html
    assert 'href="/all/"' in html


@pytest.mark.parametrize("value", ["<script>alert(1)</script>", {"<b>": "<i>"}, ["<script>" * 500]])
def test_markup_in_a_value_is_text(value: Any) -> None:
    html = shown(value)

    assert "<script>" not in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "null"), (True, "true"), ("null", "null"), ([], "[]"), ({"ä": "ö"}, '{"ä": "ö"}')],
)
def test_values_read_as_json_and_texts_as_they_are(value: Any, text: str) -> None:
    assert folded(value).text == text


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (1234567, "1,234,567"), (None, ""), ("", "")])
def test_numbers_are_grouped(number: Any, text: str) -> None:
    assert grouped(number) == text


@pytest.mark.parametrize("value", ["ORD-1\u202e", {"id": "ORD-1\u202e"}, ["\u202e" * 500]])
def test_characters_that_reorder_a_line_are_written_out(value: Any) -> None:
    html = shown(value)

    assert "\u202e" not in html
    assert "\\u202e" in html
