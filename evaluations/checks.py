"""What the settings say about agents, looked at when the site starts (`manage.py check`)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from evaluations.agents.endpoints import EndpointError, read_endpoint


@register()
def agent_endpoints(**_: Any) -> list[CheckMessage]:
    """Every address of ``AGENTTWIN_AGENT_ENDPOINTS`` that no request could be sent to."""
    endpoints = settings.AGENTTWIN_AGENT_ENDPOINTS
    if not isinstance(endpoints, dict):
        return [
            Error(
                "AGENTTWIN_AGENT_ENDPOINTS must be an object of agent name to address", id="evaluations.E001"
            )
        ]
    found: list[CheckMessage] = []
    for name, address in endpoints.items():
        try:
            read_endpoint(address, is_trusted=True)
        except EndpointError as problem:
            found.append(Error(f"AGENTTWIN_AGENT_ENDPOINTS, {name}: {problem}", id="evaluations.E002"))
    return found
