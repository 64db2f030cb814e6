"""Texts made to hurt: each is refused, or read, in bounded time and with a clear problem."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from twins.documents.source import as_source, read_source
from twins.documents.twin import validate_twin

ROOT = Path(__file__).parents[2]
# A healthy machine needs well under a second for the worst of these; a hang needs for ever.
SECONDS = 60

LEVELS = "abcdefghijklmnopqrst"
LAUGHS = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in itertools.pairwise(LEVELS)
)
DEEP = "is nested deeper than 64 levels"
LARGE = "larger than 1 MiB"

HOSTILE: dict[str, tuple[str, str, str]] = {
    "alias bomb": ("yaml", LAUGHS, LARGE),
    "one long text many times": ("yaml", f"a: &a {'x' * 5000}\nb: [{', '.join(['*a'] * 1000)}]", LARGE),
    "alias bomb in keys": ("yaml", f"a: &a {'x' * 5000}\nb:\n" + "  - {*a : 1}\n" * 1000, LARGE),
    "flow lists": ("yaml", "[" * 500_000, DEEP),
    "closed flow lists": ("yaml", "a: " + "[" * 900 + "]" * 900, DEEP),
    "flow objects": ("yaml", '{"a":' * 150_000, DEEP),
    "block lists": ("yaml", "- " * 400_000, DEEP),
    "block objects": ("yaml", "".join(f"{' ' * depth}a:\n" for depth in range(900)), DEEP),
    "keys that are objects": ("yaml", "? " * 400_000, "a key must be text"),
    "aliases that add up their depths": (
        "yaml",
        f"x: &x {'[' * 40}{']' * 40}\ny: {'[' * 30}*x{']' * 30}",
        DEEP,
    ),
    "json lists": ("json", "[" * 500_000, DEEP),
    "json objects": ("json", '{"a":' * 150_000, DEEP),
    "closed json lists": ("json", "[" * 900 + "]" * 900, DEEP),
    "a huge whole number": ("yaml", f"a: {'9' * 1_000_000}", "too large"),
    "a huge whole number in json": ("json", f"[{'9' * 1_000_000}]", "too large"),
    "a huge hexadecimal number": ("yaml", f"a: 0x{'f' * 1_000_000}", "too large"),
    "a very long line": ("yaml", f"a: {'x' * 2_000_000}", LARGE),
    "a very long comment": ("yaml", f"a: 1 #{'x' * 2_000_000}", LARGE),
    "many duplicates": ("yaml", "a: 1\n" * 150_000, "given twice"),
    "many tags": ("yaml", "- !!python/object/apply:os.abort []\n" * 20_000, "explicit tags"),
    "many unknown aliases": ("yaml", "- *x\n" * 150_000, "not defined"),
    "a million quotes": ("yaml", '"' * 1_000_000, "not valid YAML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name: str) -> None:
    kind, text, said = HOSTILE[name]
    read = read_source(text, kind=kind)
    assert said in read.problems[0].detail
    assert all(len(str(problem)) < 2000 for problem in read.problems)


def test_hostile_texts_end_in_time_in_a_process_of_their_own(tmp_path: Path) -> None:
    """A crash of the parser or a hang would take this test's own process with it."""
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(HOSTILE))
    script = (
        "import json, sys; from twins.documents.source import read_source\n"
        "for name, (kind, text, _) in json.load(open(sys.argv[1])).items():\n"
        "    assert read_source(text, kind=kind).problems, name\n"
        "print('survived')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(texts)], cwd=ROOT, timeout=SECONDS, capture_output=True, text=True
    )
    assert done.stdout == "survived\n", done.stderr


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_sixty_four_levels_are_allowed_and_one_more_is_not(kind: str) -> None:
    assert read_source("[" * 64 + "]" * 64, kind=kind).problems == ()
    (problem,) = read_source("[" * 65 + "]" * 65, kind=kind).problems
    assert problem.detail == DEEP


def test_one_deep_value_does_not_hide_the_other_problems() -> None:
    text = f"a: {'[' * 100}{']' * 100}\nb: 1\nb: 2\n"
    assert [problem.line for problem in read_source(text).problems] == [1, 3]


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert DEEP in as_source(endless).problems[0].detail


def test_a_value_that_shares_its_parts_without_end_is_refused() -> None:
    wide: list[Any] = ["x"]
    for _ in range(60):
        wide = [wide, wide]
    assert LARGE in as_source(wide).problems[0].detail


def test_a_document_of_exactly_1_mib_is_read_and_one_byte_more_is_not() -> None:
    text = "a: 1 #"
    full = text + "x" * (1024 * 1024 - len(text))
    assert read_source(full).value == {"a": 1}
    assert LARGE in read_source(full + "x").problems[0].detail
    # Bytes count, not characters.
    assert LARGE in read_source(text + "é" * (512 * 1024)).problems[0].detail


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"pattern": "(a+)+$" * 1000}, None),
        ({"pattern": "((((a{100}){100}){100}){100}){100}"}, "not an RE2 pattern"),
        ({"$ref": "#"}, "contains itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "contains itself"),
        ({"$ref": "http://169.254.169.254/latest"}, "leaves the schema"),
        ({"$ref": "file:///etc/passwd"}, "leaves the schema"),
    ],
)
def test_a_hostile_schema_in_a_twin_is_refused_or_harmless(schema: Any, said: str | None) -> None:
    document = {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "a"},
        "spec": {"tools": {"t": {"inputSchema": schema, "handler": {"kind": "echo"}}}},
    }
    problems = validate_twin(document)
    if said is None:
        assert problems == []
    else:
        assert said in problems[0].detail


def test_ten_thousand_problems_are_listed_and_no_more() -> None:
    tags = ",".join(["1"] * 200_000)
    head = "apiVersion: agenttwin.dev/v1\nkind: TwinDefinition\nmetadata: {name: a}\n"
    text = f"{head}spec:\n  secrets: [{tags}]\n"
    problems = validate_twin(read_source(text))
    assert len(problems) == 10_001
    assert "more than 10,000 problems" in problems[0].detail
