"""People label examples, each without seeing what anybody else or the judge says.

Permission to label is ``evaluations.add_label``: pages and API ask for it. That a label was given is on
record; which one it was is not, because everybody may read the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations.errors import LabelConflictError, LabelSettledError, NotBlindError, RequestError
from evaluations.grading.agreement import Agreement, agreement_of
from evaluations.grading.calibrating import truth_of
from evaluations.models import (
    Calibration,
    CalibrationResult,
    CriterionVersion,
    Example,
    Label,
    LabelValue,
    Onlooker,
)
from twins.versioning import lock_parent

#: Labels of an example are shown once so many people gave theirs.
BOTH = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one person is with a version."""

    examples: int
    labelled: int
    is_onlooker: bool

    @property
    def left(self) -> int:
        return self.examples - self.labelled


@dataclass(frozen=True, slots=True)
class PairOfPeople:
    """What two people's labels of the same examples amount to."""

    first: str
    second: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Labelled:
    """All labels of a version that stand: by example, in the order in which they were given."""

    by_example: Mapping[int, tuple[tuple[str, str], ...]]

    @property
    def counted(self) -> int:
        """Examples that people agree on."""
        return sum(truth_of(_values(labels)) is not None for labels in self.by_example.values())

    @property
    def split(self) -> int:
        return len(self.by_example) - self.counted

    @property
    def people(self) -> dict[str, int]:
        """How many each person labelled, by name."""
        found: defaultdict[str, int] = defaultdict(int)
        for labels in self.by_example.values():
            for person, _ in labels:
                found[person] += 1
        return dict(sorted(found.items()))

    @property
    def pairs(self) -> list[PairOfPeople]:
        """Every two people who labelled at least one example in common."""
        both: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for labels in self.by_example.values():
            for (first, one), (second, other) in combinations(sorted(labels), 2):
                both[first, second].append((one, other))
        return [PairOfPeople(*names, agreement_of(found)) for names, found in sorted(both.items())]


def standing_labels() -> QuerySet[Label]:
    """Labels that were not taken back."""
    return Label.objects.filter(taken_back_at__isnull=True)


def labelled(version_id: int) -> Labelled:
    """The labels of a version: one query."""
    rows = standing_labels().filter(example__criterion_version=version_id).order_by("example_id", "pk")
    return gathered(rows.values_list("example_id", "person__username", "label"))


def gathered(rows: Iterable[tuple[int, str, str]]) -> Labelled:
    """Labels given as (example, person, label)."""
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for example_id, person, label in rows:
        found[example_id].append((person, label))
    return Labelled({example_id: tuple(labels) for example_id, labels in found.items()})


def progress_of(version: CriterionVersion, person: Any) -> Progress:
    """How far a person is: three queries."""
    return Progress(
        examples=to_label(version, person).count(),
        labelled=_own(version, person).count(),
        is_onlooker=is_onlooker(version, person),
    )


def next_example(version: CriterionVersion, person: Any, *, after: int = 0) -> Example | None:
    """The next example this person has not labelled, beginning after one and then from the first again."""
    left = to_label(version, person).exclude(pk__in=_own(version, person).values("example_id"))
    left = left.order_by("pk")
    return left.filter(pk__gt=after).first() or (left.first() if after else None)


@transaction.atomic
def add_label(*, example: Example, label: str, actor: Any) -> Label:
    """Store what a person says of an example. The same label again is the one that is there.

    Raises:
        RequestError: it is no label.
        LabelConflictError: the person labelled it otherwise before.
        NotBlindError: the person looked at the labels of this version.
    """
    if label not in LabelValue.values:
        raise RequestError([f"label: must be {' or '.join(LabelValue.values)}, got {label!r}"])
    version = _locked(example)
    if is_onlooker(version, actor):
        raise NotBlindError(
            f"you chose to see the labels of {version}: what you say now would not be blind any more"
        )
    if example.result_id is not None and example.created_by_id == actor.pk:
        raise NotBlindError(
            f"you took example {example.pk} from a case, where you saw what the judge says of it"
        )
    stored = standing_labels().filter(example=example, person=actor).first()
    if stored is not None:
        if stored.label != label:
            raise LabelConflictError(f"you labelled example {example.pk} otherwise before: that stays")
        return stored
    row = Label.objects.create(example=example, person=actor, label=label)
    _announce("example_labelled", version, example, actor)
    return row


