"""Letting a decision pass for a while, by a person who answers for it; and what a decision reads as then.

An override covers the decision it was given on, and later decisions on the same subject (agent versions,
suite, policy) in which nothing fired that had not fired there (docs/decisions/1604).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations.errors import ConflictError, NotAllowedError, NotInForceError, RequestError
from evaluations.gate import OVERRIDDEN, PASS
from evaluations.models import GateDecision, GateOverride
from evaluations.models.gate import NOTE_MIN_LENGTH, TICKET_LENGTH
from evaluations.services.gate import read_content, verification

OVERRIDE = "evaluations.add_gateoverride"
LONGEST = timedelta(days=90)
MAX_REASON = 10_000

NOT_VERIFIED = "NOT VERIFIED"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a decision reads now. `override` is the one in force that covers it; `verified` whether it is what
    was decided.
    """

    outcome: str
    override: GateOverride | None = None
    verified: bool = True

    @property
    def reads(self) -> str:
        """`BLOCK`, or OVERRIDDEN while an override is in force; NOT VERIFIED whatever it says otherwise."""
        if not self.verified:
            return NOT_VERIFIED
        return OVERRIDDEN if self.override is not None else self.outcome

    @property
    def words(self) -> str:
        """`OVERRIDDEN (originally BLOCK)`, `BLOCK`."""
        if not self.verified:
            return NOT_VERIFIED
        return f"{OVERRIDDEN} (originally {self.outcome})" if self.override is not None else self.outcome


def override(
    *,
    decision: GateDecision,
    actor: Any,
    reason: str,
    ticket: str,
    expires_at: datetime,
    form_token: UUID,
    via: str | None = None,
) -> tuple[GateOverride, bool]:
    """Let the decision pass until `expires_at`; answers the override and whether it is new.

    The same form sent twice is one override.

    Raises:
        NotAllowedError: the account may not.
        ConflictError: another override was given under this `form_token`.
        RequestError: every reason why it cannot be overridden like this, at once.
    """
    _require(actor)
    reason, ticket = reason.strip(), ticket.strip()
    if (known := GateOverride.objects.filter(form_token=form_token).first()) is not None:
        return _same(known, decision, actor, reason, ticket, expires_at), False
    now = timezone.now()
    problems = [*_text_problems(reason, ticket), *_time_problems(expires_at, now)]
    if decision.outcome == PASS:
        problems.append("decision: it passes, there is nothing to override")
    if not verification(decision).holds:
        problems.append("decision: it does not verify; evaluate the comparison again")
    if problems:
        raise RequestError(problems)
    try:
        with transaction.atomic():
            made = GateOverride.objects.create(
                decision=decision,
                person=actor,
                reason=reason,
                ticket=ticket,
                expires_at=expires_at,
                form_token=form_token,
            )
            _announce("gate_overridden", made, actor, reason, via)
    except IntegrityError:
        made = GateOverride.objects.get(form_token=form_token)
        return _same(made, decision, actor, reason, ticket, expires_at), False
    return made, True


def withdraw_override(
    *, override: GateOverride, actor: Any, reason: str, form_token: UUID, via: str | None = None
) -> GateOverride:
    """Take an override back now, by an entry of its own.

    Raises:
        NotAllowedError: the account may not.
        NotInForceError: it has ended or was withdrawn already.
        RequestError: the reason is missing.
    """
    _require(actor)
    reason = reason.strip()
    if problems := list(_reason_problems(reason)):
        raise RequestError(problems)
    with transaction.atomic():
        locked = GateOverride.objects.select_for_update().get(pk=override.pk)
        if not GateOverride.objects.in_force(timezone.now()).filter(pk=locked.pk).exists():
            raise NotInForceError(f"override {locked.pk} is not in force: it has ended or was withdrawn")
        made = GateOverride.objects.create(
            decision_id=locked.decision_id,
            withdraws=locked,
            person=actor,
            reason=reason,
            form_token=form_token,
        )
        _announce("gate_override_withdrawn", made, actor, reason, via)
    return made


def standing_of(decision: GateDecision, now: datetime | None = None) -> Standing:
    """How this decision reads now: two queries at most."""
    return standings([decision], now)[decision.pk]


