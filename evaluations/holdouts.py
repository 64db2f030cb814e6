"""Cases of holdouts among the measured ones: which rows a person may look into.

The cases of a comparison on a holdout are hidden whole, whatever else their scenarios are in: which of them
the holdout has is what it keeps. Elsewhere the pairs of a scenario that is held out are hidden.
"""

from __future__ import annotations

from evaluations.models import Comparison, PairedCase
from scenarios.holdouts import Rows, Sight
from scenarios.models import Purpose

HIDDEN = "its cases are those of a holdout: what happened in each is shown only to those who may see it"


def seen(rows: Rows, sight: Sight, *, pair: str = "") -> Rows:
    """The rows whose paired case this person may look into. `pair`: the way from a row to its pair."""
    if sight.sees_all:
        return rows
    to = f"{pair}__" if pair else ""
    rows = rows.exclude(**{f"{to}comparison__dataset_version__purpose": Purpose.HOLDOUT})
    return sight.of(rows, f"{to}scenario_version")


def hides_cases(comparison: Comparison, sight: Sight) -> bool:
    """Whether all cases of the comparison are hidden."""
    return sight.hides_cases_of(comparison.dataset_version)


def hides(pair: PairedCase, sight: Sight) -> bool:
    """Whether this pair is hidden; its comparison and that one's dataset are loaded or cost a query."""
    if sight.sees_all:
        return False
    return hides_cases(pair.comparison, sight) or pair.scenario_version_id in sight.hidden_versions


def shown_reason(comparison: Comparison, sight: Sight) -> str:
    """Why a comparison is incomplete, without what its hidden cases say."""
    reason = comparison.reason
    return reason.partition(": ")[0] if hides_cases(comparison, sight) else reason
