"""The groups viewer, reviewer, editor and admin with what each may do.

Permissions come into being only after a whole `migrate` (a post_migrate signal), too late for this migration
on a fresh database: it makes those it needs itself, from the same historical models, and Django later finds
them there. What a group already holds stays; running it again changes nothing.
"""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

SEES = (
    "twins.view_twin",
    "twins.view_twinversion",
    "scenarios.view_scenario",
    "scenarios.view_scenarioversion",
    "evaluations.view_agent",
    "evaluations.view_agentversion",
    "evaluations.view_comparison",
    "evaluations.view_run",
    "evaluations.view_pairedcase",
    "evaluations.view_case",
    "evaluations.view_toolcall",
    "evaluations.view_expectationresult",
    "evaluations.view_statesnapshot",
    "reviews.view_review",
    "reviews.view_queueentry",
    "reviews.view_auditentry",
)
DECIDES = ("reviews.add_review", "reviews.add_queueentry", "reviews.change_queueentry")
EDITS = (
    "twins.add_twin",
    "twins.change_twin",
    "twins.add_twinversion",
    "scenarios.add_scenario",
    "scenarios.change_scenario",
    "scenarios.add_scenarioversion",
    "evaluations.add_agent",
    "evaluations.change_agent",
    "evaluations.add_agentversion",
    "evaluations.add_comparison",
    "evaluations.change_comparison",
)
MANAGES = (
    "reviews.manage_queue",
    "auth.add_user",
    "auth.change_user",
    "auth.delete_user",
    "auth.view_user",
    "auth.view_group",
)
ROLES = {
    "viewer": SEES,
    "reviewer": SEES + DECIDES,
    "editor": SEES + EDITS,
    "admin": SEES + DECIDES + EDITS + MANAGES,
}


def forwards(apps, schema_editor):
    using = schema_editor.connection.alias
    for label in sorted({name.partition(".")[0] for names in ROLES.values() for name in names}):
        create_permissions(
            installed_apps.get_app_config(label), verbosity=0, interactive=False, using=using, apps=apps
        )
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in ROLES.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            label, _, codename = name.partition(".")
            group.permissions.add(permissions.get(content_type__app_label=label, codename=codename))


def backwards(apps, schema_editor):
    """The groups stay: people may be in them, and they open nothing without the permissions' tables."""


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("twins", "0001_initial"),
        ("scenarios", "0001_initial"),
        ("evaluations", "0001_initial"),
        ("reviews", "0002_decisions_are_written_once"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
