"""Approving generated scenarios: until a person has, a generated version has no say in anything."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from agenttwin_site.events import governance, scenario_approved
from scenarios.errors import ApprovalError, NotGeneratedError
from scenarios.models import Scenario, ScenarioApproval, ScenarioVersion

APPROVE = "scenarios.add_scenarioapproval"
NOTE_MIN_LENGTH, NOTE_MAX_LENGTH = 10, 5_000


@transaction.atomic
def approve_scenario(
    *, version: ScenarioVersion, note: str, actor: Any, via: str | None = None
) -> tuple[ScenarioApproval, bool]:
    """Let a generated version count; answers its approval and whether it was made just now.

    Raises:
        PermissionDenied: the actor is nobody who approves.
        NotGeneratedError: it is a person's own work and counts anyway.
        ApprovalError: there is no reason with it.
    """
    if actor is None or not actor.has_perm(APPROVE):
        raise PermissionDenied(f"You need a role with the permission {APPROVE} to approve a scenario.")
    if not version.is_generated:
        raise NotGeneratedError(f"{version} was not generated: it counts without an approval")
    note = note.strip()
    if not NOTE_MIN_LENGTH <= len(note) <= NOTE_MAX_LENGTH:
        raise ApprovalError(f"say in {NOTE_MIN_LENGTH} to {NOTE_MAX_LENGTH:,} characters why it is right")
    # Whoever else approves it at this moment waits here and then finds it approved.
    Scenario.objects.select_for_update().get(pk=version.scenario_id)
    existing = ScenarioApproval.objects.filter(scenario_version=version).first()
    if existing is not None:
        return existing, False
    approval = ScenarioApproval.objects.create(scenario_version=version, person=actor, note=note)
    governance.send(
        sender=Scenario,
        action="scenario_approved",
        actor=actor,
        subject=f"scenario {version.scenario.name}",
        before=None,
        after={"version": version.number, "digest": version.digest},
        note=note,
        via=via,
    )
    scenario_approved.send(sender=ScenarioVersion, version=version)
    return approval, True


def approved_ids(version_ids: Collection[int]) -> set[int]:
    """Which of these versions a person has approved: one query."""
    approvals = ScenarioApproval.objects.filter(scenario_version__in=version_ids)
    return set(approvals.values_list("scenario_version_id", flat=True))
