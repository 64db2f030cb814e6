"""Deciding on one result: overriding it, and taking a decision back.

Every path (page, API, admin action, code) goes through `override_result` and `withdraw_review`. Rows are
locked in one order everywhere, so that no two transactions wait for each other: the comparison, the pair, its
queue entries, the head of the audit log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from evaluations.holdouts import seen
from evaluations.models import ExpectationResult
from evaluations.services.effective import lock_pair_of, set_effective_status
from reviews import audit
from reviews.errors import (
    AlreadyDecidedError,
    FormTokenError,
    InvalidInputError,
    NotFoundError,
    NotInForceError,
    NotReviewableError,
    ReviewConflict,
    ReviewError,
)
from reviews.evidence import evidence_digest
from reviews.models import BlindDecision, Decision, Review
from reviews.reconciling import OVERRIDDEN, WITHDRAWN
from reviews.roles import DECIDE, require
from reviews.services import blind, needs
from reviews.services.outlook import refusals
from reviews.services.settling import give_up_what_is_for_others, lock_entries, settle_queue
from reviews.services.wanted import Wanted, label_of
from reviews.texts import clean_note
from scenarios.holdouts import sight_of


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
) -> Review | BlindDecision:
    """Decide PASS or FAIL on one result; case, comparison class and totals follow in the same transaction.

    Where the review policy asks for two reviewers nothing follows until both have decided: the first one's
    decision is kept under seal and answered as a BlindDecision (`reviews.services.blind`).

    `seen_review_id` is the id of the latest review of this result that its author saw, 0 for none.
    `form_token` is one UUID per form shown: the same decision sent again under it answers the same review.
    Queue entries of the case for which nothing remains undecided are closed, and those this person holds.

    Raises NotAllowedError, InvalidInputError (decision, note, form_token, seen_review_id), NotFoundError,
    NotReviewableError, ReviewConflict, FormTokenError, AlreadyDecidedError. Nothing is changed then.
    """
    require(actor, DECIDE, "override a result")
    if decision not in (Decision.PASS, Decision.FAIL):
        raise InvalidInputError("decision", "Choose PASS or FAIL.")
    note = clean_note(note)
    token = _token(form_token)
    with transaction.atomic():
        result = _locked_result(result_id, actor)
        wanted = Wanted(result, None, decision, decision, note, actor, token, via, token_name)
        if made := _made_before(wanted):
            return made
        _refuse_if_not_reviewable(result)
        return _recorded(replace(wanted, latest=_latest(result, seen_review_id)))


def withdraw_review(
    *,
    review_id: int,
    note: str,
    seen_review_id: int,
    actor: Any,
    form_token: str | uuid.UUID | None = None,
    via: str | None = None,
    token_name: str = "",
) -> Review | BlindDecision:
    """Take back the review that counts. The one before it counts again, or the measured status.

    Any reviewer may: a withdrawal stands under its own author's name. Raises as `override_result` does, and
    NotInForceError if that review does not count (any more).
    """
    require(actor, DECIDE, "withdraw a review")
    note = clean_note(note)
    token = _token(form_token)
    reviews = seen(Review.objects.filter(pk=review_id), sight_of(actor), pair="result__case__pair")
    found = reviews.values_list("result_id", flat=True).first()
    if found is None:
        raise NotFoundError(f"There is no review {review_id}.")
    with transaction.atomic():
        result = _locked_result(found, actor)
        wanted = Wanted(result, None, Decision.WITHDRAWN, "", note, actor, token, via, token_name)
        if made := _made_before(wanted):
            return made
        _refuse_if_not_reviewable(result)
        latest = _latest(result, seen_review_id)
        standing = list(result.reviews.standing().order_by("-id")[:2])
        if not standing or standing[0].pk != review_id:
            raise NotInForceError("Only the review that counts now can be withdrawn; this one does not.")
        status = standing[1].decision if len(standing) == 2 else result.status
        return _recorded(replace(wanted, latest=latest, status=status, withdraws=standing[0]))


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """`refused` pairs the id of a result with what spoke against it."""

    done: tuple[Review | BlindDecision, ...]
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
    done: list[Review | BlindDecision] = []
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
        except (
            NotFoundError,
            NotReviewableError,
            ReviewConflict,
            FormTokenError,
            AlreadyDecidedError,
        ) as refusal:
            refused.append((result_id, refusal))
        else:
            done.append(review)
    return BulkOutcome(tuple(done), tuple(refused))


def _recorded(wanted: Wanted) -> Review | BlindDecision:
    """The decision as a review, or under seal where two people must decide; the queue follows."""
    pair = wanted.result.case.pair
    # Locked before the log is appended to: see the module's text on order.
    lock_entries(pair)
    round_ = blind.round_for(wanted.result)
    made = _decided(wanted) if round_ is None else blind.decide(round_, wanted, _decided)
    if isinstance(made, BlindDecision):
        settle_queue(pair, actor=wanted.actor, note=blind.UNDER_SEAL, via=wanted.via)
        give_up_what_is_for_others(pair, actor=wanted.actor, via=wanted.via)
        return made
    pair.refresh_from_db(fields=["classification", "class_rank", "reason"])
    if made.is_withdrawal:
        needs.reopen(pair, wanted.result, wanted.result.case.run.side)
    settle_queue(
        pair,
        actor=wanted.actor,
        note=f"Decided by review {made.pk}.",
        via=wanted.via,
        looked=not made.is_withdrawal,
    )
    return made


def _decided(wanted: Wanted) -> Review:
    """The review, what follows from it, and its record."""
    result, latest = wanted.result, wanted.latest
    review = Review.objects.create(
        result=result,
        number=latest.number + 1 if latest else 1,
        reviewer=wanted.actor,
        decision=wanted.decision,
        note=wanted.note,
        replaces=latest,
        withdraws=wanted.withdraws,
        status_before=result.effective_status,
        status_after=wanted.status,
        form_token=wanted.form_token,
        token_name=wanted.token_name,
    )
    effect = set_effective_status(result=result, status=wanted.status)
    audit.record(
        action=WITHDRAWN if wanted.withdraws else OVERRIDDEN,
        subject_type="result",
        subject_id=result.pk,
        subject_label=label_of(result),
        actor=wanted.actor,
        via=wanted.via,
        before=effect.before.to_json() | {"review": latest.pk if latest else None},
        after=effect.after.to_json() | {"review": review.pk, "decision": wanted.decision} | _evidence(result),
        note=wanted.note,
    )
    return review


def _locked_result(result_id: int, actor: Any) -> ExpectationResult:
    """The result with its case, pair and comparison, all locked by locking the comparison and the pair.

    Two decisions on different results of one pair move the same class, so locking the result is not enough.
    """
    if not seen(ExpectationResult.objects.filter(pk=result_id), sight_of(actor), pair="case__pair").exists():
        raise NotFoundError(f"There is no result {result_id}.")
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


def _made_before(wanted: Wanted) -> Review | BlindDecision | None:
    """What this form already made. Under the token of another decision nothing is decided."""
    if (made := blind.made_before(wanted)) is not None:
        return made
    stored = Review.objects.filter(form_token=wanted.form_token).first()
    if stored is not None:
        wanted.refuse_if_other(stored.result_id, stored)
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
