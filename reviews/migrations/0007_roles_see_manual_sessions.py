"""Every role sees manual sessions in the admin too (see 0003 on why permissions are made here)."""

from django.db import migrations

from reviews.role_grants import granting

ROLES = ("viewer", "reviewer", "editor", "admin")
GRANTED = {role: ("evaluations.view_manualsession",) for role in ROLES}


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0006_roles_manage_tokens"),
        ("evaluations", "0003_manual_sessions"),
    ]
    operations = [granting(GRANTED)]
