"""Accounts and groups: what changed of who may do what, recorded whichever path changed it.

Accounts change in Django's own admin, forms and commands, which call no service of ours. So this part is
driven by signals of the rows (`reviews.receivers`). Passwords are never part of a record, only that they
changed. A login is no change and is not recorded.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission, User
from django.db import router, transaction
from django.db.models import ProtectedError
from django.db.models.deletion import Collector

from reviews import audit
from reviews.acting import acting, current_actor, current_via
from reviews.errors import ReviewError
from reviews.roles import require
from reviews.services.queueing import take_back

_FLAGS = ("is_active", "is_staff", "is_superuser")
_FIELDS = ("username", "email", "first_name", "last_name", *_FLAGS)
_WATCHED = {*_FIELDS, "password"}

RELATIONS: tuple[Any, ...] = (User.groups.through, User.user_permissions.through, Group.permissions.through)
_SAYS = {
    "groups": "user_groups_changed",
    "user_permissions": "user_permissions_changed",
    "permissions": "group_permissions_changed",
}


class HasHistoryError(ReviewError):
    """The account decided or did something; its records name it, so it stays."""

    code = "has_history"


def has_history(account: Any) -> bool:
    """Whether rows that must stay name this account."""
    collector = Collector(using=router.db_for_write(type(account), instance=account), origin=account)
    try:
        collector.collect([account])
    except ProtectedError:
        return True
    return False


def history_message(account: Any) -> str:
    return (
        f"The account {account.get_username()} has decisions or other actions on record, so it cannot be "
        "deleted. Deactivate it instead: it can no longer log in, and its records keep its name."
    )


def refuse_if_history(account: Any) -> None:
    if has_history(account):
        raise HasHistoryError(history_message(account))


def set_active(*, account_id: int, is_active: bool, actor: Any) -> Any:
    """Deactivate an account or let it log in again. Its sessions end at the next request."""
    require(actor, "auth.change_user", "manage accounts")
    with transaction.atomic():
        account = get_user_model()._default_manager.select_for_update().get(pk=account_id)
        if account.pk == actor.pk:
            raise ReviewError("Nobody deactivates the account they are logged in with.")
        if not may_manage(actor, account):
            raise ReviewError(f"You may not change {account.get_username()}, who has rights you do not have.")
        account.is_active = is_active
        with acting(actor, current_via()):
            account.save(update_fields=["is_active"])
    return account


def may_manage(actor: Any, account: Any) -> bool:
    """Whether the actor may change this account: nobody changes an account that may do more than they may."""
    if actor.is_superuser:
        return True
    return not account.is_superuser and permissions_of(account) <= permissions_of(actor)


def permissions_of(account: Any) -> set[str]:
    """All permissions by groups and by name, of a deactivated account too: it may be activated again."""
    granted = Permission.objects.filter(user=account) | Permission.objects.filter(group__user=account)
    return {
        f"{app}.{codename}" for app, codename in granted.values_list("content_type__app_label", "codename")
    }


def grantable_groups(actor: Any) -> Any:
    """The groups this person may put others into: those that may nothing the person may not."""
    groups = Group.objects.prefetch_related("permissions__content_type").order_by("name")
    if actor.is_superuser:
        return groups
    own = permissions_of(actor)
    allowed = [
        group.pk
        for group in groups
        if {f"{one.content_type.app_label}.{one.codename}" for one in group.permissions.all()} <= own
    ]
    return Group.objects.filter(pk__in=allowed).order_by("name")


# ------------------------------------------------------------------------------------ what the signals call


def before_user_save(*, instance: Any, raw: bool = False, update_fields: Any = None, **_: Any) -> None:
    """Keep what the row held, for the record made after the save."""
    instance._stored_account = None
    if raw or not instance.pk or (update_fields is not None and _WATCHED.isdisjoint(update_fields)):
        return
    instance._stored_account = (
        type(instance)._default_manager.filter(pk=instance.pk).values(*_FIELDS, "password").first()
    )


def after_user_save(
    *, instance: Any, created: bool, raw: bool = False, update_fields: Any = None, **_: Any
) -> None:
    if raw:
        return
    if created:
        _record("user_created", "user", instance, after=_account(instance))
        return
    stored = instance._stored_account
    if stored is None:
        return
    password_before = stored.pop("password")
    saved = _FIELDS if update_fields is None else [name for name in _FIELDS if name in update_fields]
    changed = [name for name in saved if stored[name] != getattr(instance, name)]
    if changed:
        action = "user_changed"
        if "is_active" in changed:
            action = "user_activated" if instance.is_active else "user_deactivated"
        before = {name: stored[name] for name in changed}
        if "is_active" in changed:
            # First the entries, then the record: nobody waits for an entry while holding the log.
            take_back([instance.pk], actor=current_actor(), via=current_via())
        elif "is_superuser" in changed:
            _take_back_later([instance.pk])
        _record(
            action, "user", instance, before=before, after={name: getattr(instance, name) for name in changed}
        )
    if password_before != instance.password and not _is_rehash(instance, update_fields):
        _record("user_password_changed", "user", instance)


def before_user_delete(*, instance: Any, **_: Any) -> None:
    instance._deleted_account = {**_account(instance), "id": instance.pk}


def after_user_delete(*, instance: Any, **_: Any) -> None:
    _record("user_deleted", "user", instance, before=getattr(instance, "_deleted_account", None))


def before_group_save(*, instance: Any, raw: bool = False, **_: Any) -> None:
    stored = None if raw or not instance.pk else Group.objects.filter(pk=instance.pk).values("name").first()
    instance._stored_group = stored


def after_group_save(*, instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
    if raw:
        return
    if created:
        _record("group_created", "group", instance, after={"name": instance.name})
    elif instance._stored_group and instance._stored_group["name"] != instance.name:
        _record(
            "group_changed", "group", instance, before=instance._stored_group, after={"name": instance.name}
        )


def before_group_delete(*, instance: Any, **_: Any) -> None:
    instance._members_before = _accounts_of(instance)


def after_group_delete(*, instance: Any, **_: Any) -> None:
    _take_back_later(getattr(instance, "_members_before", []))
    _record("group_deleted", "group", instance, before={"name": instance.name})


def on_relation_change(
    *, instance: Any, action: str, reverse: bool, model: Any, pk_set: Any, sender: Any, **_: Any
) -> None:
    """Membership of groups and grants of permissions, from whichever end they are changed."""
    stage, change = action.split("_", 1)
    field = _field_of(sender)
    owners = _owners(instance, reverse, model, pk_set, field, change)
    if stage == "pre":
        # What a removal or a clearing takes is gone when the change has happened.
        instance._names_before = {owner.pk: _names(owner, field) for owner in owners}
        instance._owners_before = owners
        return
    before = getattr(instance, "_names_before", {})
    for owner in getattr(instance, "_owners_before", owners):
        names = _names(owner, field)
        if names != before.get(owner.pk):
            _take_back_later(_accounts_of(owner))
            _record(
                _SAYS[field],
                owner._meta.model_name,
                owner,
                before={field: before.get(owner.pk)},
                after={field: names},
            )


def _accounts_of(owner: Any) -> list[int]:
    """Whose rights a row decides about: the account itself, or the members of the group."""
    return list(owner.user_set.values_list("pk", flat=True)) if isinstance(owner, Group) else [owner.pk]


def _take_back_later(account_ids: list[int]) -> None:
    """When the transaction ends: a change of roles takes the old ones away before it gives the new ones."""
    actor, via = current_actor(), current_via()
    transaction.on_commit(lambda: take_back(account_ids, actor=actor, via=via))


def _field_of(through: Any) -> str:
    return {RELATIONS[0]: "groups", RELATIONS[1]: "user_permissions", RELATIONS[2]: "permissions"}[through]


def _owners(instance: Any, reverse: bool, model: Any, pk_set: Any, field: str, change: str) -> list[Any]:
    """The rows whose `field` changes: the instance itself, or from the other end all that are named."""
    if not reverse:
        return [instance]
    if change == "clear":
        return list(model._default_manager.filter(**{field: instance}))
    return list(model._default_manager.filter(pk__in=pk_set or ()))


def _names(owner: Any, field: str) -> list[str]:
    related = getattr(owner, field).all()
    if field == "groups":
        return sorted(related.values_list("name", flat=True))
    return sorted(
        f"{app}.{codename}" for app, codename in related.values_list("content_type__app_label", "codename")
    )


def _is_rehash(instance: Any, update_fields: Any) -> bool:
    """At a login Django may store the same password under a newer algorithm: nothing a person changed."""
    return set(update_fields or ()) == {"password"} and instance._password is None


def _account(instance: Any) -> dict[str, Any]:
    return {name: getattr(instance, name) for name in _FIELDS}


def _record(action: str, kind: str, subject: Any, *, before: Any = None, after: Any = None) -> None:
    actor = current_actor()
    # An account that deletes itself cannot be kept as the actor; its name can.
    gone = action == "user_deleted" and actor is not None and actor.pk in (None, subject.pk)
    audit.record(
        action=action,
        subject_type=kind,
        subject_id=(before or {}).get("id", "") if action == "user_deleted" else subject.pk,
        subject_label=str(subject),
        actor=None if gone else actor,
        before=before,
        after=after,
    )
