"""Every role sees what judges said (see 0003 on why permissions are made here)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

ROLES = ("viewer", "reviewer", "editor", "admin")


def forwards(apps, schema_editor):
    using = schema_editor.connection.alias
    config = installed_apps.get_app_config("evaluations")
    create_permissions(config, verbosity=0, interactive=False, using=using, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    seeing = permissions.get(content_type__app_label="evaluations", codename="view_judgeverdict")
    for role in ROLES:
        group, _ = groups.get_or_create(name=role)
        group.permissions.add(seeing)


def backwards(apps, schema_editor):
    """The permission goes with the table."""


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0009_judging"),
        ("reviews", "0013_blind_decisions_are_written_once"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
