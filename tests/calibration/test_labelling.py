"""People label blind: one label each, kept as it was given, on record without being told."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from evaluations.errors import LabelConflictError, LabelSettledError, NotBlindError, RequestError
from evaluations.models import Label
from evaluations.services import labelling
from evaluations.services.calibration import start_calibration
from reviews.models import AuditEntry
from tests.calibration.conftest import ScriptedJudge, example_at, examples_of, good_and_bad, label_all

pytestmark = pytest.mark.django_db
People = Callable[..., User]


def test_a_label_is_kept_with_its_person_and_the_record_does_not_tell_which(people: People) -> None:
    version = examples_of("One.")
    row = labelling.add_label(example=example_at(version, 0), label="FAIL", actor=people("ann"))
    assert (row.person.username, row.label) == ("ann", "FAIL")
    entry = AuditEntry.objects.get(action="example_labelled")
    assert (entry.actor_name, entry.subject_id) == ("ann", str(row.example_id))
    told = f"{entry.subject_label} {entry.before} {entry.after} {entry.note}"
    assert "FAIL" not in told
    assert "PASS" not in told


def test_the_same_label_again_is_the_one_that_is_there(people: People) -> None:
    version = examples_of("One.")
    first, again = (
        labelling.add_label(example=example_at(version, 0), label="PASS", actor=people("ann"))
        for _ in range(2)
    )
    assert first == again
    assert AuditEntry.objects.filter(action="example_labelled").count() == 1


def test_another_label_of_the_same_person_is_refused(people: People) -> None:
    version = examples_of("One.")
    labelling.add_label(example=example_at(version, 0), label="PASS", actor=people("ann"))
    with pytest.raises(LabelConflictError):
        labelling.add_label(example=example_at(version, 0), label="FAIL", actor=people("ann"))
    assert Label.objects.get().label == "PASS"


def test_the_database_keeps_one_label_for_each_person(people: People) -> None:
    version = examples_of("One.")
    labelling.add_label(example=example_at(version, 0), label="PASS", actor=people("ann"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Label.objects.create(example=example_at(version, 0), person=people("ann"), label="FAIL")


@pytest.mark.parametrize("label", ["", "pass", "ERROR", "MAYBE"])
def test_what_is_no_label_is_refused(people: People, label: str) -> None:
    version = examples_of("One.")
    with pytest.raises(RequestError, match="must be PASS or FAIL"):
        labelling.add_label(example=example_at(version, 0), label=label, actor=people("ann"))
    assert not Label.objects.exists()


def test_examples_come_one_by_one_and_those_passed_over_come_again(people: People) -> None:
    version, ann = examples_of("One.", "Two.", "Three."), people("ann")
    one, two, three = version.examples.order_by("pk")
    assert labelling.next_example(version, ann) == one
    assert labelling.next_example(version, ann, after=one.pk) == two
    labelling.add_label(example=two, label="PASS", actor=ann)
    assert labelling.next_example(version, ann, after=one.pk) == three
    assert labelling.next_example(version, ann, after=three.pk) == one
    for example in (one, three):
        labelling.add_label(example=example, label="PASS", actor=ann)
    assert labelling.next_example(version, ann) is None
    assert labelling.next_example(version, people("ben")) == one
    assert labelling.progress_of(version, ann) == labelling.Progress(3, 3, False)


def test_ones_own_label_is_taken_back_while_it_is_the_only_one(people: People) -> None:
    version, ann = examples_of("One."), people("ann")
    example = example_at(version, 0)
    labelling.add_label(example=example, label="PASS", actor=ann)
    labelling.take_back(example=example, actor=ann)
    assert labelling.labelled(version.pk).by_example == {}
    labelling.add_label(example=example, label="FAIL", actor=ann)
    assert labelling.labelled(version.pk).by_example == {example.pk: (("ann", "FAIL"),)}
    assert AuditEntry.objects.filter(action="label_taken_back").count() == 1


def test_once_somebody_else_labelled_it_too_both_labels_stay(people: People) -> None:
    version = examples_of("One.")
    example = example_at(version, 0)
    for name in ("ann", "ben"):
        labelling.add_label(example=example, label="PASS", actor=people(name))
    with pytest.raises(LabelSettledError):
        labelling.take_back(example=example, actor=people("ben"))
    assert labelling.standing_labels().count() == 2


def test_a_label_that_a_calibration_used_stays(people: People, judge: ScriptedJudge) -> None:
    version, ann = examples_of("One."), people("ann")
    labelling.add_label(example=example_at(version, 0), label="PASS", actor=ann)
    start_calibration(version=version, wake=False)
    with pytest.raises(LabelSettledError):
        labelling.take_back(example=example_at(version, 0), actor=ann)


def test_what_was_not_labelled_cannot_be_taken_back(people: People) -> None:
    version = examples_of("One.")
    labelling.add_label(example=example_at(version, 0), label="PASS", actor=people("ann"))
    with pytest.raises(RequestError):
        labelling.take_back(example=example_at(version, 0), actor=people("ben"))
    assert labelling.standing_labels().count() == 1


def test_labels_are_shown_when_both_are_in_and_to_nobody_before(people: People) -> None:
    version = examples_of("One.")
    example = example_at(version, 0)
    ann, ben, cleo = map(people, ("ann", "ben", "cleo"))
    everybody = (ann, ben, cleo, people("vic", "viewer"))

    def seen_by() -> set[str]:
        labels = list(labelling.standing_labels().filter(example=example))
        return {one.username for one in everybody if labelling.may_see_labels(example, labels, one)}

    assert seen_by() == set()
    labelling.add_label(example=example, label="PASS", actor=ann)
    assert seen_by() == set()
    labelling.add_label(example=example, label="FAIL", actor=ben)
    assert seen_by() == {"ann", "ben", "vic"}, "cleo may label it still, and is not told"
    assert labelling.hidden_from(version, cleo, [example.pk]) == {example.pk}


def test_who_looks_at_the_labels_labels_no_more(people: People) -> None:
    version, ben = examples_of("One."), people("ben")
    example = example_at(version, 0)
    labelling.add_label(example=example, label="PASS", actor=people("ann"))
    assert labelling.hidden_from(version, ben, [example.pk]) == {example.pk}
    labelling.look_on(version=version, actor=ben)
    labelling.look_on(version=version, actor=ben)
    assert labelling.hidden_from(version, ben, [example.pk]) == set()
    with pytest.raises(NotBlindError):
        labelling.add_label(example=example, label="PASS", actor=ben)
    assert labelling.standing_labels().count() == 1
    assert AuditEntry.objects.filter(action="labels_looked_at", actor_name="ben").count() == 1


def test_two_peoples_agreement_is_over_what_both_labelled(people: People) -> None:
    version = good_and_bad(3, 3)
    label_all(version, people("ann"))
    label_all(version, people("ben"), wrong=1)
    labelling.add_label(example=example_at(version, 0), label="PASS", actor=people("cleo"))
    found = labelling.labelled(version.pk)
    assert found.people == {"ann": 6, "ben": 6, "cleo": 1}
    pair = next(one for one in found.pairs if (one.first, one.second) == ("ann", "ben"))
    assert (pair.agreement.agreed, pair.agreement.total) == (5, 6)
    assert pair.agreement.kappa == Fraction(2, 3)
    assert [one.agreement.kappa for one in found.pairs if one.second == "cleo"] == [None, None]
    assert (found.counted, found.split) == (6, 0), "cleo settles what ann and ben are split over"
