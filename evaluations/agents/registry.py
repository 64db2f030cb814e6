"""Every way to reach an agent, in the order in which they are tried. A new adapter is one more line here."""

from __future__ import annotations

from collections.abc import Callable

from evaluations.agents.base import Installation, NoAdapterError
from evaluations.agents.http import HttpAgent
from evaluations.agents.in_process import InProcessAgent
from scenarios.documents.agent import AgentManifest

Adapter = InProcessAgent | HttpAgent

# What the operator says comes first, and an address before a class: it was written down for this occasion.
ADAPTERS: tuple[Callable[[AgentManifest, Installation], Adapter | None], ...] = (
    HttpAgent.of_operator,
    InProcessAgent.fitting,
    HttpAgent.of_manifest,
)


def adapter_for(manifest: AgentManifest, installation: Installation) -> Adapter:
    """The adapter of an agent.

    Raises:
        NoAdapterError: no adapter fits; says which agents this installation can run.
    """
    for fitting in ADAPTERS:
        if (adapter := fitting(manifest, installation)) is not None:
            return adapter
    known = ", ".join(sorted({*installation.in_process, *installation.endpoints})) or "none"
    raise NoAdapterError(
        f"agent {manifest.name!r} cannot be run here: it has no class in AGENTTWIN_IN_PROCESS_AGENTS, no "
        f"address in AGENTTWIN_AGENT_ENDPOINTS (registered: {known}) and no runtime.endpoint in its manifest"
    )
