"""Calibrations: starting one, and what a judge's verdicts are worth by the latest of exactly that judge.

`start_calibration` pins the labelled examples with their labels; `evaluations.services.calibrating` asks the
judge; `standing` answers for one verdict and `standings` for many, in two queries. Permission to start one is
``evaluations.add_calibration``: pages and API ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from agenttwin_site.events import governance
from evaluations import dispatch
from evaluations.errors import ConflictError, NotRunnableError, RequestError
from evaluations.grading.calibrating import truth_of
from evaluations.grading.wording import listed
from evaluations.judges.interface import DEFAULT_THRESHOLD, JudgeIdentity
from evaluations.models import (
    Calibration,
    CalibrationOutcome,
    CalibrationResult,
    CalibrationState,
    Criterion,
    CriterionVersion,
)
from evaluations.services.judges import configured_judge
from evaluations.services.labelling import labelled
from twins.versioning import lock_parent

CALIBRATED, NOT_CALIBRATED, STALE, NEVER = "calibrated", "not_calibrated", "stale", "never"
OPEN_STATES = (CalibrationState.QUEUED, CalibrationState.RUNNING)

_TAGS = {
    CALIBRATED: "calibrated",
    NOT_CALIBRATED: "not calibrated",
    STALE: "calibration stale",
    NEVER: "uncalibrated",
}

#: A judge, a criterion and the SHA-256 of a rubric: what a verdict is of.
Key = tuple[JudgeIdentity, str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a verdict of one judge on one rubric is worth: calibrated, not_calibrated, stale or never.

    `calibration_id` is the calibration that says so; of a stale one the latest that did, before the change.
    """

    state: str
    sentence: str
    calibration_id: int | None = None

    @property
    def is_calibrated(self) -> bool:
        return self.state == CALIBRATED

    @property
    def tag(self) -> str:
        """The small label beside the judge's name."""
        return _TAGS[self.state]

    def to_json(self) -> dict[str, Any]:
        return {"state": self.state, "sentence": self.sentence, "calibration": self.calibration_id}


def start_calibration(
    *,
    version: CriterionVersion,
    form_token: UUID | None = None,
    actor: Any = None,
    wake: bool = True,
) -> tuple[Calibration, bool]:
    """Pin the labelled examples of a version for the configured judge; the calibration, whether it is new.

    One that this judge has under way for this version is answered instead of a second. `wake=False`: the
    caller runs it itself.

    Raises:
        NotRunnableError: the settings name no judge.
        RequestError: nothing is labelled, or more than the judge may be asked.
        ConflictError: the form token belongs to a calibration of another version.
    """
    identity = configured_identity()
    with transaction.atomic():
        lock_parent(Criterion, version.criterion.name)
        if (known := _under(form_token, version) or _under_way(identity, version)) is not None:
            return known, False
        rows = _pinned(version)
        calibration = Calibration.objects.create(
            criterion_version=version,
            provider=identity.provider,
            model=identity.model,
            prompt_version=identity.prompt_version,
            prompt_sha256=identity.prompt_sha256,
            judge_label=identity.label,
            threshold=DEFAULT_THRESHOLD,
            form_token=form_token,
            created_by=actor,
        )
        for row in rows:
            row.calibration = calibration
        CalibrationResult.objects.bulk_create(rows)
        governance.send(
            sender=Calibration,
            action="calibration_started",
            actor=actor,
            subject=f"calibration {calibration.pk} of {version}",
            subject_id=calibration.pk,
            after={"judge": identity.to_json(), "examples": len(rows)},
            note="",
        )
        if wake:
            wake_worker(calibration.pk)
    return calibration, True


def wake_worker(calibration_id: int) -> None:
    """After the commit of this transaction, tell a worker of a calibration that waits."""

    def send() -> None:
        from evaluations.tasks import run_calibration

        dispatch.deliver(run_calibration, calibration_id)

    transaction.on_commit(send)


def configured_identity() -> JudgeIdentity:
    """The judge of this installation. Raises NotRunnableError if the settings name none."""
    try:
        return configured_judge().identity
    except ValueError as problem:
        raise NotRunnableError(str(problem)) from None


def identity_of(calibration: Calibration) -> JudgeIdentity:
    """The judge a calibration is of."""
    return JudgeIdentity(
        calibration.provider, calibration.model, calibration.prompt_version, calibration.prompt_sha256
    )


