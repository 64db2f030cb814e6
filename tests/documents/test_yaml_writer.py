"""Documents written as YAML: readable, and the same value when read again."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from twins.documents.source import read_source
from twins.documents.yaml_writer import to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
# Texts close to what YAML reads as something else.
TRICKY = st.text("0123456789.eE+-xo_: \n'\"#{}[]|>&*!%@`~tfnyNT", max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | TRICKY
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | TRICKY, inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXTS | TRICKY, VALUES, max_size=5))
def test_what_is_written_reads_back_as_the_same_value(document: dict[str, Any]) -> None:
    read = read_source(to_yaml(document))
    assert read.problems == ()
    # repr also tells 1 from 1.0 and True, and the order of keys.
    assert repr(read.value) == repr(document)


@pytest.mark.parametrize(
    "text",
    ["no", "NO", "on", "y", "012", "1e3", "0x1f", "0o7", "1_000", "12:30:45", "2026-01-02", "null", "~", "",
     "true", ".inf", ".nan", "-1.", "<<", "=", "- a", "# c", "a: b", "{a}", "*a", "&a", "!a", "a\n",
     "a\n\n", "\na", " a\nb", "a \nb", "\u2028", "\x85", "\ufeff", "\t", "é😀", "a\tb", "'", '"',
     "\\", "%a", "@a", "`a"],
)  # fmt: skip
def test_a_text_stays_a_text(text: str) -> None:
    assert read_source(to_yaml({"a": text, text: "b"})).value == {"a": text, text: "b"}


def test_readers_of_older_yaml_see_the_same_texts() -> None:
    document = {"a": ["no", "on", "2026-01-02", "12:30:45", "1_000", "y"]}
    assert yaml.safe_load(to_yaml(document)) == document


def test_a_document_is_written_as_a_person_would() -> None:
    document = {
        "kind": "Agent",
        "spec": {"instructions": "Be kind.\nBe quick.\n", "tools": [{"name": "é"}], "b": []},
    }
    assert to_yaml(document) == (
        "kind: Agent\nspec:\n  instructions: |\n    Be kind.\n    Be quick.\n  tools:\n  - name: é\n  b: []\n"
    )


def test_a_shared_part_is_written_out_each_time() -> None:
    part = {"x": 1}
    assert "&" not in to_yaml({"a": part, "b": part})
