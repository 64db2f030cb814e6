"""Announcements of other rooms and of Django's accounts, turned into records and queue entries."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_login_failed
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save

from agenttwin_site.events import comparison_concluded, governance, trials_replaced
from reviews import audit
from reviews.services import people
from reviews.services.filling import fill_queue
from reviews.services.queueing import close_replaced

logger = logging.getLogger(__name__)


def connect() -> None:
    """Called once when Django has loaded all apps."""
    governance.connect(record_governance, dispatch_uid="reviews.governance")
    comparison_concluded.connect(on_comparison_concluded, dispatch_uid="reviews.concluded")
    trials_replaced.connect(on_trials_replaced, dispatch_uid="reviews.replaced")
    user_login_failed.connect(on_login_failed, dispatch_uid="reviews.login_failed")
    user, group = get_user_model(), Group
    pre_save.connect(people.before_user_save, sender=user, dispatch_uid="reviews.user_pre_save")
    post_save.connect(people.after_user_save, sender=user, dispatch_uid="reviews.user_post_save")
    pre_delete.connect(people.before_user_delete, sender=user, dispatch_uid="reviews.user_pre_delete")
    post_delete.connect(people.after_user_delete, sender=user, dispatch_uid="reviews.user_post_delete")
    pre_save.connect(people.before_group_save, sender=group, dispatch_uid="reviews.group_pre_save")
    post_save.connect(people.after_group_save, sender=group, dispatch_uid="reviews.group_post_save")
    pre_delete.connect(people.before_group_delete, sender=group, dispatch_uid="reviews.group_pre_delete")
    post_delete.connect(people.after_group_delete, sender=group, dispatch_uid="reviews.group_post_delete")
    for relation in people.RELATIONS:
        m2m_changed.connect(
            people.on_relation_change, sender=relation, dispatch_uid=f"reviews.{relation.__name__}"
        )


def record_governance(*, sender: Any, action: str, actor: Any, subject: str, **details: Any) -> None:
    """Keep what another room's service announces, in that service's transaction.

    `subject` is "kind name"; the kind is the sender's where the sender is a model.
    """
    kind, _, name = subject.partition(" ")
    model = getattr(sender, "_meta", None)
    audit.record(
        action=action,
        subject_type=model.model_name if model is not None else kind,
        subject_id=details.get("subject_id") or name or subject,
        subject_label=subject,
        actor=actor,
        before=details.get("before"),
        after=details.get("after"),
        note=details.get("note") or "",
        via=details.get("via"),
    )


def on_comparison_concluded(*, comparison: Any, **_: Any) -> None:
    """What needs a person goes into the queue in the transaction that ends the comparison."""
    fill_queue(comparison)


def on_trials_replaced(*, pairs: Any, actor: Any, via: str | None, **_: Any) -> None:
    """What no longer counts needs nobody any more. An entry is closed by a person, so not by a command."""
    if actor is not None:
        close_replaced([pair.pk for pair in pairs], actor=actor, via=via)


def on_login_failed(*, credentials: dict[str, Any], **_: Any) -> None:
    """A failed login goes to the server's log, not into the audit log.

    It changes nothing, and a stranger who could append to the chain at will could also bury it.
    """
    logger.warning("failed login for %r", str(credentials.get("username", ""))[:150])
