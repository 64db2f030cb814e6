"""Who labels examples and who edits criteria and starts calibrations (see 0003 on why permissions are made here)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

SEES = ("view_criterion", "view_example", "view_calibration")
LABELS = ("add_label",)
EDITS = ("add_criterion", "add_example", "add_calibration")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + LABELS,
    "editor": SEES + EDITS,
    "admin": SEES + LABELS + EDITS,
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
    dependencies = [("reviews", "0007_roles_see_manual_sessions"), ("evaluations", "0004_calibration")]
    operations = [migrations.RunPython(forwards, backwards)]