def standing(identity: JudgeIdentity, criterion: str, rubric_sha256: str) -> Standing:
    """What this judge's verdicts by this rubric are worth, by the latest completed calibration."""
    key = (identity, criterion, rubric_sha256)
    return standings([key])[key]


def standings(keys: Iterable[Key]) -> dict[Key, Standing]:
    """`standing` of many, in two queries at most however many they are."""
    wanted = set(keys)
    if not wanted:
        return {}
    latest = _latest({criterion for _, criterion, _ in wanted})
    return {key: _standing(key, latest) for key in wanted}


def _latest(criteria: set[str]) -> list[Calibration]:
    """Of every judge and rubric of these criteria the latest completed calibration, latest first."""
    ids = (
        Calibration.objects.filter(
            state=CalibrationState.COMPLETED, criterion_version__criterion__name__in=criteria
        )
        .order_by()
        .values("criterion_version", "provider", "model", "prompt_sha256")
        .annotate(latest=Max("pk"))
        .values_list("latest", flat=True)
    )
    rows = Calibration.objects.filter(pk__in=list(ids)).select_related("criterion_version__criterion")
    return list(rows.order_by("-pk"))


def _standing(key: Key, latest: Sequence[Calibration]) -> Standing:
    identity, criterion, rubric_sha256 = key
    of_judge = [
        one
        for one in latest
        if one.criterion_version.criterion.name == criterion and one.provider == identity.provider
    ]
    for one in of_judge:
        if not _changed(one, identity, rubric_sha256):
            return Standing(CALIBRATED if one.is_calibrated else NOT_CALIBRATED, one.decision, one.pk)
    if of_judge:
        last = of_judge[0]
        changed = listed(_changed(last, identity, rubric_sha256))
        was = "calibrated" if last.is_calibrated else "not calibrated"
        sentence = (
            f"Stale: calibration {last.pk} ({was}) was of other circumstances; since then {changed} changed."
        )
        return Standing(STALE, sentence, last.pk)
    return Standing(NEVER, f"Uncalibrated: this judge was never calibrated for {criterion}.")


def _changed(calibration: Calibration, identity: JudgeIdentity, rubric_sha256: str) -> list[str]:
    """What is another now than it was in a calibration, in words; empty if it is of exactly this."""
    changed = []
    if calibration.model != identity.model:
        changed.append(f"the model ({calibration.model or 'none'}, now {identity.model or 'none'})")
    if calibration.prompt_sha256 != identity.prompt_sha256:
        versions = f"version {calibration.prompt_version}, now {identity.prompt_version}"
        changed.append(f"the prompt ({versions})")
    if calibration.criterion_version.rubric_sha256 != rubric_sha256:
        changed.append(f"the rubric (then version {calibration.criterion_version.number})")
    return changed


def _under(form_token: UUID | None, version: CriterionVersion) -> Calibration | None:
    if form_token is None:
        return None
    known = Calibration.objects.filter(form_token=form_token).first()
    if known is not None and known.criterion_version_id != version.pk:
        raise ConflictError(f"this request already started calibration {known.pk}, of another rubric")
    return known


def _under_way(identity: JudgeIdentity, version: CriterionVersion) -> Calibration | None:
    return Calibration.objects.filter(
        criterion_version=version,
        state__in=OPEN_STATES,
        provider=identity.provider,
        model=identity.model,
        prompt_sha256=identity.prompt_sha256,
    ).first()


def _pinned(version: CriterionVersion) -> list[CalibrationResult]:
    """A row for every example that anybody labelled; those that people are split over are left out."""
    rows = []
    for position, (example_id, labels) in enumerate(sorted(labelled(version.pk).by_example.items())):
        truth = truth_of([label for _, label in labels])
        rows.append(
            CalibrationResult(
                position=position,
                example_id=example_id,
                labels=[{"person": person, "label": label} for person, label in labels],
                truth=truth,
                outcome=CalibrationOutcome.LEFT_OUT if truth is None else CalibrationOutcome.WAITING,
            )
        )
    counted = sum(row.truth is not None for row in rows)
    if not counted:
        split = f" ({len(rows)} are labelled, and people are split over all of them)" if rows else ""
        raise RequestError([f"there is nothing to calibrate by: no example of {version} is labelled{split}"])
    most = settings.JUDGE_MAX_CALLS
    if counted > most:
        raise RequestError([f"{counted} examples are labelled, but JUDGE_MAX_CALLS allows {most} questions"])
    return rows
