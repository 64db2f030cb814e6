"""An example out of a real case: what the judge was to read, under the words it was judged by, and blind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from evaluations.errors import NotBlindError, RequestError
from evaluations.models import Criterion, CriterionVersion, Example, ExpectationResult
from evaluations.services import labelling
from evaluations.services.criteria import example_from_result, save_criterion
from tests.calibration.conftest import ScriptedJudge
from tests.running import documents
from tests.running.conftest import _agents, compared, given, start

__all__ = ["_agents", "compared", "given", "start"]

pytestmark = pytest.mark.django_db
RUBRIC = "The reply says that a colleague takes over.\n"
SAYS = f'answer {{"output": "A colleague has it. The key is {documents.SECRET}."}}'


def judged(**more: Any) -> dict[str, Any]:
    read = {"id": "says-so", "type": "semantic", "rubric": RUBRIC, "category": "handover", **more}
    return documents.scenario(
        "refund",
        input={"message": f"Refund 10 of A. {documents.SECRET}"},
        expectations=[read, {"id": "no-retry", "type": "maxRetries", "value": 0}],
    )


@pytest.fixture
def result(given: Any, compared: Any, judge: ScriptedJudge) -> Callable[..., ExpectationResult]:
    """The judged result of the candidate; `expectation` names another."""

    def of(expectation: str = "says-so", *, steps: tuple[str, ...] = (SAYS,), **more: Any) -> Any:
        given(judged(**more), candidate=(*documents.GOOD, *steps))
        comparison = compared()
        return ExpectationResult.objects.get(
            case__run__comparison=comparison, case__run__side="CANDIDATE", expectation_id=expectation
        )

    return of


def test_it_is_what_the_judge_read_under_the_words_of_the_expectation(
    result: Callable[..., ExpectationResult], people: Callable[..., User]
) -> None:
    row = result()
    example, is_new = example_from_result(result=row, actor=people("edi", "editor"))
    assert is_new
    version = example.criterion_version
    assert (version.criterion.name, version.number, version.rubric) == ("handover", 1, RUBRIC)
    assert version.criterion.current_version == version
    material = example.material
    assert material["answer"] == "A colleague has it. The key is [REDACTED]."
    assert material["customer_message"] == "Refund 10 of A. [REDACTED]"
    assert [call["tool"] for call in material["tool_calls"]] == ["lookup", "refund"]
    assert documents.SECRET not in str(material)
    assert (example.result, example.source) == (row, "case of refund, candidate")


def test_the_same_again_is_the_same_example(
    result: Callable[..., ExpectationResult], people: Callable[..., User]
) -> None:
    row, editor = result(), people("edi", "editor")
    first, _ = example_from_result(result=row, actor=editor)
    assert example_from_result(result=row, actor=editor) == (first, False)
    assert Example.objects.count() == 1


def test_other_words_than_the_current_become_a_version_and_change_nothing_else(
    result: Callable[..., ExpectationResult],
) -> None:
    row = result()
    current, _ = save_criterion(name="handover", rubric="Other words.")
    example, _ = example_from_result(result=row)
    assert example.criterion_version.number == 2
    assert Criterion.objects.get().current_version == current


def test_without_a_category_it_is_general(result: Callable[..., ExpectationResult]) -> None:
    example, _ = example_from_result(result=result(category=""))
    assert example.criterion_version.criterion.name == "general"


def test_who_took_it_saw_the_verdict_and_does_not_label_it(
    result: Callable[..., ExpectationResult], people: Callable[..., User]
) -> None:
    admin, ann = people("adi", "admin"), people("ann")
    example, _ = example_from_result(result=result(), actor=admin)
    version = example.criterion_version
    assert labelling.next_example(version, admin) is None
    assert labelling.next_example(version, ann) == example
    with pytest.raises(NotBlindError, match="you took example"):
        labelling.add_label(example=example, label="PASS", actor=admin)
    assert labelling.hidden_from(version, admin, [example.pk]) == set(), "nothing is left to hide"
    assert labelling.progress_of(version, admin).left == 0


@pytest.mark.parametrize(
    ("expectation", "options", "problem"),
    [
        ("no-retry", {}, "no-retry is graded by a rule, not by a judge"),
        ("says-so", {"steps": ('answer {"claimed_outcome": "SUCCESS"}',)}, "the agent gave no answer"),
        ("says-so", {"category": "a/b"}, "must begin with a letter or digit"),
        ("says-so", {"rubric": f"It says {documents.SECRET}."}, "holds a planted secret"),
    ],
)
def test_what_cannot_be_an_example_is_refused_and_stores_nothing(
    result: Callable[..., ExpectationResult], expectation: str, options: dict[str, Any], problem: str
) -> None:
    row = result(expectation, **options)
    with pytest.raises(RequestError, match=problem):
        example_from_result(result=row)
    assert not Criterion.objects.exists()
    assert not CriterionVersion.objects.exists()
    assert not Example.objects.exists()
