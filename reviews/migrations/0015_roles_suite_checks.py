"""Who sees the checks of suites and asks for one (see 0003 on why permissions are made here)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

GRANTED = {
    "viewer": ("view_suitecheck",),
    "reviewer": ("view_suitecheck",),
    "editor": ("view_suitecheck", "add_suitecheck"),
    "admin": ("view_suitecheck", "add_suitecheck"),
}


def forwards(apps, schema_editor):
    using = schema_editor.connection.alias
    config = installed_apps.get_app_config("evaluations")
    create_permissions(config, verbosity=0, interactive=False, using=using, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in GRANTED.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            group.permissions.add(permissions.get(content_type__app_label="evaluations", codename=name))


def backwards(apps, schema_editor):
    """The permissions go with the table."""


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0012_suite_checks"),
        ("reviews", "0014_roles_see_verdicts"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
