"""The review policy: which one is in force, and setting another."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db import IntegrityError, transaction

from reviews import audit
from reviews.errors import InvalidInputError, StalePolicyError
from reviews.models import ReviewPolicy
from reviews.roles import SET_POLICY, require
from reviews.texts import clean_note
from reviews.two_reviewers import ASKED_FOR, Policy


def current_policy() -> Policy:
    """The policy in force; the defaults where nobody has set one: one query."""
    row = ReviewPolicy.objects.first()
    return Policy() if row is None else row.values


def set_policy(
    *,
    two_reviewers: Iterable[str],
    sample_percent: object,
    confidence_below: object,
    note: str,
    seen_number: int,
    actor: Any,
    via: str | None = None,
) -> tuple[Policy, bool]:
    """Put another policy in force; answers it and whether it is new. What is in force already makes nothing.

    It holds for what ends and is decided from now on; a round that has begun goes on under the policy that
    asked for it. `seen_number` is the number of the policy its author saw, 0 for the defaults.

    Raises NotAllowedError, InvalidInputError (two_reviewers, sample_percent, confidence_below, note), and
    StalePolicyError if another was set meanwhile.
    """
    require(actor, SET_POLICY, "set the review policy")
    asked = list(dict.fromkeys(two_reviewers))
    if unknown := [name for name in asked if name not in ASKED_FOR]:
        known = ", ".join(ASKED_FOR)
        raise InvalidInputError("two_reviewers", f"There is no {unknown[0]!r}; there are {known}.")
    sample = _share("sample_percent", sample_percent, 100)
    confidence = _share("confidence_below", confidence_below, 1)
    note = clean_note(note)
    with transaction.atomic():
        before = current_policy()
        if before.number != seen_number:
            raise StalePolicyError(before.number)
        after = Policy(before.number + 1, frozenset(asked), sample, confidence)
        if after.to_json() | {"number": before.number} == before.to_json():
            return before, False
        try:
            with transaction.atomic():
                ReviewPolicy.objects.create(
                    number=after.number,
                    two_reviewers=after.to_json()["two_reviewers"],
                    sample_percent=sample,
                    confidence_below=confidence,
                    note=note,
                    created_by=actor,
                )
        except IntegrityError:
            # Somebody else set one at the same moment.
            raise StalePolicyError(after.number) from None
        audit.record(
            action="review_policy_set",
            subject_type="reviewpolicy",
            subject_id=after.number,
            subject_label=f"review policy {after.number}",
            actor=actor,
            via=via,
            before=before.to_json(),
            after=after.to_json(),
            note=note,
        )
    return after, True


def _share(field: str, given: object, most: int) -> Decimal:
    """A number from 0 to `most` with at most two decimals."""
    try:
        value = Decimal(str(given))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not 0 <= value <= most:
        raise InvalidInputError(field, f"Give a number from 0 to {most}.")
    kept = value.quantize(Decimal("0.01"))
    if kept != value:
        raise InvalidInputError(field, "Give at most two decimals.")
    return kept
