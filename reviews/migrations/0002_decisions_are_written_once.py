"""Reviews, audit entries and closed queue entries cannot be changed, and the audit log has its one head."""

from django.db import migrations

from reviews.chain import GENESIS
from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen(
        "reviews_review",
        unique=(("id",), ("form_token",), ("result_id", "number"), ("replaces_id",), ("withdraws_id",)),
    ),
    Frozen("reviews_auditentry", unique=(("sequence",), ("previous_hash",), ("entry_hash",))),
    # It moves with every entry, but it cannot be removed.
    Frozen("reviews_audithead", except_columns=("sequence", "entry_hash"), unique=(("id",),)),
    Frozen("reviews_queueentry", when="state = 'DONE'", unique=(("id",),)),
]


def forwards(apps, schema_editor):
    head = apps.get_model("reviews", "AuditHead")
    head.objects.using(schema_editor.connection.alias).get_or_create(
        pk=1, defaults={"sequence": 0, "entry_hash": GENESIS}
    )
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0001_initial"),
        ("twins", "0002_versions_are_written_once"),
    ]
    operations = [migrations.RunPython(forwards, backwards)]
