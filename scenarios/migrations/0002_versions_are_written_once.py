"""The database refuses to change or delete a version of a scenario."""

from django.db import migrations

from twins.row_guards import Frozen, install, remove

GUARDS = [Frozen("scenarios_scenarioversion", unique=(("id",), ("scenario_id", "number")))]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("scenarios", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
