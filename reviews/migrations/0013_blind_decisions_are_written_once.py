"""Policies and blind decisions cannot be changed, nor rounds that are settled; who may see and who may set."""

from django.apps import apps as installed_apps
from django.contrib.auth.management import create_permissions
from django.db import migrations

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen("reviews_reviewpolicy", unique=(("id",), ("number",))),
    Frozen(
        "reviews_blinddecision",
        unique=(
            ("id",),
            ("form_token",),
            ("seal",),
            ("double_review_id", "position"),
            ("double_review_id", "reviewer_id"),
        ),
    ),
    Frozen("reviews_doublereview", when="settled_at IS NOT NULL", unique=(("id",), ("result_id", "number"))),
]
SEES = ("view_reviewpolicy", "view_doublereview")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES,
    "editor": SEES,
    "admin": (*SEES, "add_reviewpolicy"),
}


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)
    using = schema_editor.connection.alias
    config = installed_apps.get_app_config("reviews")
    create_permissions(config, verbosity=0, interactive=False, using=using, apps=apps)
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    groups = apps.get_model("auth", "Group").objects.using(using)
    for role, names in GRANTED.items():
        group, _ = groups.get_or_create(name=role)
        for name in names:
            group.permissions.add(permissions.get(content_type__app_label="reviews", codename=name))


def backwards(apps, schema_editor):
    """The permissions go with the tables."""
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0012_review_policy_and_two_reviewers")]
    operations = [migrations.RunPython(forwards, backwards)]
