"""The dataset of a comparison, and its uses, which the database lets nobody take back."""

import django.db.models.deletion
from django.db import migrations, models

from twins.row_guards import Frozen, install, remove

GUARDS = [Frozen("evaluations_datasetuse", unique=(("id",), ("comparison_id",)))]


def forwards(apps, schema_editor):
    for guard in GUARDS:
        install(guard, schema_editor)


def backwards(apps, schema_editor):
    for guard in GUARDS:
        remove(guard, schema_editor)


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0004_calibration'),
        ('scenarios', '0003_datasets'),
    ]

    operations = [
        migrations.AddField(
            model_name='comparison',
            name='dataset_version',
            field=models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='comparisons', to='scenarios.datasetversion'),
        ),
        migrations.CreateModel(
            name='DatasetUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('agent_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='dataset_uses', to='evaluations.agentversion')),
                ('comparison', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='dataset_use', to='evaluations.comparison')),
                ('dataset_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='scenarios.datasetversion')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.RunPython(forwards, backwards),
    ]
