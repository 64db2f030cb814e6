"""Datasets; the database refuses to change or delete a frozen one."""

import django.db.models.deletion
import twins.columns
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen("scenarios_datasetversion", unique=(("id",), ("dataset_id", "number"))),
    Frozen(
        "scenarios_datasetcase",
        unique=(
            ("id",),
            ("version_id", "position"),
            ("version_id", "case_id"),
            ("version_id", "scenario_version_id"),
        ),
    ),
]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('scenarios', '0002_versions_are_written_once'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=99, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name'],
                'permissions': [('view_holdout_details', 'Can see the cases of a holdout')],
            },
        ),
        migrations.CreateModel(
            name='DatasetVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('purpose', models.CharField(choices=[('development', 'Development'), ('holdout', 'Holdout')], max_length=11)),
                ('sha256', models.CharField(db_index=True, max_length=64)),
                ('digest', models.CharField(max_length=64)),
                ('description', models.TextField(blank=True)),
                ('owner', models.TextField(blank=True)),
                ('agent_name', models.TextField(blank=True)),
                ('case_count', models.PositiveIntegerField()),
                ('document', twins.columns.ExactJSONField()),
                ('source_text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='scenarios.dataset')),
            ],
            options={
                'ordering': ['dataset', '-number'],
            },
        ),
        migrations.CreateModel(
            name='DatasetCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('case_id', models.CharField(max_length=100)),
                ('owner', models.TextField(blank=True)),
                ('why', models.TextField(blank=True)),
                ('scenario_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='dataset_cases', to='scenarios.scenarioversion')),
                ('version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='scenarios.datasetversion')),
            ],
            options={
                'ordering': ['version', 'position'],
            },
        ),
        migrations.AddField(
            model_name='dataset',
            name='current_version',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scenarios.datasetversion'),
        ),
        migrations.AddConstraint(
            model_name='datasetversion',
            constraint=models.UniqueConstraint(fields=('dataset', 'number'), name='dataset_version_number_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='datasetversion',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='dataset_version_counts_from_1'),
        ),
        migrations.AddConstraint(
            model_name='datasetversion',
            constraint=models.CheckConstraint(condition=models.Q(('case_count__gte', 1)), name='dataset_version_is_not_empty'),
        ),
        migrations.AddConstraint(
            model_name='datasetversion',
            constraint=models.CheckConstraint(condition=models.Q(('purpose__in', ['development', 'holdout'])), name='dataset_purpose_is_known'),
        ),
        migrations.AddConstraint(
            model_name='datasetcase',
            constraint=models.UniqueConstraint(fields=('version', 'position'), name='dataset_case_position_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='datasetcase',
            constraint=models.UniqueConstraint(fields=('version', 'case_id'), name='dataset_case_id_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='datasetcase',
            constraint=models.UniqueConstraint(fields=('version', 'scenario_version'), name='dataset_case_scenario_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='dataset_has_a_name'),
        ),
        migrations.RunPython(forwards, backwards),
    ]
