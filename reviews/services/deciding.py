"""Deciding on one result: overriding it, and taking a decision back.

Every path (page, API, admin action, code) goes through `override_result` and `withdraw_review`. Rows are
locked in one order everywhere, so that no two transactions wait for each other: the comparison, the pair, its
queue entries, the head of the audit log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from evaluations.models import ExpectationResult, PairedCase
from evaluations.services.effective import lock_pair_of, set_effective_status
from reviews import audit
from reviews.errors import (
    FormTokenError,
    InvalidInputError,
    NotFoundError,
    NotInForceError,
    NotReviewableError,
    ReviewConflict,
    ReviewError,
)
from reviews.evidence import evidence_digest
from reviews.models import Decision, QueueEntry, QueueReason, Review
from reviews.reconciling import OVERRIDDEN, WITHDRAWN
from reviews.roles import DECIDE, require
from reviews.services import needs
from reviews.services.outlook import refusals
from reviews.services.queueing import close_locked
from reviews.texts import clean_note


def override_result(
    *,
    result_id: int,
    decision: str,
    note: str,
    seen_review_id: int,
    actor: Any,
    form_token: str | uuid.UUID | None = None,
    via: str | None = None,
    token_name: str = "",
) -> Review:
    """Decide PASS or FAIL on one result; case, comparison class and totals follow in the same transaction.

    `seen_review_id` is the id of the latest review of this result that its author saw, 0 for none.
    `form_token` is one UUID per form shown: the same decision sent again under it answers the same review.
    Queue entries of the case for which nothing remains undecided are closed, and those this person holds.

    Raises NotAllowedError, InvalidInputError (decision, note, form_token, seen_review_id), NotFoundError,
    NotReviewableError, ReviewConflict, FormTokenError. Nothing is changed then.
    """
    require(actor, DECIDE, "override a result")
    if decision not in (Decision.PASS, Decision.FAIL):
        raise InvalidInputError("decision", "Choose PASS or FAIL.")
    note = clean_note(note)
    token = _token(form_token)
    with transaction.atomic():
        result = _locked_result(result_id)
        if repeated := _repeated(token, result, actor, decision, note):
            return repeated
        _refuse_if_not_reviewable(result)
        latest = _latest(result, seen_review_id)
        return _decide(
            result,
            latest,
            decision=decision,
            status=decision,
            note=note,
            actor=actor,
            form_token=token,
            via=via,
            token_name=token_name,
        )


def withdraw_review(
    *,
    review_id: int,
    note: str,
    seen_review_id: int,
    actor: Any,
    form_token: str | uuid.UUID | None = None,
    via: str | None = None,
    token_name: str = "",
) -> Review:
    """Take back the review that counts. The one before it counts again, or the measured status.

    Any reviewer may: a withdrawal stands under its own author's name. Raises as `override_result` does, and
    NotInForceError if that review does not count (any more).
    """
    require(actor, DECIDE, "withdraw a review")
    note = clean_note(note)
    token = _token(form_token)
    found = Review.objects.filter(pk=review_id).values_list("result_id", flat=True).first()
    if found is None:
        raise NotFoundError(f"There is no review {review_id}.")
    with transaction.atomic():
        result = _locked_result(found)
        if repeated := _repeated(token, result, actor, Decision.WITHDRAWN, note):
            return repeated
        _refuse_if_not_reviewable(result)
        latest = _latest(result, seen_review_id)
        standing = list(result.reviews.standing().order_by("-id")[:2])
        if not standing or standing[0].pk != review_id:
            raise NotInForceError("Only the review that counts now can be withdrawn; this one does not.")
        return _decide(
            result,
            latest,
            decision=Decision.WITHDRAWN,
            status=standing[1].decision if len(standing) == 2 else result.status,
            note=note,
            actor=actor,
            form_token=token,
            via=via,
            token_name=token_name,
            withdraws=standing[0],
        )


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """`refused` pairs the id of a result with what spoke against it."""

    done: tuple[Review, ...]
    refused: tuple[tuple[int, ReviewError], ...]


def override_results(
    *,
    results: Iterable[tuple[int, int]],
    decision: str,
    note: str,
    actor: Any,
    batch_token: uuid.UUID | None = None,
    via: str | None = None,
) -> BulkOutcome:
    """Decide the same on several results, given as (result id, id of the latest review seen).

    Each is a decision of its own, with its own transaction and record; one that is refused stops no other.
    The same `batch_token` again decides nothing twice.

    Raises NotAllowedError and InvalidInputError at once, because these hold for all of them.
    """
    done: list[Review] = []
    refused: list[tuple[int, ReviewError]] = []
    for result_id, seen_review_id in results:
        try:
            review = override_result(
                result_id=result_id,
                decision=decision,
                note=note,
                seen_review_id=seen_review_id,
                form_token=uuid.uuid5(batch_token, str(result_id)) if batch_token else None,
                actor=actor,
                via=via,
            )
        except (NotFoundError, NotReviewableError, ReviewConflict, FormTokenError) as refusal:
            refused.append((result_id, refusal))
        else:
            done.append(review)
    return BulkOutcome(tuple(done), tuple(refused))


def _decide(
    result: ExpectationResult,
    latest: Review | None,
    *,
    decision: str,
    status: str,
    note: str,
    actor: Any,
    form_token: uuid.UUID,
    via: str | None,
    token_name: str,
    withdraws: Review | None = None,
) -> Review:
    pair = result.case.pair
    # Locked before the log is appended to: see the module's text on order.
    entries = list(QueueEntry.objects.select_for_update(of=("self",)).open().filter(pair=pair))
    status_before = result.effective_status
    review = Review.objects.create(
        result=result,
        number=latest.number + 1 if latest else 1,
        reviewer=actor,
        decision=decision,
        note=note,
        replaces=latest,
        withdraws=withdraws,
        status_before=status_before,
        status_after=status,
        form_token=form_token,
        token_name=token_name,
    )
    effect = set_effective_status(result=result, status=status)
    audit.record(
        action=WITHDRAWN if withdraws else OVERRIDDEN,
        subject_type="result",
        subject_id=result.pk,
        subject_label=_label(result),
        actor=actor,
        via=via,
        before=effect.before.to_json() | {"review": latest.pk if latest else None},
        after=effect.after.to_json() | {"review": review.pk, "decision": decision} | _evidence(result),
        note=note,
    )
    _settle_queue(pair, result, entries, review, via)
    return review


def _settle_queue(
    pair: PairedCase, result: ExpectationResult, entries: list[QueueEntry], review: Review, via: str | None
) -> None:
    """Close what this decision settled; open again what a withdrawal unsettled."""
    pair.refresh_from_db(fields=["classification", "class_rank", "reason"])
    if review.is_withdrawal:
        needs.reopen(pair, result, result.case.run.side)
    open_reasons = needs.undecided(pair.pk)
    now = timezone.now()
    for entry in entries:
        # A contradiction or a flag asks for a look at the whole case: whoever took it has looked by deciding.
        by_hand = entry.reason not in (
            QueueReason.ERROR,
            QueueReason.SKIPPED_CRITICAL,
            QueueReason.INCOMPLETE,
        )
        looked = not review.is_withdrawal and entry.is_held_by(review.reviewer, now)
        if looked if by_hand else entry.reason not in open_reasons:
            entry.pair = pair
            close_locked(entry, review.reviewer, f"Decided by review {review.pk}.", now, via)


def _locked_result(result_id: int) -> ExpectationResult:
    """The result with its case, pair and comparison, all locked by locking the comparison and the pair.

    Two decisions on different results of one pair move the same class, so locking the result is not enough.
    """
    try:
        lock_pair_of(result_id)
    except ExpectationResult.DoesNotExist:
        raise NotFoundError(f"There is no result {result_id}.") from None
    rows = ExpectationResult.objects.select_related(
        "case__run__agent_version",
        "case__pair__comparison",
        "case__pair__scenario_version",
        "case__pair__twin_version",
    )
    manifests = ("case__run__agent_version", "case__pair__scenario_version", "case__pair__twin_version")
    contents = [f"{version}__{name}" for version in manifests for name in ("document", "source_text")]
    return rows.defer("case__answer", *contents).get(pk=result_id)


def _repeated(
    token: uuid.UUID, result: ExpectationResult, actor: Any, decision: str, note: str
) -> Review | None:
    """The review this form already made. Under the token of another decision nothing is decided."""
    stored = Review.objects.filter(form_token=token).first()
    if stored is None:
        return None
    made = (stored.result_id, stored.reviewer_id, stored.decision, stored.note)
    if made != (result.pk, actor.pk, decision, note):
        raise FormTokenError("This form was already sent with another decision. Open the case again.")
    return stored


def _refuse_if_not_reviewable(result: ExpectationResult) -> None:
    case = result.case
    reasons = refusals(case, list(case.results.all()), case.pair.comparison)
    if result.pk in reasons:
        raise NotReviewableError(reasons[result.pk])


def _latest(result: ExpectationResult, seen_review_id: int) -> Review | None:
    """The latest review of the locked result, if it is the one that was seen."""
    if isinstance(seen_review_id, bool) or not isinstance(seen_review_id, int) or seen_review_id < 0:
        raise InvalidInputError("seen_review_id", "Say which review of this result you saw last; 0 for none.")
    latest = result.reviews.order_by("-id").first()
    latest_id = latest.pk if latest else 0
    if latest_id != seen_review_id:
        newer = result.reviews.filter(pk__gt=seen_review_id).select_related("reviewer").order_by("id")
        raise ReviewConflict(list(newer), latest_id)
    return latest


def _token(form_token: str | uuid.UUID | None) -> uuid.UUID:
    """The form's token; code that sends no form gets a fresh one."""
    if form_token is None or isinstance(form_token, uuid.UUID):
        return form_token or uuid.uuid4()
    try:
        return uuid.UUID(form_token)
    except ValueError:
        raise InvalidInputError("form_token", "This form cannot be used. Open the case again.") from None


def _label(result: ExpectationResult) -> str:
    case = result.case
    side = case.run.side.lower()
    return f"{result.expectation_id} of {case.pair}, {side}, comparison {case.pair.comparison_id}"


def _evidence(result: ExpectationResult) -> dict[str, Any]:
    """What the decision was taken on: enough to find it again, and to tell whether it is still the same."""
    case, pair = result.case, result.case.pair
    return {
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "trial": pair.trial,
        "side": case.run.side,
        "agent_version": case.run.agent_version.version,
        "agent_digest": case.run.agent_version.digest,
        "scenario_digest": pair.scenario_version.digest,
        "twin_digest": pair.twin_version.digest,
        "final_state_digest": case.final_state_digest,
        "evidence_digest": evidence_digest(pair.pk),
        "expectation": result.expectation_id,
        "critical": result.critical,
        "measured": {"status": result.status, "label": result.label, "reason": result.reason},
    }
