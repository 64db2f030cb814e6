"""The demo's labelled examples: read from demo/labelled/, stored through the same services as everybody's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from evaluations.judges.interface import FAKE_PROVIDER
from evaluations.labelling import read_examples
from evaluations.models import Calibration, CriterionVersion
from evaluations.services.calibrating import run_calibration
from evaluations.services.calibration import configured_identity, start_calibration
from evaluations.services.criteria import import_examples
from evaluations.services.labelling import add_label, labelled
from twins.documents.source import read_source
from twins.engine.values import digest

LABELS_SUFFIX = ".labels.yaml"


@dataclass(frozen=True, slots=True)
class LoadedExamples:
    """What one file of examples and its labels became."""

    version: CriterionVersion
    examples: int
    labels: int


@transaction.atomic
def load_labelled(path: Path) -> LoadedExamples:
    """Store a file of examples and the labels beside it; a second time nothing.

    The people who labelled are accounts that cannot log in, made here. The labels are in the order of the
    examples in their file.
    """
    text = path.read_bytes()
    imported = import_examples(text=text)
    before = {pk: dict(labels) for pk, labels in labelled(imported.version.pk).by_example.items()}
    stored = {one.digest: one for one in imported.version.examples.all()}
    examples = [stored[digest(draft.material.to_json())] for draft in read_examples(text).examples]
    made = 0
    for name, labels in _labels(path).items():
        person = _labeller(name)
        for example, label in zip(examples, labels, strict=True):
            if name not in before.get(example.pk, {}):
                add_label(example=example, label=label.upper(), actor=person)
                made += 1
    return LoadedExamples(imported.version, imported.created, made)


def calibrate_fake(version: CriterionVersion, *, here: bool) -> Calibration | None:
    """Calibrate the fake judge once, if it is the one that is configured: any other would cost money."""
    identity = configured_identity()
    if identity.provider != FAKE_PROVIDER:
        return None
    known = Calibration.objects.filter(
        criterion_version=version, provider=identity.provider, prompt_sha256=identity.prompt_sha256
    ).first()
    calibration = known or start_calibration(version=version, wake=not here)[0]
    if here and calibration.is_open:
        run_calibration(calibration.pk)
        calibration.refresh_from_db()
    return calibration


def files_in(folder: Path) -> list[Path]:
    """The files of examples in a folder, those of labels left out."""
    return sorted(path for path in folder.glob("*.yaml") if not path.name.endswith(LABELS_SUFFIX))


def _labels(path: Path) -> dict[str, list[str]]:
    source = read_source(path.with_name(f"{path.stem}{LABELS_SUFFIX}").read_bytes())
    found: dict[str, list[str]] = source.value["labels"]
    return found


def _labeller(name: str) -> Any:
    users: Callable[..., Any] = get_user_model()._default_manager.get_or_create
    person, is_new = users(username=name, defaults={"is_active": False})
    if is_new:
        person.set_unusable_password()
        person.save(update_fields=["password"])
    return person