def standings(decisions: Sequence[GateDecision], now: datetime | None = None) -> dict[int, Standing]:
    """How these decisions read now: two queries. Each is verified.

    A decision that does not verify is covered by nothing, and an override of one covers nothing.
    """
    now = now or timezone.now()
    subjects = {decision.subject for decision in decisions if decision.outcome != PASS}
    in_force: dict[str, list[GateOverride]] = {}
    if subjects:
        rows = GateOverride.objects.in_force(now).filter(decision__subject__in=subjects)
        needed = ("decision__policy", "decision__policy_version", "person")
        for row in rows.select_related(*needed).order_by("-expires_at"):
            in_force.setdefault(row.decision.subject, []).append(row)
    verified = _verified(decisions)
    found = {}
    for decision in decisions:
        candidates = in_force.get(decision.subject, []) if decision.outcome != PASS else []
        own = verified.get(decision.pk)
        covering = (row for row in candidates if own is not None and _covers(row, decision, own))
        found[decision.pk] = Standing(decision.outcome, next(covering, None), own is not None)
    return found


def _verified(decisions: Sequence[GateDecision]) -> dict[int, GateDecision]:
    """Those that are what was decided, loaded whole in one query."""
    if not decisions:
        return {}
    rows = GateDecision.objects.select_related("policy", "policy_version", "decided_by")
    whole = rows.in_bulk([decision.pk for decision in decisions])
    return {pk: row for pk, row in whole.items() if verification(row).holds}


def _covers(row: GateOverride, decision: GateDecision, whole: GateDecision) -> bool:
    if row.decision_id == decision.pk:
        return True
    if not verification(row.decision).holds:
        return False
    allowed, found = _fired(read_content(row.decision)), _fired(read_content(whole))
    return allowed is not None and found is not None and found <= allowed


def _fired(content: Mapping[str, Any] | None) -> set[tuple[str, str]] | None:
    """What fired where, (rule, scenario) by (rule, scenario); None where it cannot be read."""
    try:
        rules = content["rules"] if content is not None else None
        return None if rules is None else {(one["rule"], place) for one in rules for place in one["where"]}
    except (KeyError, TypeError):
        return None


def _require(actor: Any) -> None:
    if actor is None or not getattr(actor, "is_active", False) or not actor.has_perm(OVERRIDE):
        raise NotAllowedError("You need a role that may override the release gate.")


def _text_problems(reason: str, ticket: str) -> list[str]:
    problems = list(_reason_problems(reason))
    if not ticket:
        problems.append("ticket: is required")
    elif len(ticket) > TICKET_LENGTH or not ticket.isprintable():
        problems.append(f"ticket: must be at most {TICKET_LENGTH} printable characters")
    return problems


def _reason_problems(reason: str) -> list[str]:
    if len(reason) < NOTE_MIN_LENGTH:
        return [f"reason: say why in at least {NOTE_MIN_LENGTH} characters"]
    return [] if len(reason) <= MAX_REASON else [f"reason: must be at most {MAX_REASON:,} characters"]


def _time_problems(expires_at: datetime, now: datetime) -> list[str]:
    if expires_at <= now:
        return ["expires_at: must be in the future"]
    if expires_at > now + LONGEST:
        return [f"expires_at: must be within {LONGEST.days} days"]
    return []


def _same(
    known: GateOverride, decision: GateDecision, actor: Any, reason: str, ticket: str, expires_at: datetime
) -> GateOverride:
    given = (decision.pk, actor.pk, reason, ticket, expires_at)
    if (known.decision_id, known.person_id, known.reason, known.ticket, known.expires_at) != given:
        raise ConflictError(f"override {known.pk} was given under this key, with other content")
    return known


def _announce(action: str, made: GateOverride, actor: Any, reason: str, via: str | None) -> None:
    governance.send(
        sender=GateOverride,
        action=action,
        actor=actor,
        subject=f"gate decision {made.decision_id}",
        subject_id=made.decision_id,
        after={
            "override": made.pk,
            "decision": made.decision_id,
            "ticket": made.ticket,
            "expires_at": made.expires_at.isoformat() if made.expires_at else None,
            "withdraws": made.withdraws_id,
        },
        note=reason,
        via=via,
    )
