"""Every role sees what judges said (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

ROLES = ("viewer", "reviewer", "editor", "admin")
GRANTED = {role: ("evaluations.view_judgeverdict",) for role in ROLES}


class Migration(migrations.Migration):
    dependencies = [
        ("evaluations", "0009_judging"),
        ("reviews", "0013_blind_decisions_are_written_once"),
    ]
    operations = [granting(GRANTED)]
