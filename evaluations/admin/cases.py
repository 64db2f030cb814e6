"""Cases with their records and results, and the states they started from, for looking."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.html import format_html

from evaluations.admin.looking import (
    LookingAdmin,
    folded_json,
    folded_text,
    is_list,
    link,
    link_to,
    moment,
    tag,
    version_link,
)
from evaluations.holdouts import seen
from evaluations.models import Case, ExpectationResult, PairedCase, StateSnapshot, ToolCall
from scenarios.holdouts import sight_of
from twins.document_admin import one_line

# Records of a case shown on its page; the rest is a list away.
RECORDS_SHOWN = 100


@admin.register(Case)
class CaseAdmin(LookingAdmin):
    pair_path = "pair"
    list_display = [
        "scenario", "side", "became", "claim", "calls", "retries", "comparison_number",
        "finished",
    ]  # fmt: skip
    list_display_links = ["scenario"]
    list_filter = ["state", "verdict", "effective_verdict", "run__side", "contradiction", "pair__severity"]
    search_fields = ["pair__scenario_name", "=run__comparison__id", "error_reason"]
    fields = [
        "comparison", "run_link", "pair_link", "state_tag", "verdict_tag", "error_reason",
        "results_table", "calls_table", "claimed_outcome", "contradiction_tag", "answer_json",
        "metrics_json", "tool_call_count", "retry_count", "attempts", "used_scenario", "used_twin",
        "used_seed", "initial_state_digest", "final_state_digest", "started_at", "finished_at",
        "lease_expires_at",
    ]  # fmt: skip
    ordering = ["-pk"]

    def looked_at(self, request: HttpRequest) -> QuerySet[Case]:
        return Case.objects.with_names()

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup in {"run__id__exact", "pair__id__exact"} or super().lookup_allowed(
            lookup, value, request
        )

    @admin.display(ordering="pair__scenario_name")
    def scenario(self, obj: Case) -> Any:
        return one_line(obj.pair)

    @admin.display(ordering="run__side")
    def side(self, obj: Case) -> Any:
        return one_line(f"{obj.run.side.lower()} {obj.run.agent_version.version}")

    @admin.display(description="verdict", ordering="effective_verdict")
    def became(self, obj: Case) -> Any:
        """The verdict, or how far an unfinished case is."""
        return self.verdict_tag(obj) if obj.verdict else tag(obj.state)

    @admin.display(description="of", ordering="run__comparison")
    def comparison_number(self, obj: Case) -> Any:
        number = obj.run.comparison_id
        return link(f"#{number}", "evaluations_comparison_change", number)

    @admin.display(ordering="claimed_outcome")
    def claim(self, obj: Case) -> Any:
        """What the agent said became of it, and whether the records say otherwise."""
        said = obj.claimed_outcome or "–"
        return one_line(format_html("{} {}", said, tag("CONTRADICTION"))) if obj.contradiction else said

    @admin.display(ordering="tool_call_count")
    def calls(self, obj: Case) -> int:
        return obj.tool_call_count

    @admin.display(ordering="retry_count")
    def retries(self, obj: Case) -> int:
        return obj.retry_count

    @admin.display(ordering="finished_at")
    def finished(self, obj: Case) -> Any:
        return moment(obj.finished_at)

    @admin.display(ordering="run__comparison")
    def comparison(self, obj: Case) -> Any:
        return link(
            f"comparison {obj.run.comparison_id}", "evaluations_comparison_change", obj.run.comparison_id
        )

    @admin.display(description="run")
    def run_link(self, obj: Case) -> Any:
        return link(f"{obj.run.side.lower()}, {obj.run.agent_version}", "evaluations_run_change", obj.run_id)

    @admin.display(description="paired case")
    def pair_link(self, obj: Case) -> Any:
        return link_to(obj.pair)

    @admin.display(description="state", ordering="state")
    def state_tag(self, obj: Case) -> Any:
        return tag(obj.state)

    @admin.display(description="verdict", ordering="effective_verdict")
    def verdict_tag(self, obj: Case) -> Any:
        return overridable(obj.verdict, obj.effective_verdict)

    @admin.display(description="claim and evidence", ordering="contradiction")
    def contradiction_tag(self, obj: Case) -> Any:
        return tag("CONTRADICTION") if obj.contradiction else "no contradiction"

    @admin.display(description="results")
    def results_table(self, obj: Case) -> str:
        results = [
            (row, overridable(row.status, row.effective_status)) for row in obj.results.defer("evidence")
        ]
        return render_to_string("admin/agenttwin/_results.html", {"results": results})

    @admin.display(description="records")
    def calls_table(self, obj: Case) -> str:
        calls = obj.tool_calls.defer("response", "changes", "documents")
        rows = [(call, folded_json(call.arguments), tag(call.status)) for call in calls[:RECORDS_SHOWN]]
        context = {"rows": rows, "case": obj, "is_cut": len(rows) == RECORDS_SHOWN}
        return render_to_string("admin/agenttwin/_records.html", context)

    @admin.display(description="answer (the agent's own account)")
    def answer_json(self, obj: Case) -> Any:
        return folded_json(obj.answer)

    @admin.display(description="metrics")
    def metrics_json(self, obj: Case) -> Any:
        return folded_json(obj.metrics)

    @admin.display(description="scenario it used")
    def used_scenario(self, obj: Case) -> Any:
        version = obj.used_scenario_version
        return version_link(version, version.scenario) if version else "–"

    @admin.display(description="twin it used")
    def used_twin(self, obj: Case) -> Any:
        version = obj.used_twin_version
        return version_link(version, version.twin) if version else "–"


class RecordedAdmin(LookingAdmin):
    """Rows of a case: each names its case and leads to it."""

    pair_path = "case__pair"

    def looked_at(self, request: HttpRequest) -> QuerySet[Any]:
        return super().looked_at(request).select_related("case__pair", "case__run").defer("case__answer")

    @admin.display(description="case", ordering="case")
    def case_link(self, obj: Any) -> Any:
        run = obj.case.run
        text = f"{obj.case.pair}, {run.side.lower()} of #{run.comparison_id}"
        return link(one_line(text), "evaluations_case_change", obj.case_id)


@admin.register(ToolCall)
class ToolCallAdmin(RecordedAdmin):
    list_display = ["what", "status_line", "fault", "effect", "case_link"]
    list_filter = ["kind", "status", "mutated", "replayed", "redelivered", "case__run__side"]
    search_fields = ["tool", "error_code", "fault", "case__pair__scenario_name"]
    fields = [
        "case_link", "seq", "kind", "call_number", "tool", "arguments_json", "status_tag",
        "http_status", "error_code", "response_json", "risk", "fault", "mutated", "expects_mutation",
        "replayed", "redelivered", "effect_key_text", "cross_tenant", "policy_violation",
        "changes_json", "delay_ms", "query_text", "limit", "documents_json",
    ]  # fmt: skip
    ordering = ["-case", "seq"]

    def looked_at(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().looked_at(request)
        if is_list(request):
            return rows.defer("arguments", "response", "changes", "documents", "case__answer")
        return rows

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "case__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="record", ordering="seq")
    def what(self, obj: ToolCall) -> Any:
        return one_line(obj)

    @admin.display(description="answered", ordering="http_status")
    def status_line(self, obj: ToolCall) -> Any:
        if obj.http_status is None:
            return "–"
        return format_html('<span class="at-nowrap">{} {}</span>', tag(obj.status), obj.http_status)

    @admin.display
    def effect(self, obj: ToolCall) -> str:
        """What the call did to the state, and what was remarkable about it."""
        facts = {
            "changed state": obj.mutated,
            "replay": obj.replayed,
            "second delivery": obj.redelivered,
            obj.policy_violation: obj.policy_violation,
            f"cross-tenant {obj.cross_tenant}": obj.cross_tenant,
        }
        return ", ".join(str(words) for words, holds in facts.items() if holds) or "–"

    @admin.display(description="status", ordering="status")
    def status_tag(self, obj: ToolCall) -> Any:
        return tag(obj.status)

    @admin.display(description="arguments")
    def arguments_json(self, obj: ToolCall) -> Any:
        return folded_json(obj.arguments)

    @admin.display(description="response")
    def response_json(self, obj: ToolCall) -> Any:
        return folded_json(obj.response)

    @admin.display(description="changes")
    def changes_json(self, obj: ToolCall) -> Any:
        return folded_json(obj.changes)

    @admin.display(description="documents")
    def documents_json(self, obj: ToolCall) -> Any:
        return folded_json(obj.documents)

    @admin.display(description="effect key")
    def effect_key_text(self, obj: ToolCall) -> Any:
        return folded_text(obj.effect_key or "")

    @admin.display(description="query")
    def query_text(self, obj: ToolCall) -> Any:
        return folded_text(obj.query or "")


@admin.register(ExpectationResult)
class ExpectationResultAdmin(RecordedAdmin):
    list_display = ["expectation_id", "case_link", "type", "critical", "status_tag", "label", "reason_short"]
    list_filter = ["status", "effective_status", "critical", "case__run__side"]
    search_fields = ["expectation_id", "type", "label", "case__pair__scenario_name"]
    fields = [
        "case_link",
        "expectation_id",
        "type",
        "critical",
        "status_tag",
        "label",
        "reason_text",
        "evidence_json",
    ]
    ordering = ["-case", "position"]

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "case__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="status", ordering="effective_status")
    def status_tag(self, obj: ExpectationResult) -> Any:
        return overridable(obj.status, obj.effective_status)

    @admin.display(description="reason")
    def reason_short(self, obj: ExpectationResult) -> str:
        return obj.reason if len(obj.reason) <= 160 else obj.reason[:159] + "…"

    @admin.display(description="reason")
    def reason_text(self, obj: ExpectationResult) -> Any:
        return folded_text(obj.reason)

    @admin.display(description="evidence")
    def evidence_json(self, obj: ExpectationResult) -> Any:
        return folded_json(obj.evidence)


@admin.register(StateSnapshot)
class StateSnapshotAdmin(LookingAdmin):
    list_display = ["digest"]
    search_fields = ["digest"]
    fields = ["digest", "state_json", "pairs_link"]

    def looked_at(self, request: HttpRequest) -> QuerySet[StateSnapshot]:
        rows = super().looked_at(request)
        if is_list(request):
            rows = rows.defer("state")
        sight = sight_of(request.user)
        if sight.sees_all:
            return rows
        # A state that hidden cases alone start from is theirs.
        pairs = PairedCase.objects.filter(initial_state=OuterRef("pk"))
        return rows.filter(Exists(seen(pairs, sight)) | ~Exists(pairs))

    @admin.display(description="state")
    def state_json(self, obj: StateSnapshot) -> Any:
        return folded_json(obj.state)

    @admin.display(description="paired cases that start from it")
    def pairs_link(self, obj: StateSnapshot) -> Any:
        return link("paired cases", "evaluations_pairedcase_changelist", initial_state=obj.pk)


def overridable(measured: str | None, effective: str | None) -> Any:
    """What counts, and beside it what was measured where a reviewer decided otherwise."""
    if measured == effective:
        return tag(measured)
    return render_to_string(
        "admin/agenttwin/_overridden.html", {"measured": measured, "shown": tag(effective)}
    )
