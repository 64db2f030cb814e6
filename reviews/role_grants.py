"""Permissions for roles, given in migrations.

Django makes permissions only after all migrations have run. A migration that gives one to a role makes it
first (see 0003), or a new database and an old one would end with different roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations


def granting(granted: Mapping[str, Iterable[str]]) -> migrations.RunPython:
    """The operation that gives each role its permissions, written as "app.codename".

    There is no way back to go: the permissions go with their table.
    """
    return migrations.RunPython(lambda apps, editor: grant(granted, apps, editor), migrations.RunPython.noop)


def grant(granted: Mapping[str, Iterable[str]], apps: Any, schema_editor: Any) -> None:
    """Give each role its permissions in the database of this migration."""
    using = schema_editor.connection.alias
    for label in sorted({name.partition(".")[0] for names in granted.values() for name in names}):
        config = installed_apps.get_app_config(label)
        create_permissions(config, verbosity=0, interactive=False, using=using, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in granted.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            label, _, codename = name.partition(".")
            group.permissions.add(permissions.get(content_type__app_label=label, codename=codename))
