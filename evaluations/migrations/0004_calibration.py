"""Criteria, labelled examples and calibrations; the database refuses to change what was written."""

import agenttwin_site.fields
import django.db.models.deletion
import twins.columns
from django.conf import settings
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [
    Frozen(
        "evaluations_criterionversion",
        unique=(("id",), ("criterion_id", "number"), ("criterion_id", "rubric_sha256")),
    ),
    Frozen("evaluations_example", unique=(("id",), ("criterion_version_id", "digest"))),
    Frozen(
        "evaluations_label",
        except_columns=("taken_back_at",),
        unique=(("id",),),
        partly_unique=((("example_id", "person_id"), "taken_back_at IS NULL"),),
    ),
    Frozen("evaluations_onlooker", unique=(("id",), ("criterion_version_id", "person_id"))),
    Frozen(
        "evaluations_calibration",
        when="state IN ('COMPLETED', 'FAILED')",
        unique=(("id",), ("form_token",)),
    ),
    # An answer that is there stays; an example that still waits gets one.
    Frozen(
        "evaluations_calibrationresult",
        when="outcome <> ''",
        unique=(("id",), ("calibration_id", "position"), ("calibration_id", "example_id")),
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
        ('evaluations', '0003_manual_sessions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Criterion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name_plural': 'criteria',
                'ordering': ['name'],
                'default_permissions': ('add', 'view'),
            },
        ),
        migrations.CreateModel(
            name='CriterionVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('rubric', models.TextField()),
                ('rubric_sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('criterion', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='evaluations.criterion')),
            ],
            options={
                'ordering': ['criterion', '-number'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='criterion',
            name='current_version',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evaluations.criterionversion'),
        ),
        migrations.CreateModel(
            name='Calibration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=100)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('prompt_version', models.CharField(max_length=100)),
                ('prompt_sha256', models.CharField(max_length=64)),
                ('judge_label', models.CharField(max_length=100)),
                ('threshold', models.FloatField()),
                ('state', models.CharField(choices=[('QUEUED', 'Queued'), ('RUNNING', 'Running'), ('COMPLETED', 'Completed'), ('FAILED', 'Failed')], default='QUEUED', max_length=9)),
                ('reason', models.TextField(blank=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('claim_token', models.CharField(blank=True, max_length=64)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True)),
                ('counted', models.PositiveIntegerField(blank=True, null=True)),
                ('agreed', models.PositiveIntegerField(blank=True, null=True)),
                ('errors', models.PositiveIntegerField(blank=True, null=True)),
                ('kappa', models.FloatField(blank=True, null=True)),
                ('kappa_low', models.FloatField(blank=True, null=True)),
                ('kappa_high', models.FloatField(blank=True, null=True)),
                ('is_calibrated', models.BooleanField(blank=True, null=True)),
                ('decision', models.TextField(blank=True)),
                ('form_token', models.UUIDField(blank=True, null=True, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('criterion_version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='calibrations', to='evaluations.criterionversion')),
            ],
            options={
                'ordering': ['-pk'],
                'default_permissions': ('add', 'view'),
            },
        ),
        migrations.CreateModel(
            name='Example',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('material', twins.columns.ExactJSONField()),
                ('source', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('criterion_version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='examples', to='evaluations.criterionversion')),
                ('result', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='examples', to='evaluations.expectationresult')),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': ('add', 'view'),
            },
        ),
        migrations.CreateModel(
            name='CalibrationResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('labels', agenttwin_site.fields.JSONField(default=list)),
                ('truth', models.CharField(choices=[('PASS', 'Pass'), ('FAIL', 'Fail')], max_length=4, null=True)),
                ('outcome', models.CharField(blank=True, choices=[('', 'waiting'), ('PASS', 'Pass'), ('FAIL', 'Fail'), ('ERROR', 'Error'), ('LEFT_OUT', 'Left Out')], default='', max_length=8)),
                ('agrees', models.BooleanField(null=True)),
                ('score', models.FloatField(blank=True, null=True)),
                ('confidence', models.FloatField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('quotes', twins.columns.ExactJSONField(default=list)),
                ('dropped_quotes', models.PositiveIntegerField(default=0)),
                ('error_kind', models.CharField(blank=True, max_length=20)),
                ('error_detail', models.TextField(blank=True)),
                ('shown', models.TextField(blank=True)),
                ('answered', models.TextField(blank=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ('duration_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('calibration', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='results', to='evaluations.calibration')),
                ('example', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calibration_results', to='evaluations.example')),
            ],
            options={
                'ordering': ['calibration', 'position'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Label',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('label', models.CharField(choices=[('PASS', 'Pass'), ('FAIL', 'Fail')], max_length=4)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('taken_back_at', models.DateTimeField(blank=True, null=True)),
                ('example', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='labels', to='evaluations.example')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='labels', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': ('add',),
            },
        ),
        migrations.CreateModel(
            name='Onlooker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('criterion_version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='onlookers', to='evaluations.criterionversion')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='criterionversion',
            constraint=models.UniqueConstraint(fields=('criterion', 'number'), name='criterion_version_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='criterionversion',
            constraint=models.UniqueConstraint(fields=('criterion', 'rubric_sha256'), name='criterion_rubric_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='criterionversion',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='criterion_versions_count_from_1'),
        ),
        migrations.AddConstraint(
            model_name='criterionversion',
            constraint=models.CheckConstraint(condition=models.Q(('rubric', ''), _negated=True), name='criterion_version_has_a_rubric'),
        ),
        migrations.AddConstraint(
            model_name='criterion',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='criterion_has_a_name'),
        ),
        migrations.AddIndex(
            model_name='calibration',
            index=models.Index(fields=['criterion_version', 'provider', 'model', 'prompt_sha256', '-id'], name='calibration_of_a_judge'),
        ),
        migrations.AddIndex(
            model_name='calibration',
            index=models.Index(condition=models.Q(('state__in', ['QUEUED', 'RUNNING'])), fields=['state', 'lease_expires_at'], name='calibration_open'),
        ),
        migrations.AddConstraint(
            model_name='calibration',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'])), name='calibration_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='calibration',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'COMPLETED'), _negated=True), models.Q(('agreed__isnull', False), ('counted__isnull', False), ('errors__isnull', False), ('finished_at__isnull', False), ('is_calibrated__isnull', False)), _connector='OR'), name='calibration_completed_has_figures'),
        ),
        migrations.AddConstraint(
            model_name='calibration',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('is_calibrated', True), _negated=True), models.Q(('kappa__isnull', False), ('state', 'COMPLETED')), _connector='OR'), name='calibration_needs_a_kappa'),
        ),
        migrations.AddConstraint(
            model_name='calibration',
            constraint=models.CheckConstraint(condition=models.Q(('agreed__isnull', True), ('agreed__lte', models.F('counted')), _connector='OR'), name='calibration_agrees_on_what_counts'),
        ),
        migrations.AddConstraint(
            model_name='calibration',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'RUNNING'), _negated=True), models.Q(('lease_expires_at__isnull', False), models.Q(('claim_token', ''), _negated=True)), _connector='OR'), name='calibration_running_has_a_lease'),
        ),
        migrations.AddConstraint(
            model_name='example',
            constraint=models.UniqueConstraint(fields=('criterion_version', 'digest'), name='example_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='calibrationresult',
            constraint=models.UniqueConstraint(fields=('calibration', 'position'), name='calibration_position_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='calibrationresult',
            constraint=models.UniqueConstraint(fields=('calibration', 'example'), name='calibration_example_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='calibrationresult',
            constraint=models.CheckConstraint(condition=models.Q(('outcome__in', ['', 'PASS', 'FAIL', 'ERROR', 'LEFT_OUT'])), name='calibration_outcome_is_known'),
        ),
        migrations.AddConstraint(
            model_name='calibrationresult',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', 'LEFT_OUT'), ('truth__isnull', True)), models.Q(('truth__isnull', False), models.Q(('outcome', 'LEFT_OUT'), _negated=True)), _connector='OR'), name='calibration_leaves_out_what_people_are_split_over'),
        ),
        migrations.AddConstraint(
            model_name='calibrationresult',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('agrees__isnull', True), ('outcome__in', ['', 'LEFT_OUT'])), models.Q(('agrees', True), ('outcome', models.F('truth'))), models.Q(('agrees', False), ('outcome__in', ['PASS', 'FAIL', 'ERROR']), models.Q(('outcome', models.F('truth')), _negated=True)), _connector='OR'), name='calibration_agrees_is_right'),
        ),
        migrations.AddConstraint(
            model_name='label',
            constraint=models.UniqueConstraint(condition=models.Q(('taken_back_at__isnull', True)), fields=('example', 'person'), name='label_is_one_for_each_person'),
        ),
        migrations.AddConstraint(
            model_name='label',
            constraint=models.CheckConstraint(condition=models.Q(('label__in', ['PASS', 'FAIL'])), name='label_is_known'),
        ),
        migrations.AddConstraint(
            model_name='onlooker',
            constraint=models.UniqueConstraint(fields=('criterion_version', 'person'), name='onlooker_is_unique'),
        ),
        migrations.RunPython(forwards, backwards),
    ]
