"""Checks of suites by control agents; the database lets nobody change one."""

import agenttwin_site.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen("evaluations_suitecheck", unique=(("id",),)),
    Frozen(
        "evaluations_suitecheckcase",
        unique=(("id",), ("check_run_id", "dataset_case_id", "control")),
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
        ('evaluations', '0011_comparison_judges'),
        ('scenarios', '0003_datasets'),
        ('twins', '0003_wire_sessions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SuiteCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('flagged', agenttwin_site.fields.JSONField(default=list)),
                ('counts', agenttwin_site.fields.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='suite_checks', to='scenarios.datasetversion')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='SuiteCheckCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('control', models.CharField(max_length=50)),
                ('verdict', models.CharField(choices=[('PASSED', 'Passed'), ('FAILED', 'Failed'), ('ERRORED', 'Errored')], max_length=7)),
                ('failing', agenttwin_site.fields.JSONField(default=list)),
                ('reason', models.TextField(blank=True)),
                ('check_run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='cases', to='evaluations.suitecheck')),
                ('dataset_case', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scenarios.datasetcase')),
                ('twin_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='twins.twinversion')),
            ],
            options={
                'ordering': ['check_run', 'dataset_case', 'control'],
                'constraints': [models.UniqueConstraint(fields=('check_run', 'dataset_case', 'control'), name='suite_check_case_is_unique'), models.CheckConstraint(condition=models.Q(('verdict__in', ['PASSED', 'FAILED', 'ERRORED'])), name='suite_check_verdict_is_known')],
            },
        ),
        migrations.RunPython(forwards, backwards),
    ]
