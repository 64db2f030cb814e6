"""How a named document gets its next version: one rule for twins and scenarios.

The parent row is locked, so two saves at the same time get two numbers, one after the other. Content that
equals the current version makes none; content that equals an older one makes a new version, because going
back is a decision too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import models, transaction

from agenttwin_site.events import governance
from twins.documents.source import Source, as_source, read_source
from twins.engine.values import digest
from twins.errors import StaleEditError


@dataclass(frozen=True, slots=True)
class NewContent:
    """A document that passed its checks, on its way to become a version."""

    name: str
    document: Any
    source_text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON: neither layout nor the order of keys makes another content."""
        return digest(self.document)


# What an editor that saw no version at all hands over as `based_on`.
NOTHING = 0


def source_of(text: str | None, document: Any, kind: str) -> tuple[Source, str]:
    """The source to validate, and its text as typed. A value without text is kept as indented JSON."""
    if text is not None:
        return read_source(text, kind=kind), text
    return as_source(document), json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def lock_parent(model: type[models.Model], name: str) -> Any:
    """The row of this name, made if there is none, locked until the transaction ends.

    Its current version is read afterwards, by a query of its own: PostgreSQL answers a join that had to wait
    for the lock with the other table's rows from before the wait.
    """
    manager = model._default_manager
    parent, _ = manager.get_or_create(name=name)
    return manager.select_for_update().get(pk=parent.pk)


@transaction.atomic
def add_version(
    versions: type[models.Model],
    *,
    of: tuple[str, type[models.Model]],
    content: NewContent,
    based_on: int | None,
    actor: Any,
    **columns: Any,
) -> tuple[Any, bool]:
    """The version that holds this content, and whether it was made just now.

    ``of`` is the field of a version that names its document, and the model of that.

    ``based_on`` is the number of the version an editor started from (NOTHING: there was none yet); another
    one being current by now raises StaleEditError. None: whatever is there is superseded.
    """
    parent_field, parent_model = of
    parent = lock_parent(parent_model, content.name)
    current = parent.current_version
    if current is not None and current.digest == content.digest:
        return current, False
    number = 0 if current is None else current.number
    if based_on is not None and based_on != number:
        raise StaleEditError(content.name, based_on or None, number)
    version = versions._default_manager.create(
        **{parent_field: parent},
        number=number + 1,
        digest=content.digest,
        document=content.document,
        source_text=content.source_text,
        created_by=actor,
        **columns,
    )
    parent.current_version = version
    parent.save(update_fields=["current_version"])
    announce(parent, actor, before=current and reference(current), after=reference(version))
    return version, True


def reference(version: Any) -> dict[str, Any]:
    """A version in a record of what was done: never its content, which holds planted secrets."""
    return {"version": getattr(version, "number", None) or version.version, "digest": version.digest}


def announce(parent: Any, actor: Any, *, before: Any, after: Any) -> None:
    """Tell whoever keeps the record that a version was made, inside the transaction that makes it."""
    kind = parent._meta.model_name
    governance.send(
        sender=type(parent),
        action=f"{kind}_version_created",
        actor=actor,
        subject=f"{kind} {parent.name}",
        before=before,
        after=after,
        note="",
    )
