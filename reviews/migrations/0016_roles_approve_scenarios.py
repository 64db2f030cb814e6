"""Who sees the approvals of generated scenarios and gives one (see 0003 on why permissions are made here)."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

GRANTED = {
    "viewer": ("view_scenarioapproval",),
    "reviewer": ("view_scenarioapproval",),
    "editor": ("view_scenarioapproval", "add_scenarioapproval"),
    "admin": ("view_scenarioapproval", "add_scenarioapproval"),
}


def forwards(apps, schema_editor):
    using = schema_editor.connection.alias
    config = installed_apps.get_app_config("scenarios")
    create_permissions(config, verbosity=0, interactive=False, using=using, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in GRANTED.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            group.permissions.add(permissions.get(content_type__app_label="scenarios", codename=name))


def backwards(apps, schema_editor):
    """The permissions go with the table."""


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios", "0004_generated_scenarios"),
        ("reviews", "0015_roles_suite_checks"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
