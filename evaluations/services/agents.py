"""Registering versions of agents."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F

from evaluations.agents.base import Installation
from evaluations.models import Agent, AgentVersion
from scenarios.documents.agent import AgentManifest, load_agent, validate_agent
from scenarios.models import ScenarioVersion
from twins.documents.problems import DocumentError, without_secrets
from twins.documents.source import Finding
from twins.engine.values import digest
from twins.errors import StaleEditError
from twins.models import Twin
from twins.querysets import lookup_text
from twins.services import name_problems, planted_secrets
from twins.versioning import announce, lock_parent, reference, source_of

_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?", re.ASCII)


@transaction.atomic
def save_agent(
    *,
    text: str | None = None,
    document: Any = None,
    kind: str = "yaml",
    name: str | None = None,
    based_on: str | None = None,
    actor: Any = None,
) -> tuple[AgentVersion, bool]:
    """Register a manifest; answers the version that holds it and whether that version is new.

    The version is the manifest's own: the same content under it again is no error and makes nothing, other
    content is refused with a DocumentError. ``based_on``: the version that was current when an editor started
    ("": there was none yet); a newer one raises StaleEditError. The other arguments are those of
    `twins.services.save_twin`.
    """
    source, source_text = source_of(text, document, kind)
    problems = [*validate_agent(source), *name_problems(source, name)]
    if problems:
        raise DocumentError(without_secrets(problems, _secrets_around(source.value)))
    manifest = load_agent(source)
    content_digest = digest(source.value)
    agent = lock_parent(Agent, manifest.name)
    current = agent.current_version
    stored = agent.versions.filter(version=manifest.version).first()
    if stored is not None:
        if stored.digest == content_digest:
            return stored, False
        raise DocumentError([source.problem(Finding(("metadata", "version"), _taken(manifest)))])
    current_name = "" if current is None else current.version
    if based_on is not None and based_on != current_name:
        raise StaleEditError(manifest.name, based_on or None, current_name)

    version = AgentVersion.objects.create(
        agent=agent,
        version=manifest.version,
        digest=content_digest,
        instructions_digest=manifest.instructions_digest or "",
        document=source.value,
        source_text=source_text,
        model_provider=manifest.model.provider,
        model_name=manifest.model.name,
        created_by=actor,
    )
    if current is None or precedence(version.version) > precedence(current.version):
        agent.current_version = version
        agent.save(update_fields=["current_version"])
    announce(agent, actor, before=current and reference(current), after=reference(version))
    return version, True


def secrets_around(agent: str) -> list[str]:
    """What the twins plant on which this agent's scenarios run; its manifest may repeat one: two queries."""
    current = ScenarioVersion.objects.filter(scenario__current_version=F("pk"), agent_name__in=["", agent])
    names = set(current.values_list("twin_name", flat=True))
    twins = Twin.objects.filter(name__in=names, current_version__isnull=False).select_related(
        "current_version"
    )
    planted = (planted_secrets(twin.current_version.document) for twin in twins if twin.current_version)
    return list(dict.fromkeys(secret for secrets in planted for secret in secrets))


def _secrets_around(document: Any) -> list[str]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return secrets_around(lookup_text(name) if isinstance(name, str) else "")


def manifest_of(version: AgentVersion) -> AgentManifest:
    """The typed manifest of a registered version."""
    return load_agent(version.document)


def installation() -> Installation:
    """What the settings of this process say about where agents are."""
    return Installation(
        in_process=settings.AGENTTWIN_IN_PROCESS_AGENTS, endpoints=settings.AGENTTWIN_AGENT_ENDPOINTS
    )


def precedence(version: str) -> tuple[Any, ...]:
    """A key that sorts semantic versions: a pre-release comes before its release, the build is ignored."""
    found = _SEMVER.fullmatch(version)
    if found is None:
        return (-1,)
    *numbers, pre_release = found.groups()
    parts = (pre_release or "").split(".") if pre_release else []
    # Numeric identifiers sort as numbers and before all others; no pre-release sorts after any.
    identifiers = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return (*(int(number) for number in numbers), pre_release is None, identifiers)


def _taken(manifest: AgentManifest) -> str:
    return (
        f"{manifest.version} of {manifest.name} is registered with other content: "
        "a registered version never changes, give the new content a version of its own"
    )
