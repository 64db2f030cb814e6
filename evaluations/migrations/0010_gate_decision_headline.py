"""Why, in a line, beside each decision. SQLite rebuilds the table for it, so the guard is installed again."""

from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [Frozen("evaluations_gatedecision", unique=(("id",), ("comparison_id", "policy_id", "revision")))]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def lift(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("evaluations", "0009_judging")]
    operations = [
        migrations.RunPython(lift, forwards),
        migrations.AddField(
            model_name="gatedecision", name="headline", field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.RunPython(forwards, lift),
    ]
