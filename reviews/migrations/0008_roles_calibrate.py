"""Who labels examples and who edits criteria and starts calibrations (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

SEES = ("evaluations.view_criterion", "evaluations.view_example", "evaluations.view_calibration")
LABELS = ("evaluations.add_label",)
EDITS = ("evaluations.add_criterion", "evaluations.add_example", "evaluations.add_calibration")
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + LABELS,
    "editor": SEES + EDITS,
    "admin": SEES + LABELS + EDITS,
}


class Migration(migrations.Migration):
    dependencies = [("reviews", "0007_roles_see_manual_sessions"), ("evaluations", "0004_calibration")]
    operations = [granting(GRANTED)]
