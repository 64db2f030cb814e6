"""What a comparison was pinned to, and what its filters can be set to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count

from evaluations.case_filter import CLASSES, CaseFilter, chosen_options
from evaluations.models import Comparison, PairedCase
from scenarios.holdouts import EVERYTHING, Sight
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
    """What a comparison was pinned to; at most `PINS_SHOWN` scenarios, `scenario_count` counts all.

    `tags` and `tools` are those of all pinned scenarios and twins.
    """

    scenarios: tuple[Pin, ...]
    scenario_count: int
    twins: tuple[Pin, ...]
    tags: frozenset[str]
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class FilterOptions:
    tags: list[str]
    tools: list[str]
    checks: list[str]


def pins_of(comparison: Comparison, sight: Sight = EVERYTHING) -> Pins:
    """Pinned versions: four queries the first time, then remembered: they never change."""
    return _pins(comparison.pk, comparison.created_at, sight.hidden_versions)


def filter_options(comparison: Comparison, chosen: CaseFilter, sight: Sight = EVERYTHING) -> FilterOptions:
    """What can be chosen in the filters of this comparison: one query and the pins."""
    pins = pins_of(comparison, sight)
    failing = PairedCase.objects.counted().filter(
        comparison=comparison, class_rank__lte=CLASSES.index("INCOMPLETE")
    )
    failing = sight.of(failing, "scenario_version")
    lists_of_checks = failing.order_by().values_list("newly_failing", flat=True).distinct()
    return FilterOptions(
        tags=chosen_options(pins.tags, chosen.tag),
        tools=chosen_options(pins.tools, chosen.tool),
        checks=chosen_options({check for checks in lists_of_checks for check in checks}, chosen.check),
    )


# The time of creation keeps the key apart from another database's comparison of the same number.
@lru_cache(maxsize=256)
def _pins(comparison_id: int, created_at: datetime, hidden: frozenset[int]) -> Pins:
    pinned = PairedCase.objects.filter(comparison=comparison_id).order_by()
    if hidden:
        pinned = pinned.exclude(scenario_version__in=hidden)
    scenarios = ScenarioVersion.objects.filter(pk__in=pinned.values("scenario_version"))
    named = scenarios.order_by("scenario__name").values_list("scenario__name", "number", "digest")
    twins = TwinVersion.objects.filter(pk__in=pinned.values("twin_version").distinct())
    versions = list(
        twins.order_by("twin__name", "number").values_list("twin__name", "number", "digest", "document")
    )
    lists_of_tags = scenarios.order_by().values_list("tags", flat=True).distinct()
    return Pins(
        scenarios=tuple(_pin("scenarios", *row) for row in named[:PINS_SHOWN]),
        scenario_count=pinned.aggregate(count=Count("scenario_version", distinct=True))["count"],
        twins=tuple(_pin("twins", *row) for *row, _ in versions),
        tags=frozenset(tag for tags in lists_of_tags for tag in tags),
        tools=frozenset(name for *_, document in versions for name in _tools_of(document)),
    )


def _pin(room: str, name: Any, number: Any, digest: Any) -> Pin:
    return Pin(name, number, digest, href=f"/{room}/{name}/?version={number}")


def _tools_of(document: Any) -> list[str]:
    return list(document["spec"]["tools"])
