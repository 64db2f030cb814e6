"""Agents in the admin: a saved manifest registers the version it names."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from evaluations.models import Agent, AgentVersion, PairedCase
from evaluations.services.agents import save_agent, secrets_around
from scenarios.admin import ScenarioAdmin, scenario_list
from scenarios.models import Scenario
from twins.admin import TwinAdmin
from twins.document_admin import DocumentAdmin, Link
from twins.document_pages import shown_texts
from twins.engine.redaction import redactor
from twins.models import Twin

STARTER = """\
apiVersion: agenttwin.dev/v1
kind: Agent
metadata:
  name: my-agent
  version: 1.0.0
spec:
  instructions: What the agent is told.
  model:
    provider: my-provider
    name: my-model
  tools:
    - name: lookup_order
      risk: READ
"""


@admin.register(Agent)
class AgentAdmin(DocumentAdmin):
    version_model = AgentVersion
    parent_field = "agent"
    number_field = "version"
    starter = STARTER
    links = []
    list_display = ["name", "version", "model_name", "saved"]

    @admin.display(description="model")
    def model_name(self, obj: Agent) -> str:
        version = obj.current_version
        return f"{version.model_provider} {version.model_name}".strip() if version else ""

    def save_document(
        self, *, text: str, name: str | None, based_on: str, actor: Any
    ) -> tuple[AgentVersion, bool]:
        return save_agent(text=text, name=name, based_on=based_on, actor=actor)

    def shown_text(self, version: AgentVersion, request: HttpRequest) -> str:
        return shown_texts([version], self._hidden(version, request))[0]

    def shown_document(self, version: AgentVersion, request: HttpRequest) -> Any:
        return redactor(self._hidden(version, request))(version.document)

    def _hidden(self, version: AgentVersion, request: HttpRequest) -> list[str]:
        """What the twins of its scenarios plant, which a manifest may repeat in its instructions."""
        return [] if self.has_change_permission(request) else secrets_around(version.agent.name)


def scenarios_of_agent(agent: Agent) -> Link:
    count = Scenario.objects.filter(current_version__agent_name=agent.name).count()
    return f"{count} scenario{'' if count == 1 else 's'} for this agent", scenario_list(agent_name=agent.name)


def comparisons_of_agent(agent: Agent) -> Link:
    count = agent.comparisons.count()
    query = urlencode({"agent__id__exact": agent.pk})
    address = f"{reverse('admin:evaluations_comparison_changelist')}?{query}"
    return f"{count} comparison{'' if count == 1 else 's'} of this agent", address


def cases_of_scenario(scenario: Scenario) -> Link:
    query = urlencode({"scenario_name": scenario.name})
    return "Its cases in comparisons", f"{reverse('admin:evaluations_pairedcase_changelist')}?{query}"


def cases_of_twin(twin: Twin) -> Link:
    query = urlencode({"twin_version__twin__id__exact": twin.pk})
    count = PairedCase.objects.filter(twin_version__twin=twin).count()
    address = f"{reverse('admin:evaluations_pairedcase_changelist')}?{query}"
    return f"{count} case{'' if count == 1 else 's'} run on it", address


AgentAdmin.links.extend([scenarios_of_agent, comparisons_of_agent])
ScenarioAdmin.links.append(cases_of_scenario)
TwinAdmin.links.append(cases_of_twin)
