"""Who sees, edits, activates, decides and overrides at the release gate (see 0003 on permissions)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

SEES = ("view_gatepolicy", "view_gatedecision", "view_gateoverride")
EDITS = ("add_gatepolicy",)
EVALUATES = ("add_gatedecision",)
MANAGES = ("activate_gatepolicy", "add_gateoverride")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + EVALUATES,
    "editor": SEES + EVALUATES + EDITS,
    "admin": SEES + EVALUATES + EDITS + MANAGES,
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
    """The permissions go with the tables."""


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0008_release_gate"),
        ("reviews", "0010_queue_indexes_for_few"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
