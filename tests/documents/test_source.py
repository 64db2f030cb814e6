"""Reading YAML and JSON: values, lines, and what is refused while the rest stays readable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twins.documents.problems import format_problem
from twins.documents.source import as_source, read_source, source_kind


def problems(text: str | bytes, kind: str = "yaml") -> list[str]:
    return [format_problem("f", problem) for problem in read_source(text, kind=kind).problems]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("NO", "NO"), ("on", "on"), ("off", "off"), ("yes", "yes"), ("y", "y"), ("n", "n"),
        ("2026-01-02", "2026-01-02"), ("2026-03-05T10:00:00Z", "2026-03-05T10:00:00Z"),
        ("12:30:00", "12:30:00"), ("1_000", "1_000"), ("=", "="), ("<<", "<<"), ("0b11", "0b11"),
        ("012", 12), ("-07", -7), ("+5", 5), ("0o17", 15), ("0x1F", 31), ("-0x1F", "-0x1F"), ("0o8", "0o8"),
        ("1.10", 1.1), ("1.", 1.0), (".5", 0.5), ("-.5e1", -5.0), ("1e3", 1000.0), ("1E-2", 0.01),
        ("1e", "1e"),
        ("~", None), ("null", None), ("Null", None), ("NULL", None), ("nUll", "nUll"), ("", None),
        ("true", True), ("True", True), ("TRUE", True), ("tRue", "tRue"), ("FALSE", False),
        ('"012"', "012"), ("'true'", "true"), ('"\\ud83d\\ude00"', "😀"), ('"a\\/b"', "a/b"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_yaml_1_2_core(scalar: str, value: Any) -> None:
    read = read_source(f"a: {scalar}\n")
    assert read.problems == ()
    assert read.value == {"a": value}
    assert type(read.value["a"]) is type(value)


def test_a_merge_key_is_an_ordinary_key() -> None:
    assert read_source("base: &b {x: 1}\nother: {<<: *b}\n").value["other"] == {"<<": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3: a: the key is given twice (first on line 1)"),
        ("a:\n  - {b: 1, b: 2}\n", "f:2: a[0].b: the key is given twice (first on line 2)"),
        ("a:\n  b: !!str 5\n", "f:2: a.b: explicit tags are not allowed, found !!str"),
        ("a: !py/object:os.system {}\n", "f:1: a: explicit tags are not allowed, found !py/object:os.system"),
        ("a: ! x\n", "f:1: a: explicit tags are not allowed, found !"),
        ("!!str a: x\n", "f:1: a: explicit tags are not allowed, found !!str"),
        ("x:\n  1: a\n", "f:2: x.1: a key must be text, found 1 (quote it)"),
        ("true: a\n", "f:1: true: a key must be text, found true (quote it)"),
        ("~: a\n", "f:1: ~: a key must be text, found ~ (quote it)"),
        ("x:\n  ? [a, b]\n  : c\n", "f:2: x: a key must be text, found a list"),
        ("a: .nan\n", "f:1: a: .nan is not a JSON value (quote it if a text is meant)"),
        ("a: -.INF\n", "f:1: a: -.INF is not a JSON value (quote it if a text is meant)"),
        ('a: "\\ud800"\n', "f:1: a: holds a lone surrogate, which is no character"),
        ('"\\udc00": 1\n', "f:1: \\udc00: the key holds a lone surrogate, which is no character"),
        ('a: "\\0"\n', "f:1: a: holds the character NUL, which cannot be stored"),
        ("a: 1e999\n", "f:1: a: the number 1e999 is too large (at most about 1.8e308)"),
        ("a: *b\n", "f:1: a: the anchor of the alias *b is not defined before it"),
        ("a: &a [*a]\n", "f:1: a[0]: the anchor of the alias *a stands around it"),
    ],
)
def test_a_fault_is_told_with_its_place_and_the_rest_stays_readable(text: str, problem: str) -> None:
    assert problems(text) == [problem]
    assert read_source(text).readable


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "f: $: the document is empty"),
        (" \n\n", "f: $: the document is empty"),
        ("# nothing\n", "f: $: the document is empty"),
        ("a: 1\n---\nb: 2\n", "f:2: $: the text holds more than one document"),
        ("a: b: c\n", "f:1: $: is not valid YAML: mapping values are not allowed in this context"),
        ("a: [1\n", "f:2: $: is not valid YAML: did not find expected ',' or ']'"),
        ("a: \x01\n", "f:1: $: is not valid YAML: the character U+0001 is not allowed"),
        ("a: 1\nb: \x00\n", "f:2: $: is not valid YAML: the character U+0000 is not allowed"),
        (b"a: 1\nb: \xff\n", "f:2: $: the text is not UTF-8 (byte 9)"),
        ("a: 1\nb: \ud800\n", "f:2: $: the text holds a lone surrogate, which is no character"),
    ],
)
def test_a_text_that_gives_no_value_is_refused_with_its_line(text: str | bytes, problem: str) -> None:
    assert problems(text) == [problem]
    assert not read_source(text).readable


def test_every_fault_of_a_text_is_told() -> None:
    text = "a: 1\na: 2\nb: !!str x\nc: .inf\n3: x\nd: [*e, 1e999]\n"
    assert [line.split(" ")[0] for line in problems(text)] == ["f:2:", "f:3:", "f:4:", "f:5:", "f:6:", "f:6:"]


def test_what_came_before_a_syntax_error_is_told_too() -> None:
    found = problems("a: 1\na: 2\nb: [\n")
    assert "f:2: a: the key is given twice (first on line 1)" in found
    assert any("is not valid YAML" in line for line in found)


@pytest.mark.parametrize("mark", ["\ufeff", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_part_of_the_text(mark: str | bytes) -> None:
    text: Any = mark + ("a: 1" if isinstance(mark, str) else b"a: 1")
    assert read_source(text).value == {"a": 1}
    json_text: Any = mark + ("{}" if isinstance(mark, str) else b"{}")
    assert read_source(json_text, kind="json").value == {}


def test_lines_are_those_of_fields_and_entries() -> None:
    text = "# note\na:\n  b:\n    - x\n    -\n      c: 1\n      d: {e: 2,\n        f: 3}\n"
    lines = read_source(text).lines
    places = {("a",): 2, ("a", "b"): 3, ("a", "b", 0): 4, ("a", "b", 1, "c"): 6, ("a", "b", 1, "d", "f"): 8}
    assert {path: lines.of(path) for path in places} == places


def test_the_line_of_a_missing_field_is_that_of_the_container_around_it() -> None:
    assert read_source("a:\n  b: {}\n").lines.of(("a", "b", "c", "d")) == 2


def test_an_alias_stands_for_the_same_value_wherever_it_is_written() -> None:
    read = read_source("a: &x {k: [1, 2]}\nb: *x\nc: &k key\n*k : 5\n")
    assert read.value == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}, "c": "key", "key": 5}
    assert read.lines.of(("b",)) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 2}', "f: a: the key is given twice"),
        ('{"a": [{"b": 1, "b": 2}]}', "f: a[0].b: the key is given twice"),
        ('{"a": NaN}', "f: a: NaN is not a JSON value"),
        ("[Infinity]", "f: [0]: Infinity is not a JSON value"),
        ("[-Infinity]", "f: [0]: -Infinity is not a JSON value"),
        ("[1e999]", "f: [0]: the number 1e999 is too large (at most about 1.8e308)"),
        ('["\\ud800"]', "f: [0]: holds a lone surrogate, which is no character"),
        ('["\\u0000"]', "f: [0]: holds the character NUL, which cannot be stored"),
        ('{"a": 1}x', "f: $: is not valid JSON: Extra data (line 1, column 9)"),
        (
            "{'a': 1}",
            "f: $: is not valid JSON: Expecting property name enclosed in double quotes (line 1, column 2)",
        ),
        ("", "f: $: the document is empty"),
    ],
)
def test_a_json_source_has_no_line(text: str, problem: str) -> None:
    assert problems(text, "json") == [problem]


@pytest.mark.parametrize("tabs", ['{\n\t"a":\t[1, 2]}', '{"a":[1,2]}', '{"a" : [1 , 2]\n}'])
def test_json_text_reads_as_yaml_too(tabs: str) -> None:
    assert read_source(tabs).value == {"a": [1, 2]}


def test_escaped_json_in_a_yaml_file_keeps_its_emoji() -> None:
    text = json.dumps({"a": "\U0001f600", "b": [1]}, indent=1)
    assert read_source(text).value == {"a": "\U0001f600", "b": [1]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a": float("nan")}, "a: nan is not a JSON value"),
        ({"a": [float("inf")]}, "a[0]: inf is not a JSON value"),
        ({"a": {1: 2}}, "a.1: a key must be text, found 1"),
        ({"a": (1, 2)}, "a: a tuple is not a JSON value"),
        ({"a": {1, 2}}, "a: a set is not a JSON value"),
        ({"a": b"x"}, "a: bytes is not a JSON value"),
        ({"a": 10**5000}, "a: the number is too large (at most about 1.8e308)"),
        ({"a": "\ud800"}, "a: holds a lone surrogate, which is no character"),
        ({"\x00": 1}, "\\u0000: the key holds the character NUL, which cannot be stored"),
        ({"a": "x" * 1024 * 1024}, "$: the document is larger than 1 MiB"),
    ],
)
def test_a_value_parsed_elsewhere_is_held_to_the_same_rules(value: Any, problem: str) -> None:
    assert [str(found) for found in as_source(value).problems] == [problem]


def test_a_value_parsed_elsewhere_is_never_changed() -> None:
    value = {"a": [float("nan"), 1]}
    as_source(value)
    assert value["a"][0] != value["a"][0]
    assert value["a"][1] == 1


def test_the_name_of_a_file_tells_its_kind() -> None:
    assert [source_kind(name) for name in ("a.json", "A.JSON", "a.yaml", "a.yml", "a")] == [
        "json", "json", "yaml", "yaml", "yaml",
    ]  # fmt: skip


def test_a_problem_is_always_one_printable_line() -> None:
    found = problems('"a\\nb\\u2028\\e": !!str 1\n')
    assert found == ["f:1: ['a\\u000ab\\u2028\\u001b']: explicit tags are not allowed, found !!str"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_value_is_measured_as_its_compact_json(more: int) -> None:
    value: dict[str, Any] = {"a": [{"é": [1, [], {}, None, True, False, 1.5, '"\n\\']}, "b"], "fill": ""}
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    value["fill"] = "x" * (1024 * 1024 - size + more)
    assert as_source(value).readable is (more == 0)
