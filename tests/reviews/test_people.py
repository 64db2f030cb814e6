"""Accounts and roles: what is recorded of their changes, and who may change whom."""

import logging

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, Permission, User

from reviews import audit, services
from reviews.acting import acting
from reviews.errors import NotAllowedError, ReviewError
from reviews.models import AuditEntry, QueueEntry
from reviews.roles import ADMIN, REVIEWER, ROLES
from reviews.services import people
from tests.models import factories
from tests.reviews.conftest import person

pytestmark = pytest.mark.django_db


def recorded(since: int = 0) -> list[tuple]:
    entries = AuditEntry.objects.filter(sequence__gt=since).order_by("sequence")
    return [(entry.action, entry.subject_label, entry.before, entry.after) for entry in entries]


def now() -> int:
    return AuditEntry.objects.count()


# ------------------------------------------------------------------------------------------------ the roles


def test_the_migration_made_exactly_the_roles_of_the_table():
    found = {
        group.name: {f"{one.content_type.app_label}.{one.codename}" for one in group.permissions.all()}
        for group in Group.objects.prefetch_related("permissions__content_type")
    }
    assert found == {role: set(names) for role, names in ROLES.items()}


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        (
            "viewer",
            ["reviews.view_auditentry", "twins.view_twin"],
            ["reviews.add_review", "twins.change_twin"],
        ),
        (
            "reviewer",
            ["reviews.add_review", "reviews.add_queueentry"],
            ["twins.change_twin", "evaluations.add_comparison"],
        ),
        (
            "editor",
            ["twins.change_twin", "evaluations.add_comparison"],
            ["reviews.add_review", "auth.change_user"],
        ),
        ("admin", ["reviews.add_review", "twins.change_twin", "auth.change_user"], ["auth.change_group"]),
    ],
)
def test_a_role_may_what_it_says_and_no_more(role, may, may_not):
    account = person("somebody", role)
    assert account.has_perms(may)
    assert not any(account.has_perm(name) for name in may_not)


def test_making_the_roles_again_changes_nothing():
    from importlib import import_module
    from types import SimpleNamespace

    from django.apps import apps
    from django.db import connection

    before = set(Group.permissions.through.objects.values_list("group_id", "permission_id"))
    import_module("reviews.migrations.0003_roles").forwards(apps, SimpleNamespace(connection=connection))
    assert set(Group.permissions.through.objects.values_list("group_id", "permission_id")) == before


# --------------------------------------------------------------------------------------- what is recorded


def test_a_new_account_is_recorded_without_its_password():
    User.objects.create_user("ann", "ann@example.org", "correct horse battery")
    ((action, label, before, after),) = recorded()
    assert (action, label, before) == ("user_created", "ann", None)
    assert (after["email"], after["is_superuser"]) == ("ann@example.org", False)
    assert "horse" not in str(recorded())
    assert "pbkdf2" not in str(recorded())


@pytest.mark.parametrize(
    ("field", "value", "action"),
    [
        ("is_superuser", True, "user_changed"),
        ("is_staff", True, "user_changed"),
        ("is_active", False, "user_deactivated"),
        ("email", "new@example.org", "user_changed"),
        ("username", "anna", "user_changed"),
    ],
)
def test_a_change_is_recorded_with_before_and_after(ann, field, value, action):
    since, before = now(), getattr(ann, field)
    setattr(ann, field, value)
    ann.save()
    assert recorded(since) == [(action, str(ann), {field: before}, {field: value})]


def test_a_save_that_changes_nothing_of_interest_records_nothing(ann):
    since = now()
    ann.save()
    ann.save(update_fields=["last_login"])
    ann.email = "not@saved.example"
    ann.save(update_fields=["first_name"])
    assert recorded(since) == []


def test_a_changed_password_is_recorded_and_a_better_hash_of_the_same_is_not(ann, settings):
    since = now()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    ann.set_password("correct horse battery")
    ann.save()
    assert [action for action, *_ in recorded(since)] == ["user_password_changed"]
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]
    assert authenticate(username="ann", password="correct horse battery") == ann
    assert User.objects.get(pk=ann.pk).password.startswith("pbkdf2")
    assert len(recorded(since)) == 1


