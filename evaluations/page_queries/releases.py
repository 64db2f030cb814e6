"""What the release pages read: lists of decisions, one decision, policies. A fixed number of queries each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.models import GateDecision, GateOverride, GatePolicy
from evaluations.services.gate_overrides import Standing, standings

HISTORY_SHOWN = 12
OVERRIDES_SHOWN = 30


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """A decision in a list, as it reads now."""

    decision: GateDecision
    standing: Standing
    is_this: bool = False


def release_page(query: QueryDict, *, agent: str, outcome: str, size: int) -> tuple[Page, list[ReleaseRow]]:
    """A page of decisions, newest first: at most three queries."""
    decisions = GateDecision.objects.with_names()
    if agent:
        decisions = decisions.filter(comparison__agent__name=agent)
    if outcome:
        decisions = decisions.filter(outcome=outcome)
    page = keyset_page(decisions, keys=("-pk",), query=query, size=size)
    return page, rows_of(page.rows)


def rows_of(decisions: Sequence[GateDecision], this: int | None = None) -> list[ReleaseRow]:
    """Decisions with how they read now: at most two queries."""
    found = standings(decisions)
    return [ReleaseRow(one, found[one.pk], one.pk == this) for one in decisions]


def decisions_of(comparison_id: int) -> list[ReleaseRow]:
    """The decisions on one comparison, newest first."""
    rows = GateDecision.objects.with_names().filter(comparison=comparison_id)
    return rows_of(list(rows[:HISTORY_SHOWN]))


def history_of(decision: GateDecision) -> list[ReleaseRow]:
    """The latest decisions of this agent, this one among them: at most three queries."""
    rows = GateDecision.objects.with_names().filter(comparison__agent=decision.comparison.agent_id)
    latest = list(rows[:HISTORY_SHOWN])
    if decision.pk not in {one.pk for one in latest}:
        latest = [*latest[: HISTORY_SHOWN - 1], decision]
    return rows_of(latest, decision.pk)


def overrides_of(decision: GateDecision) -> list[GateOverride]:
    """Every override and withdrawal on the same subject, newest first: one query."""
    rows = GateOverride.objects.filter(decision__subject=decision.subject)
    return list(
        rows.select_related("person", "withdraws", "withdrawn_by", "decision")
        .defer("decision__content")
        .order_by("-pk")[:OVERRIDES_SHOWN]
    )


def policy_decisions(policy: GatePolicy) -> list[GateDecision]:
    """The latest decisions by this policy: one query."""
    return list(GateDecision.objects.with_names().filter(policy=policy)[:HISTORY_SHOWN])


def policies() -> list[GatePolicy]:
    """Every policy with the version in force, how many versions and decisions it has: one query."""
    rows = GatePolicy.objects.select_related("current_version").order_by("name")
    return list(
        rows.annotate(
            version_count=Count("versions", distinct=True),
            decision_count=Count("decisions", distinct=True),
        )
    )
