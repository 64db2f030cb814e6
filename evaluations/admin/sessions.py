"""Manual sessions, for looking: opening and closing one is done on its page or over the API."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from evaluations.admin.looking import (
    LookingAdmin,
    folded_json,
    folded_text,
    is_list,
    moment,
    tag,
    version_link,
)
from evaluations.models import ManualSession
from scenarios.holdouts import sight_of
from twins.document_admin import one_line


@admin.register(ManualSession)
class ManualSessionAdmin(LookingAdmin):
    list_display = ["what", "scenario", "agent", "became", "calls", "created_by", "opened"]
    list_filter = ["state", "verdict", "contradiction"]
    search_fields = ["=id", "agent_label", "scenario_version__scenario__name"]
    fields = [
        "scenario_link", "twin_link", "agent_text", "trial", "seed", "became", "error_text",
        "claimed_outcome", "contradiction", "results_json", "records_json", "answer_json",
        "metrics_json", "tool_call_count", "retry_count", "final_state_digest", "created_by",
        "created_at", "expires_at", "closed_by", "closed_at",
    ]  # fmt: skip

    def looked_at(self, request: HttpRequest) -> QuerySet[ManualSession]:
        sessions = sight_of(request.user).of(ManualSession.objects.all(), "scenario_version")
        rows = sessions.select_related(
            "scenario_version__scenario", "twin_version__twin", "created_by", "closed_by"
        )
        return rows.defer("records", "results", "answer", "metrics") if is_list(request) else rows

    @admin.display(description="session", ordering="pk")
    def what(self, obj: ManualSession) -> Any:
        return one_line(obj)

    @admin.display(ordering="scenario_version__scenario__name")
    def scenario(self, obj: ManualSession) -> Any:
        return one_line(obj.scenario_version.scenario)

    @admin.display(ordering="agent_label")
    def agent(self, obj: ManualSession) -> Any:
        return one_line(obj.agent_label)

    @admin.display(description="verdict", ordering="verdict")
    def became(self, obj: ManualSession) -> Any:
        """The verdict, or that it is open."""
        return tag(obj.verdict or obj.state)

    @admin.display(ordering="tool_call_count")
    def calls(self, obj: ManualSession) -> int:
        return obj.tool_call_count

    @admin.display(ordering="created_at")
    def opened(self, obj: ManualSession) -> Any:
        return moment(obj.created_at)

    @admin.display(description="scenario")
    def scenario_link(self, obj: ManualSession) -> Any:
        return version_link(obj.scenario_version, obj.scenario_version.scenario)

    @admin.display(description="twin")
    def twin_link(self, obj: ManualSession) -> Any:
        return version_link(obj.twin_version, obj.twin_version.twin)

    @admin.display(description="agent (what the person calls it)")
    def agent_text(self, obj: ManualSession) -> Any:
        return folded_text(obj.agent_label)

    @admin.display(description="why it has no grade")
    def error_text(self, obj: ManualSession) -> Any:
        return folded_text(obj.error_reason)

    @admin.display(description="results")
    def results_json(self, obj: ManualSession) -> Any:
        return folded_json(obj.results)

    @admin.display(description="records")
    def records_json(self, obj: ManualSession) -> Any:
        return folded_json(obj.records)

    @admin.display(description="answer (the agent's own account)")
    def answer_json(self, obj: ManualSession) -> Any:
        return folded_json(obj.answer)

    @admin.display(description="metrics")
    def metrics_json(self, obj: ManualSession) -> Any:
        return folded_json(obj.metrics)
