"""What the pages read of comparisons and cases: a fixed number of queries, long values cut in the database.

Totals and lists are counted from the same rows (`PairedCase` under the same `CaseFilter`), so they cannot
disagree. No query here loads a run, an answer, a tool call's content or a document to draw a list.
"""

from evaluations.page_queries.cases import CaseList, CaseRow, FailingCheck, SideRow, case_list
from evaluations.page_queries.comparisons import (
    ComparisonRow,
    comparison_page,
    latest_comparisons,
    model_kinds_of,
)
from evaluations.page_queries.counts import (
    ClassCounts,
    SideTotals,
    class_counts,
    class_of,
    is_open,
    never_compared,
    reason_of,
    rerun_of,
    side_totals,
)
from evaluations.page_queries.grouped import (
    ScenarioList,
    ScenarioRow,
    has_trials,
    neighbouring_scenarios,
    scenario_list,
)
from evaluations.page_queries.pins import FilterOptions, Pin, Pins, filter_options, pins_of
from evaluations.page_queries.selection import (
    WORST_FIRST,
    case_path,
    cases_of,
    cases_of_any_class,
    held_out_count,
    neighbours,
)

__all__ = [
    "WORST_FIRST",
    "CaseList",
    "CaseRow",
    "ClassCounts",
    "ComparisonRow",
    "FailingCheck",
    "FilterOptions",
    "Pin",
    "Pins",
    "ScenarioList",
    "ScenarioRow",
    "SideRow",
    "SideTotals",
    "case_list",
    "case_path",
    "cases_of",
    "cases_of_any_class",
    "class_counts",
    "class_of",
    "comparison_page",
    "filter_options",
    "has_trials",
    "held_out_count",
    "is_open",
    "latest_comparisons",
    "model_kinds_of",
    "neighbouring_scenarios",
    "neighbours",
    "never_compared",
    "pins_of",
    "reason_of",
    "rerun_of",
    "scenario_list",
    "side_totals",
]
