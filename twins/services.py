"""What is done with twins: saving a version, and getting the compiled definition of one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.db import transaction

from twins.documents.problems import DocumentError, Problem, without_secrets
from twins.documents.source import Finding
from twins.documents.twin import planted_secrets as secrets_in
from twins.documents.twin import validate_twin
from twins.engine.definition import Definition, compile_definition, key_arguments
from twins.errors import UnusableTwinError
from twins.models import Twin, TwinVersion
from twins.querysets import lookup_text
from twins.versioning import NewContent, add_version, source_of


@transaction.atomic
def save_twin(
    *,
    text: str | None = None,
    document: Any = None,
    kind: str = "yaml",
    name: str | None = None,
    based_on: int | None = None,
    actor: Any = None,
) -> tuple[TwinVersion, bool]:
    """Store a twin document; answers the version that holds it and whether that version is new.

    Give ``text`` ("yaml" or "json", kept as typed) or a parsed ``document``. ``name``: the twin this must be
    (an edit never renames). ``based_on``: see `twins.versioning.add_version`. Raises DocumentError with every
    problem (none repeats a secret it plants), StaleEditError; either way nothing is stored.
    """
    source, source_text = source_of(text, document, kind)
    problems = [*validate_twin(source), *name_problems(source, name)]
    if problems:
        raise DocumentError(without_secrets(problems, _secrets_around(source.value, name)))
    content = NewContent(source.value["metadata"]["name"], source.value, source_text)
    return add_version(TwinVersion, of=("twin", Twin), content=content, based_on=based_on, actor=actor)


def _secrets_around(document: Any, name: str | None) -> list[str]:
    """What the problems of a refused twin must not repeat: its secrets, and those of the stored one."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    named = name or (metadata.get("name") if isinstance(metadata, dict) else None)
    known = lookup_text(named) if isinstance(named, str) else ""
    stored = TwinVersion.objects.current_of(known)
    return [*secrets_in(document), *(planted_secrets(stored.document) if stored else ())]


def name_problems(source: Any, name: str | None) -> list[Problem]:
    """Whether the document is the one its editor opened: another name would be another twin or scenario."""
    metadata = source.value.get("metadata") if isinstance(source.value, dict) else None
    found = metadata.get("name") if isinstance(metadata, dict) else None
    if name is None or found is None or found == name:
        return []
    detail = f"must stay {name}, got {found}: a new name is a new document, add it as one"
    return [source.problem(Finding(("metadata", "name"), detail))]


def twin_definition(version: TwinVersion) -> Definition:
    """The compiled definition of a stored version; compiled once per content and process.

    UnusableTwinError: it was valid when it was stored, but this process lacks something it needs.
    """
    try:
        return compile_definition(version.document, digest=version.digest)
    except ValueError as problem:
        raise UnusableTwinError(str(problem)) from problem


@lru_cache(maxsize=256)
def key_arguments_of(version_id: int, _digest: str) -> Mapping[str, str]:
    """By tool the argument that is its idempotency key, of a version of which no document is at hand: one
    query, once per process. The digest is part of the memory's key: it is what never changes.
    """
    document: Any = TwinVersion.objects.values_list("document", flat=True).get(pk=version_id)
    return key_arguments(document["spec"]["tools"])


def current_definition(name: str) -> Definition | None:
    """The definition a new comparison would use, None for a twin that does not exist. UnusableTwinError."""
    version = TwinVersion.objects.current_of(name)
    return None if version is None else twin_definition(version)


def planted_secrets(document: Any) -> tuple[str, ...]:
    """The secrets a stored twin document plants."""
    return tuple(document["spec"].get("secrets") or ())


def current_secrets(name: str) -> tuple[str, ...]:
    """The secrets that the current version of a twin plants, also of one that cannot be used here."""
    version = TwinVersion.objects.current_of(name)
    return () if version is None else planted_secrets(version.document)


def twin_names() -> list[str]:
    return list(Twin.objects.values_list("name", flat=True))
