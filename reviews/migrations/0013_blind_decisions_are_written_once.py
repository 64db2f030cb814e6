"""Policies and blind decisions cannot be changed, nor rounds that are settled; who may see and who may set."""

from django.db import migrations

from reviews.role_grants import grant
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
SEES = ("reviews.view_reviewpolicy", "reviews.view_doublereview")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES,
    "editor": SEES,
    "admin": (*SEES, "reviews.add_reviewpolicy"),
}


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)
    grant(GRANTED, apps, schema_editor)


def backwards(apps, schema_editor):
    """The permissions go with the tables."""
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0012_review_policy_and_two_reviewers")]
    operations = [migrations.RunPython(forwards, backwards)]
