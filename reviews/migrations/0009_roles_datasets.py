"""Who sees, freezes and looks into datasets (see 0003 on why permissions are made here)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

SEES = ("scenarios.view_dataset", "scenarios.view_datasetversion", "evaluations.view_datasetuse")
EDITS = ("scenarios.add_dataset", "scenarios.change_dataset", "scenarios.add_datasetversion")
HOLDOUTS = ("scenarios.view_holdout_details",)
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + HOLDOUTS,
    "editor": SEES + EDITS,
    "admin": SEES + HOLDOUTS + EDITS,
}


def forwards(apps, schema_editor):
    using = schema_editor.connection.alias
    for label in ("scenarios", "evaluations"):
        create_permissions(
            installed_apps.get_app_config(label), verbosity=0, interactive=False, using=using, apps=apps
        )
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in GRANTED.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            label, _, codename = name.partition(".")
            group.permissions.add(permissions.get(content_type__app_label=label, codename=codename))


def backwards(apps, schema_editor):
    """The permissions go with the tables."""


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios", "0003_datasets"),
        ("evaluations", "0005_dataset_uses"),
        ("reviews", "0008_roles_calibrate"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