@transaction.atomic
def take_back(*, example: Example, actor: Any) -> None:
    """Take back one's own label, as long as it is the only one and no calibration used it.

    Raises:
        RequestError: there is none.
        LabelSettledError: it stays.
    """
    version = _locked(example)
    labels = list(standing_labels().filter(example=example))
    own = next((label for label in labels if label.person_id == actor.pk), None)
    if own is None:
        raise RequestError([f"example: you have not labelled example {example.pk}"])
    if len(labels) > 1:
        raise LabelSettledError(f"somebody else labelled example {example.pk} too: both labels stay")
    if CalibrationResult.objects.filter(
        example=example, calibration__created_at__gte=own.created_at
    ).exists():
        raise LabelSettledError(f"a calibration used your label of example {example.pk}: it stays")
    own.taken_back_at = timezone.now()
    own.save(update_fields=["taken_back_at"])
    _announce("label_taken_back", version, example, actor)


@transaction.atomic
def look_on(*, version: CriterionVersion, actor: Any) -> None:
    """Let a person see the labels of a version; in exchange the person labels it no more."""
    lock_parent(type(version.criterion), version.criterion.name)
    _, is_new = Onlooker.objects.get_or_create(criterion_version=version, person=actor)
    if is_new:
        governance.send(
            sender=type(version.criterion),
            action="labels_looked_at",
            actor=actor,
            subject=f"criterion {version.criterion.name}",
            after={"version": version.number},
            note="",
        )


def to_label(version: CriterionVersion, person: Any) -> QuerySet[Example]:
    """Examples this person labels: all but those the person took from a case, with its verdict in view."""
    return version.examples.exclude(_taken_by(person))


def is_onlooker(version: CriterionVersion, person: Any) -> bool:
    return Onlooker.objects.filter(criterion_version=version, person=person).exists()


def hidden_from(version: CriterionVersion, person: Any, examples: Collection[int]) -> set[int]:
    """Of these examples, those whose labels and verdicts this person may not see: two queries at most.

    Who may label sees what others say of an example once it is labelled by that person too; who only looks
    sees everything.
    """
    if not person.has_perm("evaluations.add_label") or is_onlooker(version, person):
        return set()
    own = _own(version, person).values("example_id")
    rows = version.examples.filter(pk__in=examples).exclude(pk__in=own)
    return set(rows.exclude(_taken_by(person)).values_list("pk", flat=True))


def visible_to(calibration: Calibration, person: Any) -> QuerySet[CalibrationResult]:
    """The rows of a calibration that this person may see, by the rule of `hidden_from`."""
    version = calibration.criterion_version
    rows = calibration.results.all()
    if not person.has_perm("evaluations.add_label") or is_onlooker(version, person):
        return rows
    own = _own(version, person).values("example_id")
    return rows.filter(Q(example__in=own) | _taken_by(person, "example__"))


def may_see_labels(example: Example, labels: Sequence[Label], person: Any) -> bool:
    """Whether the labels of one example are shown: two are in, one of them this person's own."""
    if len(labels) < BOTH:
        return False
    return not hidden_from(example.criterion_version, person, [example.pk])


def _taken_by(person: Any, prefix: str = "") -> Q:
    return Q(**{f"{prefix}created_by": person.pk, f"{prefix}result__isnull": False})


def _own(version: CriterionVersion, person: Any) -> QuerySet[Label]:
    return standing_labels().filter(example__criterion_version=version, person=person)


def _locked(example: Example) -> CriterionVersion:
    """The version of an example; its criterion is locked, so that labels and calibrations come one by one."""
    version = example.criterion_version
    lock_parent(type(version.criterion), version.criterion.name)
    return version


def _announce(action: str, version: CriterionVersion, example: Example, actor: Any) -> None:
    governance.send(
        sender=Example,
        action=action,
        actor=actor,
        subject=f"example {example.pk} of {version}",
        subject_id=example.pk,
        after={"criterion": version.criterion.name, "version": version.number},
        note="",
    )


def _values(labels: Iterable[tuple[str, str]]) -> list[str]:
    return [label for _, label in labels]
