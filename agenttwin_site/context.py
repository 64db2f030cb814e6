"""What every page needs: the places this person may go to, and the configuration of htmx."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from agenttwin_site.kept_forms import typed_by

# Answers that are swapped: successes, forms that did not hold, conflicts. The rest is told by app.js.
HTMX_CONFIG = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        # What was swapped in works at once: a key pressed within the usual 20 ms would load a whole page.
        "defaultSettleDelay": 0,
        # Pages are never kept in the browser's storage; going back loads them anew.
        "historyCacheSize": 0,
        "refreshOnHistoryMiss": True,
        "responseHandling": [
            {"code": "204", "swap": False},
            {"code": "[23]..", "swap": True},
            {"code": "(409|422)", "swap": True, "error": False},
            {"code": "[45]..", "swap": False, "error": True},
        ],
    },
    separators=(",", ":"),
)

# Label, name of the address, permission that shows it (None: everyone who is logged in).
_PLACES: tuple[tuple[str, str, str | None], ...] = (
    ("Comparisons", "evaluations:comparison_list", "evaluations.view_comparison"),
    ("Queue", "reviews:queue", "reviews.view_queueentry"),
    ("Sessions", "reviews:session_list", "evaluations.add_comparison"),
    ("Scenarios", "scenarios:scenario_list", "scenarios.view_scenario"),
    ("Twins", "twins:twin_list", "twins.view_twin"),
    ("Audit", "reviews:audit", "reviews.view_auditentry"),
    ("My reviews", "reviews:own_reviews", "reviews.add_review"),
    ("Datasets", "evaluations:dataset_list", "scenarios.view_dataset"),
    ("Releases", "evaluations:release_list", "evaluations.view_gatedecision"),
    ("Judges", "evaluations:criterion_list", "evaluations.view_criterion"),
)


@dataclass(frozen=True, slots=True)
class NavItem:
    label: str
    href: str
    is_current: bool
    is_exact: bool


def site(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `nav_items`, `htmx_config`, `typed_by`. Lazy: fragments pay for no permissions."""
    return {
        "nav_items": lambda: _nav_items(request),
        "htmx_config": HTMX_CONFIG,
        "typed_by": lambda: typed_by(request.user),
    }


def _nav_items(request: HttpRequest) -> list[NavItem]:
    items = []
    for label, name, permission in _PLACES:
        if permission is None or request.user.has_perm(permission):
            items.append(_item(request, label, reverse(name)))
    if request.user.is_staff:
        items.append(_item(request, "Admin", reverse("admin:index")))
    return items


def _item(request: HttpRequest, label: str, href: str) -> NavItem:
    return NavItem(label, href, is_current=request.path.startswith(href), is_exact=request.path == href)
