"""Who sees the approvals of generated scenarios and gives one (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

GRANTED = {
    "viewer": ("scenarios.view_scenarioapproval",),
    "reviewer": ("scenarios.view_scenarioapproval",),
    "editor": ("scenarios.view_scenarioapproval", "scenarios.add_scenarioapproval"),
    "admin": ("scenarios.view_scenarioapproval", "scenarios.add_scenarioapproval"),
}


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios", "0004_generated_scenarios"),
        ("reviews", "0015_roles_suite_checks"),
    ]
    operations = [granting(GRANTED)]
