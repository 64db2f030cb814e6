"""Holding decisions against the audit log: do reviews, results and evidence still say what was recorded?

The chain proves that nobody changed the log. This proves that nobody changed what the log is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from django.db.models import F, OuterRef, Subquery
from django.db.models.functions import Coalesce

from evaluations.models import ExpectationResult, GateDecision
from evaluations.services.effective import strayed_standings
from evaluations.services.gate import verification
from reviews.evidence import evidence_digest
from reviews.models import AuditEntry, BlindDecision, Review
from reviews.seals import seal_of

OVERRIDDEN, WITHDRAWN = "result_overridden", "review_withdrawn"
BLIND = "blind_decision_recorded"
DECIDED = "gate_decided"
CHUNK = 200
SHOWN = 20


def decision_problems() -> list[str]:
    """What does not agree with the log, at most 20 sentences. Memory does not grow with the log."""
    return list(islice(_problems(), SHOWN))


def _problems() -> Iterator[str]:
    entries = AuditEntry.objects.filter(action__in=[OVERRIDDEN, WITHDRAWN]).order_by("sequence")
    recorded, last = 0, 0
    while chunk := list(entries.filter(sequence__gt=last)[:CHUNK]):
        reviews = Review.objects.select_related("result__case").in_bulk(
            [entry.after.get("review") for entry in chunk]
        )
        for entry in chunk:
            yield from _entry_problems(entry, reviews.get(entry.after.get("review")))
        recorded, last = recorded + len(chunk), chunk[-1].sequence
    stored = Review.objects.count()
    if stored > recorded:
        yield f"{stored - recorded} of {stored} reviews have no entry in the log"
    yield from _seal_problems()
    yield from _gate_problems()
    yield from _status_problems()
    yield from strayed_standings()


def _entry_problems(entry: AuditEntry, review: Review | None) -> Iterator[str]:
    if review is None:
        yield f"entry {entry.sequence}: the review it records is gone"
        return
    now = (str(review.result_id), review.reviewer_id, review.decision, review.note, review.status_after)
    then = (entry.subject_id, entry.actor_id, entry.after["decision"], entry.note, entry.after["status"])
    if now != then:
        yield f"entry {entry.sequence}: review {review.pk} no longer says what was recorded"
    if evidence_digest(review.result.case.pair_id) != entry.after["evidence_digest"]:
        yield f"entry {entry.sequence}: what review {review.pk} was decided on was changed afterwards"


def _seal_problems() -> Iterator[str]:
    """Blind decisions that are not what was sealed; never what they say."""
    entries = AuditEntry.objects.filter(action=BLIND).order_by("sequence")
    recorded, last = 0, 0
    while chunk := list(entries.filter(sequence__gt=last)[:CHUNK]):
        given = BlindDecision.objects.in_bulk([entry.after.get("seal") for entry in chunk], field_name="seal")
        for entry in chunk:
            stored = given.get(entry.after.get("seal"))
            if stored is None:
                yield f"entry {entry.sequence}: the blind decision it records is gone"
            elif seal_of(stored) != stored.seal or stored.reviewer_id != entry.actor_id:
                yield f"entry {entry.sequence}: blind decision {stored.pk} is no longer what was sealed"
        recorded, last = recorded + len(chunk), chunk[-1].sequence
    stored_ones = BlindDecision.objects.count()
    if stored_ones > recorded:
        yield f"{stored_ones - recorded} of {stored_ones} blind decisions have no entry in the log"


def _gate_problems() -> Iterator[str]:
    """Decisions of the gate that are not what was decided: the log has their hash, outcome and revision."""
    entries = AuditEntry.objects.filter(action=DECIDED).order_by("sequence")
    recorded, last = 0, 0
    while chunk := list(entries.filter(sequence__gt=last)[:CHUNK]):
        stored = GateDecision.objects.select_related("policy", "policy_version").in_bulk(
            [int(entry.subject_id) for entry in chunk]
        )
        for entry in chunk:
            decision = stored.get(int(entry.subject_id))
            if decision is None:
                yield f"entry {entry.sequence}: the gate decision it records is gone"
                continue
            now = (decision.sha256, decision.outcome, decision.revision, decision.comparison_id)
            then = tuple(entry.after[name] for name in ("sha256", "outcome", "revision", "comparison"))
            if now != then or not verification(decision).holds:
                yield f"entry {entry.sequence}: gate decision {decision.pk} is no longer what was decided"
        recorded, last = recorded + len(chunk), chunk[-1].sequence
    stored_ones = GateDecision.objects.count()
    if stored_ones > recorded:
        yield f"{stored_ones - recorded} of {stored_ones} gate decisions have no entry in the log"


def _status_problems() -> Iterator[str]:
    """Results whose effective status is neither the standing decision nor, without one, what was measured."""
    standing = Review.objects.standing().filter(result=OuterRef("pk")).order_by("-id").values("decision")[:1]
    counts = Coalesce(Subquery(standing), F("status"))
    strayed = ExpectationResult.objects.annotate(counts=counts).exclude(effective_status=F("counts"))
    for result in strayed.order_by("pk").only("pk", "expectation_id", "effective_status")[:SHOWN]:
        name = f"result {result.pk} ({result.expectation_id})"
        yield f"{name} counts as {result.effective_status}, which nobody decided"
