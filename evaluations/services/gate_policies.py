"""Gate policies: storing a version, putting one in force, finding the one that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import transaction

from agenttwin_site.events import governance
from evaluations.errors import NotAllowedError, RequestError
from evaluations.models import GatePolicy, GatePolicyVersion
from scenarios.documents.gate_policy import GatePolicy as PolicyDocument
from scenarios.documents.gate_policy import load_gate_policy, validate_gate_policy
from twins.documents.problems import DocumentError
from twins.engine.values import digest
from twins.errors import StaleEditError
from twins.services import name_problems
from twins.versioning import lock_parent, reference, source_of

DEFAULT = "default"
ACTIVATE = "evaluations.activate_gatepolicy"
_SHIPPED = Path(__file__).resolve().parent.parent / "gate" / "default_policy.yaml"


@transaction.atomic
def save_gate_policy(
    *,
    text: str | None = None,
    document: Any = None,
    kind: str = "yaml",
    name: str | None = None,
    based_on: int | None = None,
    actor: Any = None,
) -> tuple[GatePolicyVersion, bool]:
    """Store a policy document; answers the version that holds it and whether that version is new.

    The first version of a policy is in force at once, a later one when somebody activates it: who edits a
    policy does not loosen the gate by it. Content that equals the latest version makes none. The arguments
    are those of `twins.services.save_twin`; raises the same errors.
    """
    source, source_text = source_of(text, document, kind)
    problems = [*validate_gate_policy(source), *name_problems(source, name)]
    if problems:
        raise DocumentError(problems)
    content_digest = digest(source.value)
    policy = lock_parent(GatePolicy, source.value["metadata"]["name"])
    latest = policy.versions.first()
    if latest is not None and latest.digest == content_digest:
        return latest, False
    number = 0 if latest is None else latest.number
    if based_on is not None and based_on != number:
        raise StaleEditError(policy.name, based_on or None, number)
    version = GatePolicyVersion.objects.create(
        policy=policy,
        number=number + 1,
        digest=content_digest,
        document=source.value,
        source_text=source_text,
        created_by=actor,
    )
    _announce("gate_policy_version_created", policy, actor, latest and reference(latest), reference(version))
    if policy.current_version_id is None:
        _put_in_force(policy, version, actor, note="")
    return version, True


@transaction.atomic
def activate_gate_policy(
    *, version: GatePolicyVersion, actor: Any, note: str = "", by_operator: bool = False
) -> GatePolicyVersion:
    """Put a version in force. Decisions that were made by another one stay as they are.

    `by_operator`: from a command line of the server, where there is no account to ask.

    Raises:
        NotAllowedError: the account may not.
    """
    if not by_operator and (actor is None or not actor.has_perm(ACTIVATE)):
        raise NotAllowedError("You need a role that may put gate policies in force.")
    policy = GatePolicy.objects.select_for_update().get(pk=version.policy_id)
    if policy.current_version_id != version.pk:
        _put_in_force(policy, version, actor, note=note)
    return version


def policy_in_force(name: str) -> GatePolicyVersion:
    """The version that decides under this name. The shipped default comes into being when first asked for.

    Raises:
        RequestError: there is no such policy; says which there are.
    """
    found = _in_force(name)
    if found is None and name == DEFAULT:
        save_gate_policy(text=_SHIPPED.read_text(encoding="utf-8"))
        found = _in_force(name)
    if found is None:
        known = sorted({DEFAULT, *GatePolicy.objects.values_list("name", flat=True)})
        raise RequestError([f"unknown policy {name!r} (policies: {', '.join(known[:20])})"])
    return found


def policy_of(version: GatePolicyVersion) -> PolicyDocument:
    """The typed policy of a stored version."""
    return load_gate_policy(version.document)


def _in_force(name: str) -> GatePolicyVersion | None:
    policies = GatePolicy.objects.filter(name=name.replace("\x00", ""))
    policy = policies.select_related("current_version").first()
    if policy is None or policy.current_version is None:
        return None
    policy.current_version.policy = policy
    return policy.current_version


def _put_in_force(policy: GatePolicy, version: GatePolicyVersion, actor: Any, *, note: str) -> None:
    before = policy.current_version
    policy.current_version = version
    policy.save(update_fields=["current_version"])
    _announce(
        "gate_policy_activated", policy, actor, before and reference(before), reference(version), note=note
    )


def _announce(
    action: str, policy: GatePolicy, actor: Any, before: Any, after: Any, *, note: str = ""
) -> None:
    governance.send(
        sender=GatePolicy,
        action=action,
        actor=actor,
        subject=f"gate policy {policy.name}",
        subject_id=policy.name,
        before=before,
        after=after,
        note=note,
    )
