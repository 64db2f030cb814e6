"""Accounts for the tests of datasets."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from reviews.roles import ROLES


def account(role: str, name: str = "") -> User:
    """A member of this role; editors and admins may go to the admin pages."""
    user = User.objects.create_user(name or role, is_staff=role in ("editor", "admin"))
    user.groups.set([Group.objects.get(name=role)])
    return user


def blind_reviewer(name: str = "blind") -> User:
    """Somebody who decides like a reviewer, but may not look into holdouts."""
    user = User.objects.create_user(name)
    for permission in ROLES["reviewer"]:
        label, _, codename = permission.partition(".")
        if codename != "view_holdout_details":
            user.user_permissions.add(
                Permission.objects.get(content_type__app_label=label, codename=codename)
            )
    return user


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
