"""What a comparison was pinned to, and what its filters can be set to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, QuerySet

from evaluations.case_filter import CLASSES, CaseFilter, chosen_options
from evaluations.models import Comparison, PairedCase
from scenarios.models import ScenarioVersion
from twins.models import TwinVersion

PINS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned version and where it can be read."""

    name: str
    number: int
    digest: str
    href: str


@dataclass(frozen=True, slots=True)
class Pins:
    """What a comparison was pinned to; at most `PINS_SHOWN` scenarios, `scenario_count` counts all."""

    scenarios: list[Pin]
    scenario_count: int
    twins: list[Pin]


@dataclass(frozen=True, slots=True)
class FilterOptions:
    tags: list[str]
    tools: list[str]
    checks: list[str]


def pins_of(comparison: Comparison) -> Pins:
    """Pinned scenario and twin versions: three queries."""
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    scenarios = ScenarioVersion.objects.filter(pk__in=pinned.values("scenario_version"))
    named = scenarios.order_by("scenario__name").values_list("scenario__name", "number", "digest")
    return Pins(
        scenarios=[Pin(*row, href=f"/scenarios/{row[0]}/?version={row[1]}") for row in named[:PINS_SHOWN]],
        scenario_count=pinned.aggregate(count=Count("scenario_version", distinct=True))["count"],
        twins=[
            Pin(name, number, digest, href=f"/twins/{name}/?version={number}")
            for name, number, digest in _pinned_twins(comparison).values_list(
                "twin__name", "number", "digest"
            )
        ],
    )


def filter_options(comparison: Comparison, chosen: CaseFilter) -> FilterOptions:
    """What can be chosen in the filters of this comparison: three queries, the lists of tools remembered."""
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    tags = ScenarioVersion.objects.filter(pk__in=pinned.values("scenario_version")).order_by()
    lists_of_tags = tags.values_list("tags", flat=True).distinct()
    failing = pinned.filter(class_rank__lte=CLASSES.index("INCOMPLETE"))
    lists_of_checks = failing.values_list("newly_failing", flat=True).distinct()
    twins = tuple(_pinned_twins(comparison).order_by("pk").values_list("pk", "created_at"))
    return FilterOptions(
        tags=chosen_options({tag for tags in lists_of_tags for tag in tags}, chosen.tag),
        tools=chosen_options(_tools_of(twins), chosen.tool),
        checks=chosen_options({check for checks in lists_of_checks for check in checks}, chosen.check),
    )


def _pinned_twins(comparison: Comparison) -> QuerySet[TwinVersion]:
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    return TwinVersion.objects.filter(pk__in=pinned.values("twin_version").distinct()).order_by(
        "twin__name", "number"
    )


@lru_cache(maxsize=256)
def _tools_of(versions: tuple[tuple[int, datetime], ...]) -> frozenset[str]:
    """Names of the tools of these twin versions (key and time of creation), which never change."""
    documents: Any = TwinVersion.objects.filter(pk__in=[pk for pk, _ in versions])
    return frozenset(
        name
        for document in documents.values_list("document", flat=True)
        for name in document["spec"]["tools"]
    )
