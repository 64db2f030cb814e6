"""A live case that a person opened; the database refuses to change a closed one."""

import agenttwin_site.fields
import django.db.models.deletion
import twins.columns
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen(
        "evaluations_manualsession",
        when="state = 'CLOSED'",
        unique=(("id",), ("wire_session_id",), ("form_token",)),
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
        ('evaluations', '0002_records_are_written_once'),
        ('scenarios', '0002_versions_are_written_once'),
        ('twins', '0003_wire_sessions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ManualSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('agent_label', models.CharField(max_length=200)),
                ('trial', models.PositiveIntegerField(default=1)),
                ('seed', models.BigIntegerField()),
                ('form_token', models.UUIDField(blank=True, null=True, unique=True)),
                ('state', models.CharField(choices=[('OPEN', 'Open'), ('CLOSED', 'Closed')], default='OPEN', max_length=6)),
                ('verdict', models.CharField(blank=True, choices=[('PASSED', 'Passed'), ('FAILED', 'Failed'), ('ERRORED', 'Errored')], max_length=7, null=True)),
                ('error_reason', models.TextField(blank=True)),
                ('records', twins.columns.ExactJSONField(default=list)),
                ('results', twins.columns.ExactJSONField(default=list)),
                ('answer', twins.columns.ExactJSONField(blank=True, null=True)),
                ('claimed_outcome', models.CharField(blank=True, max_length=20, null=True)),
                ('contradiction', models.BooleanField(default=False)),
                ('final_state_digest', models.CharField(blank=True, max_length=64)),
                ('tool_call_count', models.PositiveIntegerField(default=0)),
                ('retry_count', models.PositiveIntegerField(default=0)),
                ('metrics', agenttwin_site.fields.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('closed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('initial_state', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evaluations.statesnapshot')),
                ('scenario_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='scenarios.scenarioversion')),
                ('twin_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='twins.twinversion')),
                ('wire_session', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='twins.wiresession')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['OPEN', 'CLOSED'])), name='manual_session_state_is_known'), models.CheckConstraint(condition=models.Q(('verdict__isnull', True), ('verdict__in', ['PASSED', 'FAILED', 'ERRORED']), _connector='OR'), name='manual_session_verdict_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'CLOSED'), _negated=True), models.Q(('closed_at__isnull', False), ('verdict__isnull', False)), _connector='OR'), name='manual_session_closed_has_a_verdict')],
            },
        ),
        migrations.RunPython(forwards, backwards),
    ]
