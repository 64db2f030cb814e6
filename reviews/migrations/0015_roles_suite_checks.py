"""Who sees the checks of suites and asks for one (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

GRANTED = {
    "viewer": ("evaluations.view_suitecheck",),
    "reviewer": ("evaluations.view_suitecheck",),
    "editor": ("evaluations.view_suitecheck", "evaluations.add_suitecheck"),
    "admin": ("evaluations.view_suitecheck", "evaluations.add_suitecheck"),
}


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0012_suite_checks"),
        ("reviews", "0014_roles_see_verdicts"),
    ]
    operations = [granting(GRANTED)]
