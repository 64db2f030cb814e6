"""Which judges gave verdicts in a comparison, so that its pages need not look through them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0010_gate_decision_headline'),
    ]

    operations = [
        migrations.CreateModel(
            name='ComparisonJudge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('provider', models.CharField(max_length=50)),
                ('model', models.CharField(max_length=200)),
                ('judge_label', models.CharField(max_length=50)),
                ('prompt_version', models.CharField(max_length=50)),
                ('prompt_sha256', models.CharField(max_length=64)),
                ('criterion', models.TextField()),
                ('rubric_sha256', models.CharField(max_length=64)),
                ('comparison', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='judges', to='evaluations.comparison')),
            ],
            options={
                'ordering': ['comparison', 'id'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('comparison', 'digest'), name='comparison_judge_is_unique')],
            },
        ),
    ]