def test_groups_are_recorded_from_whichever_end_they_change(ann, bob):
    since = now()
    editor, admin = Group.objects.get(name="editor"), Group.objects.get(name="admin")
    ann.groups.set([editor])
    editor.user_set.add(bob)
    admin.user_set.add(ann)
    bob.groups.clear()
    editor.user_set.clear()
    admin.user_set.remove(ann)
    ann.groups.add()
    assert [(action, label, after["groups"]) for action, label, _, after in recorded(since)] == [
        ("user_groups_changed", "ann", []),
        ("user_groups_changed", "ann", ["editor"]),
        ("user_groups_changed", "bob", ["editor", "reviewer"]),
        ("user_groups_changed", "ann", ["admin", "editor"]),
        ("user_groups_changed", "bob", []),
        ("user_groups_changed", "ann", ["admin"]),
        ("user_groups_changed", "ann", []),
    ]
    assert recorded(since)[2][2] == {"groups": ["reviewer"]}


def test_permissions_of_accounts_and_groups_are_recorded(ann):
    since = now()
    permission = Permission.objects.get(codename="add_review")
    ann.user_permissions.add(permission)
    group = Group.objects.create(name="auditors")
    group.permissions.add(permission)
    group.name = "inspectors"
    group.save()
    group.delete()
    assert [(action, label) for action, label, *_ in recorded(since)] == [
        ("user_permissions_changed", "ann"),
        ("group_created", "auditors"),
        ("group_permissions_changed", "auditors"),
        ("group_changed", "inspectors"),
        ("group_deleted", "inspectors"),
    ]
    assert recorded(since)[0][3] == {"user_permissions": ["reviews.add_review"]}


def test_the_actor_is_whoever_the_request_belongs_to(ann, bob):
    since = now()
    with acting(bob, "session"):
        ann.is_active = False
        ann.save()
    ann.is_active = True
    ann.save()
    first, second = AuditEntry.objects.filter(sequence__gt=since).order_by("sequence")
    assert (first.actor, first.via, second.actor, second.via) == (bob, "session", None, "command")


def test_a_deleted_account_without_a_history_is_recorded_with_what_it_was(ann, bob):
    since, pk = now(), ann.pk
    with acting(bob, "session"):
        ann.delete()
    entry = AuditEntry.objects.filter(sequence__gt=since, action="user_deleted").get()
    assert (entry.actor, entry.subject_id, entry.before["username"]) == (bob, str(pk), "ann")
    assert audit.verify().is_intact


def test_a_failed_login_is_logged_and_appends_nothing(ann, caplog):
    since = now()
    with caplog.at_level(logging.WARNING):
        assert authenticate(username="ann", password="guess-me") is None
    assert recorded(since) == []
    assert "'ann'" in caplog.text
    assert "guess-me" not in caplog.text


def test_a_login_is_no_governance_action(ann, client):
    since = now()
    client.force_login(ann)
    assert recorded(since) == []


# ------------------------------------------------------------------------------------ who may change whom


def test_nobody_manages_an_account_that_may_do_more(ann):
    admin, editor = person("root", "admin"), person("ed", "editor")
    boss = User.objects.create_superuser("boss")
    extra = person("extra", "viewer")
    extra.user_permissions.add(Permission.objects.get(codename="delete_group"))
    assert people.may_manage(admin, ann)
    assert people.may_manage(admin, editor)
    assert not people.may_manage(admin, boss)
    assert not people.may_manage(admin, extra)
    assert people.may_manage(boss, admin)


def test_a_deactivated_superuser_is_still_not_managed_by_an_admin():
    boss = User.objects.create_superuser("boss", is_active=False)
    assert not people.may_manage(person("root", "admin"), boss)


def test_groups_that_hold_more_than_ones_own_are_not_handed_out():
    powerful = Group.objects.create(name="owners")
    powerful.permissions.add(Permission.objects.get(codename="change_group"))
    admin = person("root", "admin")
    assert [group.name for group in people.grantable_groups(admin)] == [
        "admin",
        "editor",
        "reviewer",
        "viewer",
    ]
    assert powerful in people.grantable_groups(User.objects.create_superuser("boss"))


