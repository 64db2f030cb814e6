"""The source of a version as a column, and a person's word for what a program wrote."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

VERSIONS = Frozen("scenarios_scenarioversion", unique=(("id",), ("scenario_id", "number")))
GUARDS = [Frozen("scenarios_scenarioapproval", unique=(("id",), ("scenario_version_id",)))]
_AT_ONCE = 200


def lift(apps, schema_editor):
    remove(VERSIONS, schema_editor)


def fill(apps, schema_editor):
    versions = apps.get_model("scenarios", "ScenarioVersion").objects.using(schema_editor.connection.alias)
    rows = versions.order_by("pk").values_list("pk", "document")
    sources = {
        pk: document["metadata"].get("source", "manual")
        for pk, document in rows.iterator(chunk_size=_AT_ONCE)
    }
    for pk, source in sources.items():
        if source != "manual":
            versions.filter(pk=pk).update(source=source)


def guard(apps, schema_editor):
    install(VERSIONS, schema_editor)


def forwards(apps, schema_editor):
    for one in GUARDS:
        install(one, schema_editor)


def backwards(apps, schema_editor):
    for one in GUARDS:
        remove(one, schema_editor)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("scenarios", "0003_datasets"),
    ]

    # Read backwards it is the same: the guard is off while the column goes.
    operations = [
        migrations.RunPython(lift, guard),
        migrations.AddField(
            model_name="scenarioversion",
            name="source",
            field=models.CharField(default="manual", max_length=30),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(guard, lift),
        migrations.CreateModel(
            name="ScenarioApproval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("note", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("person", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("scenario_version", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="approval", to="scenarios.scenarioversion")),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("note", ""), _negated=True), name="scenario_approval_has_a_note"),
                ],
            },
        ),
        migrations.RunPython(forwards, backwards),
    ]
