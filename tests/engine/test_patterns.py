from __future__ import annotations

import time

import pytest

from twins.engine.patterns import PatternError, compile_pattern


def test_search_is_anywhere_and_unicode():
    assert compile_pattern("ö.e$").search("Größe")
    assert compile_pattern(r"^\pL+$").search("日本")
    assert not compile_pattern("^ö").search("Größe")


def test_the_same_text_is_compiled_once():
    assert compile_pattern("a+b") is compile_pattern("a+b")


def test_a_refusal_names_the_pattern_and_the_reason(capfd):
    with pytest.raises(PatternError, match=r"\(\?=a\).*not an RE2 pattern"):
        compile_pattern("(?=a)")
    assert capfd.readouterr().err == ""  # RE2 would also log to stderr


def test_a_lone_surrogate_matches_nothing_and_is_no_pattern():
    assert not compile_pattern(".").search("\ud800")
    with pytest.raises(PatternError):
        compile_pattern("\ud800")


def test_a_pattern_that_ruins_backtracking_engines_is_linear():
    start = time.process_time()
    assert not compile_pattern("^(a+)+$").search("a" * 50_000 + "b")
    assert time.process_time() - start < 2
