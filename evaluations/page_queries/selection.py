"""Which cases of a comparison a `CaseFilter` lets through, and which come before and after one."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from evaluations.case_filter import CLASSES, CaseFilter
from evaluations.holdouts import hides_cases
from evaluations.models import UNCLASSIFIED_RANK, Comparison, ExpectationResult, PairedCase, Side, ToolCall
from evaluations.page_queries.counts import is_open
from scenarios.holdouts import EVERYTHING, Sight
from scenarios.models import ScenarioVersion
from twins.querysets import holding

EVERY_CASE = CaseFilter()
WORST_FIRST = ("class_rank", "severity_rank", "position", "pk")


def cases_of(
    comparison: Comparison, chosen: CaseFilter = EVERY_CASE, sight: Sight = EVERYTHING
) -> QuerySet[PairedCase]:
    """The paired cases that `chosen` lets through and `sight` has, in no order yet."""
    cases = cases_of_any_class(comparison, chosen, sight)
    if not chosen.classes:
        return cases
    # The rank is what the index of the list begins with.
    ranks = [CLASSES.index(name) for name in chosen.classes]
    if "INCOMPLETE" in chosen.classes and not is_open(comparison):
        ranks.append(UNCLASSIFIED_RANK)
    return cases.filter(class_rank__in=ranks)


def cases_of_any_class(
    comparison: Comparison, chosen: CaseFilter, sight: Sight = EVERYTHING
) -> QuerySet[PairedCase]:
    """The same without the condition on the class: what the tiles count."""
    if hides_cases(comparison, sight):
        return PairedCase.objects.none()
    # The comparison is known, so its dataset needs no look in every row.
    cases = sight.of(PairedCase.objects.counted().filter(comparison=comparison), "scenario_version")
    if chosen.severity:
        cases = cases.filter(severity=chosen.severity)
    if chosen.tag:
        cases = cases.filter(scenario_version__in=_versions_with_tag(chosen.tag))
    if chosen.tool:
        cases = cases.filter(Exists(ToolCall.objects.filter(case__pair=OuterRef("pk"), tool=chosen.tool)))
    if chosen.check:
        cases = holding(cases, "newly_failing", chosen.check)
    if chosen.text:
        cases = cases.filter(_mentions(chosen.text))
    return cases


def held_out_count(comparison: Comparison, sight: Sight) -> int:
    """How many of its cases are hidden as their scenarios are held out; a query only where any may be."""
    hidden = sight.hidden_versions
    if not hidden:
        return 0
    cases = PairedCase.objects.counted().filter(comparison=comparison)
    return cases.filter(scenario_version__in=hidden).count()


def neighbours(
    pair: PairedCase, chosen: CaseFilter, sight: Sight = EVERYTHING
) -> tuple[PairedCase | None, PairedCase | None]:
    """The cases before and after `pair` (its comparison loaded) in the list under `chosen`: two queries."""
    cases = cases_of(pair.comparison, chosen, sight).only(
        "scenario_name", "trial", "comparison_id", "class_rank"
    )
    place = [getattr(pair, key) for key in WORST_FIRST]
    after, before, equal = Q(pk__in=[]), Q(pk__in=[]), Q()
    for key, value in zip(WORST_FIRST, place, strict=True):
        after |= equal & Q(**{f"{key}__gt": value})
        before |= equal & Q(**{f"{key}__lt": value})
        equal &= Q(**{key: value})
    previous = cases.filter(before).order_by(*(f"-{key}" for key in WORST_FIRST)).first()
    return previous, cases.filter(after).order_by(*WORST_FIRST).first()


def _versions_with_tag(tag: str) -> QuerySet[ScenarioVersion, Any]:
    return holding(ScenarioVersion.objects.all(), "tags", tag).values("pk")


def _mentions(text: str) -> Any:
    """`text` in what the list shows of a case: name, reason, divergence, the checks the candidate failed."""
    failing = ExpectationResult.objects.filter(
        Q(expectation_id__icontains=text) | Q(reason__icontains=text),
        case__pair=OuterRef("pk"),
        case__run__side=Side.CANDIDATE,
        effective_status="FAIL",
    )
    in_json = json.dumps(text, ensure_ascii=False)[1:-1]
    return (
        Q(scenario_name__icontains=text)
        | Q(reason__icontains=text)
        | Q(first_divergence__icontains=in_json)
        | Exists(failing)
    )


def case_path(
    comparison_id: int, scenario: str, trial: int = 1, query: str = "", *, original: bool = False
) -> str:
    """Address of a case page. It is served by a later room; the address is part of the comparison's.

    `original`: the first run of a trial that was run again.
    """
    parts = [f"trial={trial}"] if trial > 1 else []
    parts += ["original=1"] if original else []
    parts += [query] if query else []
    end = f"?{'&'.join(parts)}" if parts else ""
    return f"/comparisons/{comparison_id}/cases/{scenario}/{end}"
