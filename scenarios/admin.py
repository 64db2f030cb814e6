"""Scenarios in the admin: edited as text, kept in versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from scenarios import dataset_admin  # noqa: F401 - registers the admin of datasets
from scenarios.documents.scenario import validate_scenario
from scenarios.holdouts import held_out_versions, sight_of
from scenarios.models import Scenario, ScenarioVersion
from scenarios.page_queries import hidden_secrets
from scenarios.services import save_scenario
from twins.admin import TwinAdmin, started_from
from twins.document_admin import DocumentAdmin, Link, one_line
from twins.document_pages import shown_texts
from twins.engine.redaction import redactor
from twins.errors import UnusableTwinError
from twins.models import Twin
from twins.services import current_definition

REMARKS_SHOWN = 10

STARTER = """\
apiVersion: agenttwin.dev/v1
kind: Scenario
metadata:
  name: my-scenario
  severity: high
  tags: []
spec:
  agent: my-agent
  twin: my-twin
  input:
    message: What the customer writes.
  expectations:
    - type: finalOutcome
      equals: SUCCESS
      critical: true
"""


class TagFilter(admin.SimpleListFilter):
    """Scenarios by a tag of their current version."""

    title = "tag"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, str]]:
        return [(tag, tag) for tag in sorted({tag for _, tags in self._tags(request) for tag in tags})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Scenario]) -> QuerySet[Scenario]:
        if not self.value():
            return queryset
        # SQLite cannot search inside a JSON list; a collection has hundreds of scenarios, not millions.
        return queryset.filter(pk__in=[pk for pk, tags in self._tags(request) if self.value() in tags])

    def _tags(self, request: HttpRequest) -> list[tuple[int, list[str]]]:
        seen = sight_of(request.user).of(Scenario.objects.all(), "current_version")
        return list(seen.values_list("pk", "current_version__tags"))


@admin.register(Scenario)
class ScenarioAdmin(DocumentAdmin):
    version_model = ScenarioVersion
    parent_field = "scenario"
    starter = STARTER
    links = []
    list_display = ["name", "severity", "twin", "agent", "tags", "version", "saved"]
    list_filter = [
        "current_version__severity",
        TagFilter,
        "current_version__twin_name",
        "current_version__agent_name",
    ]
    search_fields = ("name", "current_version__twin_name", "current_version__agent_name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Scenario]:
        return sight_of(request.user).of(super().get_queryset(request), "current_version")

    @admin.display(ordering="current_version__severity")
    def severity(self, obj: Scenario) -> str:
        return obj.current_version.severity if obj.current_version else ""

    @admin.display(ordering="current_version__twin_name")
    def twin(self, obj: Scenario) -> Any:
        return one_line(obj.current_version.twin_name) if obj.current_version else ""

    @admin.display(ordering="current_version__agent_name")
    def agent(self, obj: Scenario) -> Any:
        return one_line(obj.current_version.agent_name) if obj.current_version else ""

    @admin.display
    def tags(self, obj: Scenario) -> str:
        return ", ".join(obj.current_version.tags) if obj.current_version else ""

    def save_document(
        self, *, text: str, name: str | None, based_on: str, actor: Any
    ) -> tuple[ScenarioVersion, bool]:
        return save_scenario(text=text, name=name, based_on=started_from(based_on), actor=actor)

    def shown_text(self, version: ScenarioVersion, request: HttpRequest) -> str:
        # A comment may hold a secret that the content does not: then it is written anew without comments.
        return shown_texts([version], self._hidden(version, request))[0]

    def shown_document(self, version: ScenarioVersion, request: HttpRequest) -> Any:
        secrets = self._hidden(version, request)
        return redactor(secrets)(version.document) if secrets else version.document

    def _hidden(self, version: ScenarioVersion, request: HttpRequest) -> Sequence[str]:
        """The secrets of its twin, which a scenario may repeat, and those its own checks look for."""
        return () if self.has_change_permission(request) else hidden_secrets(version)


def scenarios_of_twin(twin: Twin) -> Link:
    """The link from a twin to the scenarios that run on it."""
    count = Scenario.objects.on_twin(twin.name).count()
    return f"{count} scenario{'' if count == 1 else 's'} on this twin", scenario_list(twin_name=twin.name)


def scenarios_that_no_longer_fit(twin: Twin) -> list[str]:
    """One remark a scenario that names something the current version of its twin does not have.

    One that is held out stays nameless: whoever saves a twin need not be one who may look into holdouts.
    """
    try:
        definition = current_definition(twin.name)
    except UnusableTwinError as problem:
        return [f"No scenario was held against it, since it cannot be used here: {problem.detail}"]
    versions = ScenarioVersion.objects.current().filter(twin_name=twin.name)
    held_out = held_out_versions()
    shown = []
    for version in versions:
        if problems := validate_scenario(version.document, twin=definition):
            named = f"Scenario {version.scenario.name} does not fit it: {problems[0]}"
            shown.append("A scenario of a holdout does not fit it" if version.pk in held_out else named)
    more = len(shown) - REMARKS_SHOWN
    return [*shown[:REMARKS_SHOWN], *([f"{more} more scenarios do not fit it"] if more > 0 else [])]


def twin_of_scenario(scenario: Scenario) -> Link:
    """The link from a scenario to its twin."""
    name = scenario.current_version.twin_name if scenario.current_version else ""
    twin = Twin.objects.filter(name=name).only("pk").first()
    if twin is None:
        return "Names no twin", reverse("admin:twins_twin_changelist")
    return f"Twin {name}", reverse("admin:twins_twin_change", args=[twin.pk])


def scenario_list(**of_current_version: str) -> str:
    """The address of the scenarios whose current version has these values."""
    query = {f"current_version__{name}": value for name, value in of_current_version.items()}
    return f"{reverse('admin:scenarios_scenario_changelist')}?{urlencode(query)}"


TwinAdmin.links.append(scenarios_of_twin)
TwinAdmin.remarks.append(scenarios_that_no_longer_fit)
ScenarioAdmin.links.append(twin_of_scenario)
