"""Comparisons, their runs and their paired cases, for looking."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.template.loader import render_to_string

from evaluations.admin.looking import LookingAdmin, folded_json, link, link_to, moment, tag, version_link
from evaluations.holdouts import hides_cases
from evaluations.models import CLASS_RANKS, Comparison, PairedCase, Run
from scenarios.holdouts import sight_of
from twins.document_admin import one_line

_SHORT = {"NEW_CRITICAL_FAILURE": "new critical failures"}


def count_pairs(rank: int | None = None) -> Coalesce:
    """A column: how many pairs of a comparison there are, of one class or in all.

    A subquery, not a join: it is worked out for the rows of the page only, from the index of pairs.
    """
    pairs = PairedCase.objects.counted().filter(comparison=OuterRef("pk")).order_by()
    if rank is not None:
        pairs = pairs.filter(class_rank=rank)
    counted = pairs.values("comparison").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@admin.register(Comparison)
class ComparisonAdmin(LookingAdmin):
    list_display = [
        "__str__",
        "agent_link",
        "versions",
        "state_tag",
        "classes",
        "created",
    ]
    list_filter = ["state", "agent", "created_at"]
    search_fields = ["=id", "=key", "agent__name", "baseline__version", "candidate__version"]
    fields = [
        "agent_link", "baseline_link", "candidate_link", "dataset_version", "state_tag", "reason", "classes",
        "runs_table", "cases_link", "seed", "trials", "selection_json", "key", "created_by",
        "created_at", "started_at", "finished_at", "cancel_requested_at",
    ]  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Without those that would name hidden cases."""
        sight = sight_of(request.user)
        told = list(self.fields)
        if obj is not None and hides_cases(obj, sight):
            told.remove("reason")
        if obj is not None and any(map(sight.hides, obj.selection.get("scenarios", ()))):
            told.remove("selection_json")
        return told

    def looked_at(self, request: HttpRequest) -> QuerySet[Comparison]:
        counts = {f"count_{rank}": count_pairs(rank) for rank in CLASS_RANKS.values()}
        return Comparison.objects.with_names().annotate(count_all=count_pairs(), **counts)

    @admin.display(description="agent", ordering="agent__name")
    def agent_link(self, obj: Comparison) -> Any:
        return link_to(obj.agent, one_line(obj.agent))

    @admin.display(description="baseline, candidate", ordering="candidate__version")
    def versions(self, obj: Comparison) -> Any:
        before = "" if obj.baseline is None else f"{obj.baseline.version} → "
        return one_line(f"{before}{obj.candidate.version}")

    @admin.display(description="created", ordering="created_at")
    def created(self, obj: Comparison) -> Any:
        return moment(obj.created_at)

    @admin.display(description="baseline")
    def baseline_link(self, obj: Comparison) -> Any:
        if obj.baseline is None:
            return "none"
        return link(obj.baseline.version, "evaluations_agent_version", obj.agent_id, obj.baseline_id)

    @admin.display(description="candidate")
    def candidate_link(self, obj: Comparison) -> Any:
        return link(obj.candidate.version, "evaluations_agent_version", obj.agent_id, obj.candidate_id)

    @admin.display(description="state", ordering="state")
    def state_tag(self, obj: Comparison) -> Any:
        return tag(obj.state)

    @admin.display(description="cases")
    def classes(self, obj: Any) -> str:
        """The count of each class that occurs, worst first; what has none yet is waiting."""
        counts = {name: getattr(obj, f"count_{rank}") for name, rank in CLASS_RANKS.items()}
        waiting = obj.count_all - sum(counts.values())
        parts = [f"{n} {_SHORT.get(name, name.lower())}" for name, n in counts.items() if n]
        return ", ".join([*parts, f"{waiting} waiting"] if waiting or not parts else parts)

    @admin.display(description="runs")
    def runs_table(self, obj: Comparison) -> str:
        runs = (
            Run.objects.filter(comparison=obj)
            .select_related("agent_version")
            .defer("agent_version__document", "agent_version__source_text")
        )
        return render_to_string("admin/agenttwin/_runs.html", {"runs": runs})

    @admin.display(description="paired cases")
    def cases_link(self, obj: Any) -> Any:
        return link(
            f"{obj.count_all} paired cases", "evaluations_pairedcase_changelist", comparison__id__exact=obj.pk
        )

    @admin.display(description="selection")
    def selection_json(self, obj: Comparison) -> Any:
        return folded_json(obj.selection)


