"""Announcements of lower rooms that change what comparisons have to say."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from agenttwin_site.events import scenario_approved
from evaluations.models import Comparison, PairedCase


def connect() -> None:
    """Called once when Django has loaded all apps."""
    scenario_approved.connect(on_scenario_approved, dispatch_uid="evaluations.scenario_approved")


def on_scenario_approved(*, version: Any, **_: Any) -> None:
    """What a program wrote counts from now on, also where it has run: a decision about that is old."""
    ran = PairedCase.objects.filter(scenario_version=version).values("comparison")
    Comparison.objects.filter(pk__in=ran).update(evidence_changed_at=timezone.now())
