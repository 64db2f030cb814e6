"""Files of examples: what is read of them, and every problem with its place."""

from __future__ import annotations

import json

import pytest

from evaluations.judges.interface import Material, ShownCall
from evaluations.labelling import criterion_problem, examples_kind, read_examples, rubric_problem
from twins.documents.problems import DocumentError

YAML = """\
criterion: refund-handover
rubric: The reply says that a specialist finishes the refund.
examples:
  - answer: |
      I have passed this on.
    customer_message: Where is my money?
    tool_calls:
      - {tool: refund_payment, text: 'answered 200'}
    source: written by hand
  - {answer: Done.}
"""


def problems_of(text: str, kind: str = "yaml") -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_examples(text, kind=kind)
    return [f"{problem.line}: {problem}" for problem in caught.value.problems]


def test_a_document_says_what_its_examples_are_for() -> None:
    found = read_examples(YAML)
    assert (found.criterion, found.rubric) == (
        "refund-handover",
        "The reply says that a specialist finishes the refund.",
    )
    first, second = found.examples
    assert first.material == Material(
        "I have passed this on.\n",
        "Where is my money?",
        (ShownCall(1, "refund_payment", "answered 200"),),
    )
    assert first.source == "written by hand"
    assert second.material == Material("Done.")


def test_the_same_as_json_is_the_same() -> None:
    value = {
        "criterion": "refund-handover",
        "rubric": "The reply says that a specialist finishes the refund.",
        "examples": [
            {
                "answer": "I have passed this on.\n",
                "customer_message": "Where is my money?",
                "tool_calls": [{"tool": "refund_payment", "text": "answered 200"}],
                "source": "written by hand",
            },
            {"answer": "Done."},
        ],
    }
    assert read_examples(json.dumps(value), kind="json") == read_examples(YAML)


def test_lines_are_examples_alone_and_empty_ones_are_passed_over() -> None:
    found = read_examples('{"answer": "One."}\n\n  \n{"answer": "Two.", "source": "mail"}\r\n', kind="jsonl")
    assert [one.material.answer for one in found.examples] == ["One.", "Two."]
    assert found.examples[1].source == "mail"
    assert (found.criterion, found.rubric) == (None, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("A.NDJSON", "jsonl"),
        ("a.json", "json"),
        ("a.yaml", "yaml"),
        ("a.txt", "yaml"),
    ],
)
def test_the_name_of_a_file_says_its_kind(name: str, kind: str) -> None:
    assert examples_kind(name) == kind


def test_every_problem_of_a_document_is_told_with_its_line() -> None:
    text = (
        "criterion: a/b\n"
        "rubrik: x\n"
        "rubric: '  '\n"
        "examples:\n"
        "  - answer: ''\n"
        "  - custom: 1\n"
        "  - {answer: 5, tool_calls: [{tool: '', text: 1}]}\n"
    )
    found = problems_of(text)
    assert [one.split(":")[0] for one in found] == ["1", "2", "3", "5", "6", "6", "7", "7", "7"]
    whole = "\n".join(found)
    assert "criterion: must begin with a letter or digit" in whole
    assert "rubrik: is not a known field here" in whole
    assert "rubric: must say what a judge is to find" in whole
    assert "examples[0].answer: must not be empty" in whole
    assert "examples[1].answer: is required" in whole
    assert "examples[2].tool_calls[0].text" in whole


def test_every_problem_of_lines_is_told_with_the_line_of_the_file() -> None:
    found = problems_of('{"answer": "One."}\nnot json\n\n{"answers": "x"}\n{"answer": " "}\n', kind="jsonl")
    assert [one.split(":")[0] for one in found] == ["2", "4", "4", "5"]
    assert "answers: is not a known field here" in "\n".join(found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "yaml"),
        ("", "jsonl"),
        ("\n\n", "jsonl"),
        ("examples: []", "yaml"),
        ("- answer: x", "yaml"),
        ('"answer"', "jsonl"),
        ('{"answer": NaN}', "jsonl"),
        ('{"answer": "a", "answer": "b"}', "jsonl"),
        ("[" * 50_000, "jsonl"),
        ('{"answer": "\ud800"}', "jsonl"),
    ],
)
def test_what_holds_no_example_is_refused(text: str, kind: str) -> None:
    assert problems_of(text, kind)


def test_a_label_in_a_file_is_refused_like_any_unknown_field() -> None:
    [problem] = problems_of("criterion: a\nexamples: [{answer: x, label: pass}]")
    assert "examples[0].label: is not a known field here" in problem


def test_too_many_lines_are_refused() -> None:
    found = problems_of('{"answer": "x"}\n' * 1001, kind="jsonl")
    assert found == ["1001: $: has more than 1,000 lines"]


@pytest.mark.parametrize("name", ["refund-handover", "Tone", "a.b:c d_1", "ü", "9"])
def test_names_that_can_be_used(name: str) -> None:
    assert criterion_problem(name) == ""


@pytest.mark.parametrize("name", ["", " a", "a ", "a/b", "..", "_x", "a\nb", "a\x00", "a" * 101, "a?b"])
def test_names_that_cannot(name: str) -> None:
    assert criterion_problem(name)


def test_rubrics_that_cannot_be_used() -> None:
    assert rubric_problem(" ") == "must say what a judge is to find"
    assert "at most 10,000 characters, got 10,001" in rubric_problem("x" * 10_001)
    assert "NUL" in rubric_problem("a\x00b")
    assert rubric_problem("It says so.") == ""
