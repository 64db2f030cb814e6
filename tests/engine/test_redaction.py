from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.engine.redaction import REDACTED, redactor
from twins.engine.values import compact_json

SECRET = "FAKE-CODE-4711"


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        (SECRET, REDACTED),
        (f"the code is {SECRET}.", f"the code is {REDACTED}."),
        (f"{SECRET}{SECRET}", REDACTED * 2),
        ({"a": [SECRET, 1, None]}, {"a": [REDACTED, 1, None]}),
        ({SECRET: 1}, {REDACTED: 1}),
        ({f"seen.{SECRET}": {"x": SECRET}}, {f"seen.{REDACTED}": {"x": REDACTED}}),
        ((SECRET, 1), (REDACTED, 1)),
        (SECRET.lower(), SECRET.lower()),
        (5, 5),
        (None, None),
        (True, True),
    ],
)
def test_secrets_are_hidden_inside_texts_and_keys(value, redacted):
    assert redactor([SECRET])(value) == redacted


def test_a_value_without_a_secret_is_the_same_object():
    value = {"a": [1, {"b": "x"}], "c": ("y",)}
    assert redactor([SECRET])(value) is value
    mixed = {"clean": {"x": 1}, "dirty": SECRET}
    assert redactor([SECRET])(mixed)["clean"] is mixed["clean"]
    assert mixed["dirty"] == SECRET


def test_without_secrets_nothing_is_looked_at():
    value = object()
    assert redactor([])(value) is value


def test_the_longest_secret_goes_first():
    assert redactor(["abcd", "abcd-efgh"])("x abcd-efgh abcd") == f"x {REDACTED} {REDACTED}"


def test_a_secret_is_found_as_json_writes_it_in_a_text():
    secret = 'p"w\\d\nö'
    hide = redactor([secret])
    for text in (compact_json({"a": secret}), json.dumps({"a": secret})):
        assert (
            hide(text)
            == text[: text.index(':"') + 2 if ':"' in text else text.index(': "') + 3] + REDACTED + '"}'
        )


def test_keys_that_look_the_same_once_hidden_both_stay():
    hidden = redactor(["aaaa", "bbbb"])({"aaaa": 1, "bbbb": 2, REDACTED: 3})
    assert sorted(hidden.values()) == [1, 2, 3]
    assert len(hidden) == 3


def test_a_secret_of_digits_is_hidden_in_numbers_too():
    assert redactor(["47114711"])({"pin": 47114711, "n": 5}) == {"pin": REDACTED, "n": 5}


def test_a_secret_is_a_text_and_no_pattern():
    assert redactor(["a.c*"])("abcc a.c*") == f"abcc {REDACTED}"


@given(
    st.recursive(
        st.one_of(st.text(), st.just(SECRET), st.integers()),
        lambda inner: st.one_of(
            st.lists(inner), st.dictionaries(st.one_of(st.text(), st.just("k" + SECRET)), inner)
        ),
        max_leaves=10,
    )
)
def test_no_secret_is_left(value):
    assert SECRET not in json.dumps(redactor([SECRET])(value), ensure_ascii=False)


@pytest.mark.parametrize(
    ("cut", "hidden"),
    [
        ("see abcdefg", f"see {REDACTED}"),
        ("see abcd", f"see {REDACTED}"),
        ("see abc", "see abc"),
        ("abcdefgh and abcdef", f"{REDACTED} and {REDACTED}"),
        ("abcdef and more", "abcdef and more"),
        ("12 zzabcd", f"12 {REDACTED}"),
    ],
)
def test_the_beginning_of_a_secret_at_the_end_of_a_cut_text_is_hidden(cut, hidden):
    assert redactor(["abcdefgh", "zzabcdzz"]).cut(cut) == hidden


def test_what_stands_before_an_ellipsis_was_cut():
    hide = redactor(["abcdefgh"])
    assert hide({"abcdef…": ["x abcde…", "abcdef"]}) == {f"{REDACTED}…": [f"x {REDACTED}…", "abcdef"]}
    assert hide('found "abcdef…, allowed abcdef') == f'found "{REDACTED}…, allowed abcdef'


def test_without_secrets_a_cut_text_stays():
    assert redactor([]).cut("abcdef") == "abcdef"
