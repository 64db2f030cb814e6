"""Rubrics make versions, examples are kept once, and both are on record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from evaluations.errors import RequestError
from evaluations.judges.rendering import rubric_digest
from evaluations.models import Criterion, CriterionVersion, Example
from evaluations.services.criteria import carry_over, current_version, import_examples, save_criterion
from reviews.models import AuditEntry
from tests.calibration.conftest import RUBRIC, example_at, examples_of
from twins.documents.problems import DocumentError

pytestmark = pytest.mark.django_db


def imported(text: str, **options: Any) -> Any:
    return import_examples(text=text, **options)


def problems_of(text: str, **options: Any) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        import_examples(text=text, **options)
    return [str(problem) for problem in caught.value.problems]


def test_a_rubric_makes_version_1_and_its_digest_is_that_of_verdicts() -> None:
    version, is_new = save_criterion(name="handover", rubric=RUBRIC)
    assert (is_new, version.number, version.rubric) == (True, 1, RUBRIC)
    assert version.rubric_sha256 == rubric_digest(RUBRIC)
    assert current_version("handover") == version


def test_the_same_rubric_changes_nothing() -> None:
    first, _ = save_criterion(name="handover", rubric=RUBRIC)
    assert save_criterion(name="handover", rubric=RUBRIC) == (first, False)
    assert CriterionVersion.objects.count() == AuditEntry.objects.count() == 1


def test_going_back_to_an_older_rubric_makes_its_version_current_with_its_examples() -> None:
    first = examples_of("A colleague has it.")
    second, _ = save_criterion(name="handover", rubric="Something else.")
    assert current_version("handover") == second
    again, is_new = save_criterion(name="handover", rubric=RUBRIC)
    assert (again, is_new) == (first, True)
    assert current_version("handover") == first
    assert first.examples.count() == 1


def test_every_problem_of_a_criterion_is_told_and_nothing_is_stored() -> None:
    with pytest.raises(RequestError) as caught:
        save_criterion(name="a/b", rubric=" ")
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["name", "rubric"]
    assert not Criterion.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_version_on_record_names_who_and_which(people: Callable[..., User]) -> None:
    version, _ = save_criterion(name="handover", rubric=RUBRIC, actor=people("edi", "editor"))
    entry = AuditEntry.objects.get(action="criterion_version_set")
    assert (entry.actor_name, entry.subject_label) == ("edi", "criterion handover")
    assert entry.after == {"version": 1, "rubric_sha256": version.rubric_sha256}


def test_a_document_with_a_rubric_makes_criterion_and_examples() -> None:
    found = imported(f"criterion: handover\nrubric: {RUBRIC}\nexamples: [{{answer: One.}}, {{answer: Two.}}]")
    assert (found.created, found.known, found.is_new_version) == (2, 0, True)
    assert [one.material["answer"] for one in found.version.examples.all()] == ["One.", "Two."]


def test_importing_again_adds_only_what_is_new_and_records_only_that() -> None:
    examples_of("One.", "Two.")
    before = AuditEntry.objects.count()
    found = imported("examples: [{answer: Two.}, {answer: Three.}, {answer: Three.}]", criterion="handover")
    assert (found.created, found.known) == (1, 2)
    assert AuditEntry.objects.count() == before + 1
    imported("examples: [{answer: Two.}]", criterion="handover")
    assert AuditEntry.objects.count() == before + 1


def test_lines_go_to_the_current_version_of_the_criterion_that_is_given() -> None:
    examples_of("One.")
    newer, _ = save_criterion(name="handover", rubric="Other words.")
    found = imported('{"answer": "Two."}', kind="jsonl", criterion="handover", source="from mail.jsonl")
    assert found.version == newer
    assert example_at(newer, 0).source == "from mail.jsonl"


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("examples: [{answer: x}]", {}, "criterion: is required: nothing else says it"),
        ("criterion: a\nexamples: [{answer: x}]", {"criterion": "b"}, "criterion: must be b, got a"),
        (
            "criterion: nobody\nexamples: [{answer: x}]",
            {},
            "criterion: there is no criterion nobody yet: a document with its rubric makes it",
        ),
    ],
)
def test_examples_of_nothing_are_refused(text: str, options: dict[str, str], problem: str) -> None:
    assert problems_of(text, **options) == [problem]
    assert not Criterion.objects.exists()


def test_examples_can_be_taken_over_into_another_rubric_without_their_labels(
    people: Callable[..., User],
) -> None:
    from evaluations.services.labelling import add_label, labelled

    first = examples_of("One.", "Two.")
    add_label(example=example_at(first, 0), label="PASS", actor=people("ann"))
    second, _ = save_criterion(name="handover", rubric="Other words.")
    imported("examples: [{answer: Two.}]", criterion="handover")
    assert carry_over(second) == 1
    assert {one.material["answer"] for one in second.examples.all()} == {"One.", "Two."}
    assert labelled(second.pk).by_example == {}
    assert carry_over(second) == 0
    assert Example.objects.count() == 4