@admin.register(Run)
class RunAdmin(LookingAdmin):
    list_display = [
        "__str__",
        "comparison_link",
        "side",
        "agent_version_link",
        "state_tag",
        "model_label",
        "started",
        "finished",
    ]
    list_filter = ["state", "side", "comparison__agent"]
    search_fields = ["=comparison__id", "comparison__agent__name", "agent_version__version", "model_name"]
    fields = [
        "comparison_link", "side", "agent_version_link", "state_tag", "model_kind", "model_name",
        "cases_link", "started_at", "finished_at",
    ]  # fmt: skip
    ordering = ["-pk"]

    def looked_at(self, request: HttpRequest) -> QuerySet[Run]:
        rows = super().looked_at(request).select_related("comparison", "agent_version__agent")
        return rows.defer("agent_version__document", "agent_version__source_text")

    @admin.display(description="comparison", ordering="comparison")
    def comparison_link(self, obj: Run) -> Any:
        return link_to(obj.comparison)

    @admin.display(description="agent version", ordering="agent_version__version")
    def agent_version_link(self, obj: Run) -> Any:
        return version_link(obj.agent_version, obj.agent_version.agent)

    @admin.display(description="state", ordering="state")
    def state_tag(self, obj: Run) -> Any:
        return tag(obj.state)

    @admin.display(description="started", ordering="started_at")
    def started(self, obj: Run) -> Any:
        return moment(obj.started_at)

    @admin.display(description="finished", ordering="finished_at")
    def finished(self, obj: Run) -> Any:
        return moment(obj.finished_at)

    @admin.display(description="answered by")
    def model_label(self, obj: Run) -> str:
        return " ".join(filter(None, [obj.model_kind, obj.model_name])) or "not known yet"

    @admin.display(description="cases")
    def cases_link(self, obj: Run) -> Any:
        return link("cases of this run", "evaluations_case_changelist", run__id__exact=obj.pk)


@admin.register(PairedCase)
class PairedCaseAdmin(LookingAdmin):
    pair_path = ""
    list_display = [
        "name",
        "class_tag",
        "baseline",
        "candidate",
        "severity",
        "comparison_number",
        "reason_short",
    ]
    list_filter = ["classification", "severity", "comparison__agent"]
    search_fields = ["scenario_name", "=comparison__id"]
    fields = [
        "comparison_link", "scenario", "twin", "trial", "replaced", "rerun_of_link", "seed",
        "initial_state_link", "severity", "class_tag", "reason", "divergence", "newly_failing_json",
        "flags_json", "sides",
    ]  # fmt: skip
    ordering = ["-comparison", "replaced", "class_rank", "severity_rank", "position"]

    def looked_at(self, request: HttpRequest) -> QuerySet[PairedCase]:
        heavy = [
            f"{name}__{text}"
            for name in ("scenario_version", "twin_version")
            for text in ("document", "source_text")
        ]
        rows = (
            super()
            .looked_at(request)
            .select_related("comparison__agent", "scenario_version__scenario", "twin_version__twin")
        )
        return rows.defer(*heavy).prefetch_related("cases__run")

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        linked = {"comparison__id__exact", "scenario_name", "twin_version__twin__id__exact", "initial_state"}
        return lookup in linked or super().lookup_allowed(lookup, value, request)

    @admin.display(description="comparison", ordering="comparison")
    def comparison_link(self, obj: PairedCase) -> Any:
        return link_to(obj.comparison)

    @admin.display(description="of", ordering="comparison")
    def comparison_number(self, obj: PairedCase) -> Any:
        return link(f"#{obj.comparison_id}", "evaluations_comparison_change", obj.comparison_id)

    @admin.display(description="scenario", ordering="scenario_name")
    def name(self, obj: PairedCase) -> Any:
        return one_line(obj)

    @admin.display(description="second run of")
    def rerun_of_link(self, obj: PairedCase) -> Any:
        return link_to(obj.rerun_of)

    @admin.display(description="class", ordering="class_rank")
    def class_tag(self, obj: PairedCase) -> Any:
        return tag(obj.classification)

    @admin.display(description="reason")
    def reason_short(self, obj: PairedCase) -> str:
        return obj.reason if len(obj.reason) <= 120 else obj.reason[:119] + "…"

    @admin.display
    def scenario(self, obj: PairedCase) -> Any:
        return version_link(obj.scenario_version, obj.scenario_version.scenario)

    @admin.display
    def twin(self, obj: PairedCase) -> Any:
        return version_link(obj.twin_version, obj.twin_version.twin)

    @admin.display(description="initial state")
    def initial_state_link(self, obj: PairedCase) -> Any:
        return link(obj.initial_state_id[:12], "evaluations_statesnapshot_change", obj.initial_state_id)

    @admin.display(description="first divergence")
    def divergence(self, obj: PairedCase) -> Any:
        return folded_json(obj.first_divergence)

    @admin.display(description="newly failing")
    def newly_failing_json(self, obj: PairedCase) -> Any:
        return folded_json(obj.newly_failing)

    @admin.display(description="flags")
    def flags_json(self, obj: PairedCase) -> Any:
        return folded_json(obj.flags)

    @admin.display
    def baseline(self, obj: PairedCase) -> Any:
        return self._side(obj, "BASELINE")

    @admin.display
    def candidate(self, obj: PairedCase) -> Any:
        return self._side(obj, "CANDIDATE")

    def _side(self, obj: PairedCase, side: str) -> Any:
        """The verdict of one side, leading to its case. `cases` is prefetched: no query a row."""
        found = next((case for case in obj.cases.all() if case.run.side == side), None)
        return "–" if found is None else link_to(found, tag(found.effective_verdict or found.state))

    @admin.display
    def sides(self, obj: PairedCase) -> str:
        cases = sorted(obj.cases.all(), key=lambda case: case.run.side)
        return render_to_string("admin/agenttwin/_sides.html", {"cases": cases})
