"""Cases and sessions that wait for a judge, its verdicts, what it used up; the database refuses to change a verdict."""

import importlib

import django.db.models.deletion
import evaluations.models.judging
import twins.columns
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen(
        "evaluations_judgeverdict",
        unique=(("id",), ("result_id",), ("session_id", "expectation_id")),
    ),
]
# Tables that are changed below although they are guarded.
_REBUILT = ("evaluations_case", "evaluations_manualsession")


def _rebuilt():
    for name in ("0002_records_are_written_once", "0003_manual_sessions"):
        for guard in importlib.import_module(f"evaluations.migrations.{name}").GUARDS:
            if guard.table in _REBUILT:
                yield guard


def lift(apps, schema_editor):
    """PostgreSQL changes no column that a trigger looks at, and SQLite forgets the triggers of a rebuilt table."""
    for guard in _rebuilt():
        remove(guard, schema_editor)


def put_back(apps, schema_editor):
    for guard in _rebuilt():
        install(guard, schema_editor)


def forwards(apps, schema_editor):
    put_back(apps, schema_editor)
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    lift(apps, schema_editor)
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0008_release_gate'),
        ('scenarios', '0003_datasets'),
        ('twins', '0003_wire_sessions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(lift, put_back),
        migrations.CreateModel(
            name='JudgePlace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=50)),
                ('number', models.PositiveIntegerField()),
                ('claim_token', models.CharField(blank=True, max_length=64)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='JudgeSpending',
            fields=[
                ('comparison', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='judge_spending', serialize=False, to='evaluations.comparison')),
                ('calls', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.FloatField(default=0.0)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='JudgeVerdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('expectation_id', models.CharField(max_length=200)),
                ('status', models.CharField(choices=[('PASS', 'Pass'), ('FAIL', 'Fail'), ('ERROR', 'Error'), ('SKIPPED', 'Skipped')], max_length=7)),
                ('provider', models.CharField(max_length=50)),
                ('model', models.CharField(max_length=200)),
                ('judge_label', models.CharField(max_length=50)),
                ('prompt_version', models.CharField(max_length=50)),
                ('prompt_sha256', models.CharField(max_length=64)),
                ('criterion', models.TextField()),
                ('rubric_sha256', models.CharField(max_length=64)),
                ('threshold', models.FloatField()),
                ('request_digest', models.CharField(max_length=64)),
                ('shown', models.TextField(blank=True)),
                ('answered', models.TextField(blank=True)),
                ('score', models.FloatField(blank=True, null=True)),
                ('label', models.CharField(blank=True, max_length=4, null=True)),
                ('confidence', models.FloatField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('quotes', twins.columns.ExactJSONField(default=list)),
                ('dropped_quotes', models.PositiveIntegerField(default=0)),
                ('error_kind', models.CharField(blank=True, choices=evaluations.models.judging.judge_error_kinds, max_length=20)),
                ('error_detail', models.TextField(blank=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('from_cache', models.BooleanField(default=False)),
                ('input_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('output_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('cost_usd', models.FloatField(blank=True, null=True)),
                ('duration_ms', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-pk'],
                'default_permissions': ('view',),
            },
        ),
        migrations.RemoveConstraint(
            model_name='case',
            name='case_state_is_known',
        ),
        migrations.RemoveConstraint(
            model_name='manualsession',
            name='manual_session_state_is_known',
        ),
        migrations.AddField(
            model_name='case',
            name='judging_attempts',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='manualsession',
            name='claim_token',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name='manualsession',
            name='judging_attempts',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='manualsession',
            name='lease_expires_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='case',
            name='state',
            field=models.CharField(choices=[('QUEUED', 'Queued'), ('RUNNING', 'Running'), ('JUDGING', 'Judging'), ('FINISHED', 'Finished'), ('CANCELLED', 'Cancelled')], default='QUEUED', max_length=9),
        ),
        migrations.AlterField(
            model_name='manualsession',
            name='state',
            field=models.CharField(choices=[('OPEN', 'Open'), ('JUDGING', 'Judging'), ('CLOSED', 'Closed')], default='OPEN', max_length=7),
        ),
        migrations.AddIndex(
            model_name='case',
            index=models.Index(condition=models.Q(('state', 'JUDGING')), fields=['run', 'lease_expires_at'], name='case_to_be_judged'),
        ),
        migrations.AddConstraint(
            model_name='case',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['QUEUED', 'RUNNING', 'JUDGING', 'FINISHED', 'CANCELLED'])), name='case_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='case',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'JUDGING'), _negated=True), models.Q(('verdict__isnull', True), models.Q(models.Q(('claim_token', ''), ('lease_expires_at__isnull', True)), models.Q(models.Q(('claim_token', ''), _negated=True), ('lease_expires_at__isnull', False)), _connector='OR')), _connector='OR'), name='case_judging_has_no_verdict_yet'),
        ),
        migrations.AddConstraint(
            model_name='manualsession',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['OPEN', 'JUDGING', 'CLOSED'])), name='manual_session_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='judgeplace',
            constraint=models.UniqueConstraint(fields=('provider', 'number'), name='judge_place_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='judgeplace',
            constraint=models.CheckConstraint(condition=models.Q(('claim_token', ''), ('lease_expires_at__isnull', False), _connector='OR'), name='judge_place_taken_has_a_lease'),
        ),
        migrations.AddField(
            model_name='judgeverdict',
            name='result',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judge_verdict', to='evaluations.expectationresult'),
        ),
        migrations.AddField(
            model_name='judgeverdict',
            name='session',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judge_verdicts', to='evaluations.manualsession'),
        ),
        migrations.AddIndex(
            model_name='judgeverdict',
            index=models.Index(condition=models.Q(('from_cache', False), ('score__isnull', False)), fields=['request_digest'], name='judge_verdict_to_be_reused'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('result__isnull', True), ('session__isnull', False)), models.Q(('result__isnull', False), ('session__isnull', True)), _connector='OR'), name='judge_verdict_is_of_a_case_or_a_session'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.UniqueConstraint(fields=('session', 'expectation_id'), name='judge_verdict_is_unique_in_its_session'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['PASS', 'FAIL', 'ERROR', 'SKIPPED'])), name='judge_verdict_status_is_known'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.CheckConstraint(condition=models.Q(('label__isnull', True), ('label__in', ('pass', 'fail')), _connector='OR'), name='judge_verdict_label_is_known'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['PASS', 'FAIL']), ('score__gte', 0), ('score__isnull', False), ('score__lte', 1), ('confidence__gte', 0), ('confidence__isnull', False), ('confidence__lte', 1), ('error_kind', ''), ('label__isnull', False)), models.Q(('status__in', ['ERROR', 'SKIPPED']), ('confidence__isnull', True), ('label__isnull', True), ('score__isnull', True)), _connector='OR'), name='judge_verdict_has_a_score_or_none'),
        ),
        migrations.AddConstraint(
            model_name='judgeverdict',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'ERROR'), _negated=True), models.Q(('error_kind', ''), _negated=True), _connector='OR'), name='judge_verdict_error_has_a_kind'),
        ),
        migrations.RunPython(forwards, backwards),
    ]
