"""Repeated trials in the API: their statistics, and running errored ones again."""

from __future__ import annotations

from typing import Any

from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import NoQuery, Strict, read_body, read_query
from agenttwin_site.api.schema import READS, WRITES, operation
from agenttwin_site.api.views import ApiView
from evaluations.api.comparisons import ID, found, one_comparison
from evaluations.api.examples import COMPARISON, STATISTICS
from evaluations.api.shapes import ComparisonShape
from evaluations.api.trial_shapes import StatisticsShape
from evaluations.errors import NotEndedError
from evaluations.reporting.hidden import statistics_as_seen
from evaluations.reporting.trial_figures import figures_object
from evaluations.services.rerunning import rerun_trials
from evaluations.services.statistics import (
    CostRates,
    comparison_statistics,
    configured_rates,
    has_ended,
)
from scenarios.holdouts import sight_of

_READ = Access(("read", "run", "review"), "evaluations.view_pairedcase")
_START = Access(("run",), "evaluations.add_comparison")
_MOST_NAMED = 1000
_MOST_USD = 1_000_000


class RerunShape(Strict):
    cases = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        required=False,
        max_length=_MOST_NAMED,
        help_text="Ids of cases. Left out: every trial that may be run again.",
    )


class StatisticsQuery(Strict):
    """What a run costs beside its model; the installation's own rates if not said."""

    tool_call_usd = serializers.FloatField(
        min_value=0, max_value=_MOST_USD, required=False, help_text="US dollars of a tool call."
    )
    review_minutes = serializers.FloatField(
        min_value=0, max_value=_MOST_USD, required=False, help_text="Minutes a person looks at a run."
    )
    review_usd_per_hour = serializers.FloatField(
        min_value=0, max_value=_MOST_USD, required=False, help_text="What an hour of that costs."
    )


class Statistics(ApiView):
    access = {"GET": _READ}

    @operation(
        "The statistics of a comparison's trials",
        name="comparisons_statistics",
        tag="comparisons",
        description="Holds every task. While the comparison runs it is a conflict (409, not_ended).",
        answers={200: StatisticsShape},
        query=StatisticsQuery,
        example=STATISTICS,
        errors=(*READS, 409),
    )
    def get(self, request: Any, pk: str) -> Response:
        asked = read_query(request, StatisticsQuery)
        comparison = found(int(pk))
        if not has_ended(comparison):
            raise NotEndedError(f"{comparison} still runs; its statistics are known when it has ended")
        own = configured_rates()
        rates = CostRates(
            asked.get("tool_call_usd", own.tool_call_usd),
            asked.get("review_minutes", own.review_minutes),
            asked.get("review_usd_per_hour", own.review_usd_per_hour),
        )
        whole = comparison_statistics(comparison.pk)
        told = statistics_as_seen(whole, comparison, sight_of(request.user))
        # The suite's figures count every task; what is hidden is only not told task by task.
        figures, shown = figures_object(whole, rates), figures_object(told, rates)
        return Response({**figures, **{name: shown[name] for name in ("unequal", "tasks", "checks")}})


class Rerun(ApiView):
    access = {"POST": _START}

    @operation(
        "Run errored trials again",
        name="comparisons_rerun",
        tag="comparisons",
        description=(
            "Once, and only trials of which a side could not be graded and no side failed: the second run "
            "counts in the place of the first. What may not be run again is a conflict (409, "
            "not_rerunnable), and then nothing is."
        ),
        answers={200: ComparisonShape},
        body=RerunShape,
        body_example={"cases": [61]},
        example={**COMPARISON, "state": "RUNNING", "blocks": None, "finished_at": None},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, RerunShape)
        comparison = found(int(pk))
        rerun_trials(comparison=comparison, pair_ids=asked.get("cases"), actor=request.user)
        return Response(one_comparison(request, comparison.pk))


urlpatterns = [
    re_path(rf"^comparisons/(?P<pk>{ID})/statistics/$", Statistics.as_view(), name="comparison_statistics"),
    re_path(rf"^comparisons/(?P<pk>{ID})/rerun/$", Rerun.as_view(), name="comparison_rerun"),
]
