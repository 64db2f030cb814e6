"""The release gate: policies, decisions, overrides; the database refuses to change what was decided."""

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import twins.columns
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen("evaluations_gatepolicyversion", unique=(("id",), ("policy_id", "number"))),
    Frozen("evaluations_gatedecision", unique=(("id",), ("comparison_id", "policy_id", "revision"))),
    Frozen("evaluations_gateoverride", unique=(("id",), ("form_token",), ("withdraws_id",))),
]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0007_comparison_baseline_optional'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='GatePolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name_plural': 'gate policies',
                'ordering': ['name'],
                'permissions': [('activate_gatepolicy', 'Can put a version of a gate policy in force')],
                'default_permissions': ('add', 'view'),
            },
        ),
        migrations.AddField(
            model_name='comparison',
            name='evidence_changed_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name='GatePolicyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('document', twins.columns.ExactJSONField()),
                ('source_text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='evaluations.gatepolicy')),
            ],
            options={
                'ordering': ['policy', '-number'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='gatepolicy',
            name='current_version',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evaluations.gatepolicyversion'),
        ),
        migrations.CreateModel(
            name='GateDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('outcome', models.CharField(choices=[('PASS', 'Pass'), ('WARN', 'Warn'), ('BLOCK', 'Block')], max_length=5)),
                ('subject', models.CharField(db_index=True, max_length=64)),
                ('content', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('decided_at', models.DateTimeField()),
                ('comparison', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='gate_decisions', to='evaluations.comparison')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('policy', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='evaluations.gatepolicy')),
                ('policy_version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='evaluations.gatepolicyversion')),
            ],
            options={
                'ordering': ['-pk'],
                'default_permissions': ('add', 'view'),
            },
        ),
        migrations.CreateModel(
            name='GateOverride',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('ticket', models.CharField(blank=True, max_length=200)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('form_token', models.UUIDField(unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('decision', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='overrides', to='evaluations.gatedecision')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gate_overrides', to=settings.AUTH_USER_MODEL)),
                ('withdraws', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='withdrawn_by', to='evaluations.gateoverride')),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': ('add', 'view'),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('expires_at__isnull', True), ('ticket', ''), ('withdraws__isnull', False)), models.Q(('expires_at__isnull', False), ('withdraws__isnull', True), models.Q(('ticket', ''), _negated=True)), _connector='OR'), name='gate_override_names_ticket_and_end'), models.CheckConstraint(condition=django.db.models.lookups.GreaterThanOrEqual(django.db.models.functions.text.Length(django.db.models.functions.text.Trim(models.F('reason'))), models.Value(10)), name='gate_override_has_a_reason')],
            },
        ),
        migrations.AddConstraint(
            model_name='gatepolicyversion',
            constraint=models.UniqueConstraint(fields=('policy', 'number'), name='gate_policy_version_number_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='gatepolicyversion',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='gate_policy_version_counts_from_1'),
        ),
        migrations.AddConstraint(
            model_name='gatepolicy',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='gate_policy_has_a_name'),
        ),
        migrations.AddConstraint(
            model_name='gatedecision',
            constraint=models.UniqueConstraint(fields=('comparison', 'policy', 'revision'), name='gate_decision_revision_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='gatedecision',
            constraint=models.CheckConstraint(condition=models.Q(('revision__gte', 1)), name='gate_decision_counts_from_1'),
        ),
        migrations.AddConstraint(
            model_name='gatedecision',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['PASS', 'WARN', 'BLOCK'])), name='gate_decision_outcome_is_known'),
        ),
        migrations.AddConstraint(
            model_name='gatedecision',
            constraint=models.CheckConstraint(condition=models.Q(('content', ''), _negated=True), name='gate_decision_has_content'),
        ),
        migrations.RunPython(forwards, backwards),
    ]