def test_deactivating_is_recorded_and_refused_for_oneself_and_for_the_unauthorized(ann, bob):
    admin = person("root", "admin")
    since = now()
    with pytest.raises(NotAllowedError):
        people.set_active(account_id=ann.pk, is_active=False, actor=bob)
    with pytest.raises(ReviewError):
        people.set_active(account_id=admin.pk, is_active=False, actor=admin)
    assert recorded(since) == []
    people.set_active(account_id=ann.pk, is_active=False, actor=admin)
    entry = AuditEntry.objects.get(action="user_deactivated")
    assert (entry.actor, entry.subject_label) == (admin, "ann")


# ------------------------------------------------------------------------------ what they held in the queue


@pytest.fixture
def given_to_ann() -> tuple[User, QueueEntry, QueueEntry]:
    """Ann, an entry that is assigned to her, and another that she holds."""
    ann, boss = person("ann", REVIEWER), person("boss", ADMIN)
    assigned, held = (
        services.flag_case(
            pair_id=factories.pair(factories.comparison(state="COMPLETED")).pk,
            note="Look at this one.",
            actor=boss,
        )[0]
        for _ in range(2)
    )
    services.assign(entry_id=assigned.pk, assignee_id=ann.pk, actor=boss)
    services.reserve(entry_id=held.pk, actor=ann)
    return ann, assigned, held


def nothing_of_hers(assigned: QueueEntry, held: QueueEntry) -> bool:
    assigned.refresh_from_db()
    held.refresh_from_db()
    return assigned.assigned_to is None and held.reserved_by is None and held.reserved_until is None


def test_what_a_deactivated_account_held_or_was_given_is_free_for_others(given_to_ann):
    ann, assigned, held = given_to_ann
    boss, since = User.objects.get(username="boss"), now()

    people.set_active(account_id=ann.pk, is_active=False, actor=boss)

    assert nothing_of_hers(assigned, held)
    bob = person("bob", REVIEWER)
    first = services.reserve_next(actor=bob)
    assert {first.pk, services.reserve_next(actor=bob, skip_entry_id=first.pk).pk} == {assigned.pk, held.pk}
    told = {entry.action: entry for entry in AuditEntry.objects.filter(sequence__gt=since)}
    assert told["entry_assigned"].before == {"assigned_to": "ann"}
    assert told["entry_assigned"].after["assigned_to"] is None
    assert told["entry_released"].before == {"reserved_by": "ann"}
    assert {told[name].actor_name for name in ("entry_assigned", "entry_released")} == {"boss"}


@pytest.mark.parametrize("way", ["member leaves", "role is emptied", "role is deleted", "another permission"])
def test_an_account_that_loses_the_right_to_decide_gives_back_what_it_had(
    given_to_ann, way, django_capture_on_commit_callbacks
):
    ann, assigned, held = given_to_ann
    role = Group.objects.get(name=REVIEWER)
    with django_capture_on_commit_callbacks(execute=True):
        if way == "member leaves":
            ann.groups.clear()
        elif way == "role is emptied":
            role.permissions.clear()
        elif way == "role is deleted":
            role.delete()
        else:
            role.permissions.remove(Permission.objects.get(codename="add_gatedecision"))

    assert nothing_of_hers(assigned, held) is (way != "another permission")


def test_who_is_moved_to_another_role_that_decides_keeps_what_they_had(
    given_to_ann, django_capture_on_commit_callbacks
):
    ann, assigned, held = given_to_ann
    with django_capture_on_commit_callbacks(execute=True):
        ann.groups.set([Group.objects.get(name=ADMIN)])

    assigned.refresh_from_db()
    held.refresh_from_db()
    assert (assigned.assigned_to, held.reserved_by) == (ann, ann)


def test_what_others_hold_stays_theirs_when_somebody_leaves(given_to_ann):
    _, assigned, held = given_to_ann
    bob = person("bob", REVIEWER)

    people.set_active(account_id=bob.pk, is_active=False, actor=User.objects.get(username="boss"))

    assert not nothing_of_hers(assigned, held)
