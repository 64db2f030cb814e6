"""Who sees, edits, activates, decides and overrides at the release gate (see 0003 on permissions)."""

from django.db import migrations

from reviews.role_grants import granting

SEES = ("evaluations.view_gatepolicy", "evaluations.view_gatedecision", "evaluations.view_gateoverride")
EDITS = ("evaluations.add_gatepolicy",)
EVALUATES = ("evaluations.add_gatedecision",)
MANAGES = ("evaluations.activate_gatepolicy", "evaluations.add_gateoverride")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + EVALUATES,
    "editor": SEES + EVALUATES + EDITS,
    "admin": SEES + EVALUATES + EDITS + MANAGES,
}


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0008_release_gate"),
        ("reviews", "0010_queue_indexes_for_few"),
    ]
    operations = [granting(GRANTED)]
