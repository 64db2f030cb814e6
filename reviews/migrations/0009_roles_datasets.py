"""Who sees, freezes and looks into datasets (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

SEES = ("scenarios.view_dataset", "scenarios.view_datasetversion", "evaluations.view_datasetuse")
EDITS = ("scenarios.add_dataset", "scenarios.change_dataset", "scenarios.add_datasetversion")
HOLDOUTS = ("scenarios.view_holdout_details",)
GRANTED = {
    "viewer": SEES,
    "reviewer": SEES + HOLDOUTS,
    "editor": SEES + EDITS,
    "admin": SEES + HOLDOUTS + EDITS,
}


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios", "0003_datasets"),
        ("evaluations", "0005_dataset_uses"),
        ("reviews", "0008_roles_calibrate"),
    ]
    operations = [granting(GRANTED)]
