"""The shapes of the statistics of trials: `evaluations.reporting.trial_figures` fills them."""

from __future__ import annotations

from rest_framework import serializers


class MeanShape(serializers.Serializer):
    """A mean over tasks, each counting once; null unless every task has the figure."""

    value = serializers.FloatField(allow_null=True)
    tasks = serializers.IntegerField()
    tasks_with_a_figure = serializers.IntegerField()


class MeanOfKShape(serializers.Serializer):
    k = serializers.IntegerField()
    mean_pass_at_k = MeanShape()
    mean_pass_hat_k = MeanShape()


class CostShape(serializers.Serializer):
    """`unknown`: the cost of a run is not known. `never`: nothing passes."""

    state = serializers.ChoiceField(choices=["known", "unknown", "never"])
    usd = serializers.FloatField(allow_null=True)


class CountsShape(serializers.Serializer):
    n = serializers.IntegerField(help_text="All trials, errored ones included.")
    c = serializers.IntegerField(help_text="Those that passed.")
    failed = serializers.IntegerField()
    errored = serializers.IntegerField(help_text="Those that could not be graded.")


class SuiteSideShape(CountsShape):
    tasks = serializers.IntegerField()
    mean_pass_rate = MeanShape()
    by_k = MeanOfKShape(many=True)
    cost_per_success = CostShape()


class OfKShape(serializers.Serializer):
    k = serializers.IntegerField()
    pass_at_k = serializers.FloatField(allow_null=True, help_text="At least one of k trials passes.")
    pass_hat_k = serializers.FloatField(allow_null=True, help_text="pass^k: all of k trials pass.")


class TaskSideShape(CountsShape):
    pass_rate = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Wilson, 95%: from, to."
    )
    by_k = OfKShape(many=True)
    cost_per_success = CostShape()


class SignificanceShape(serializers.Serializer):
    p_value = serializers.FloatField()
    adjusted_p_value = serializers.FloatField(help_text="Raised for the tests made together; it decides.")
    significant = serializers.BooleanField(help_text="The adjusted p-value is below 0.01.")
    words = serializers.CharField()


class PairedShape(serializers.Serializer):
    """The same trial on both sides; McNemar's exact test over all of them."""

    both_pass = serializers.IntegerField()
    both_fail = serializers.IntegerField()
    only_baseline = serializers.IntegerField()
    only_candidate = serializers.IntegerField()
    without_evidence = serializers.IntegerField(help_text="Not graded on both sides, so not compared.")
    test = SignificanceShape(allow_null=True)


class TaskShape(serializers.Serializer):
    scenario = serializers.CharField()
    severity = serializers.CharField()
    rerun = serializers.IntegerField(help_text="Trials that errored and were run again.")
    baseline = TaskSideShape(required=False, help_text="Left out where the candidate was tried alone.")
    candidate = TaskSideShape()
    paired = PairedShape(allow_null=True)


class MeasuredShape(serializers.Serializer):
    passed = serializers.IntegerField()
    failed = serializers.IntegerField()


class CheckDifferenceShape(serializers.Serializer):
    """An expectation whose failures differ; Fisher's exact test, raised for all checks by Holm's method."""

    scenario = serializers.CharField()
    id = serializers.CharField()
    critical = serializers.BooleanField()
    baseline = MeasuredShape()
    candidate = MeasuredShape()
    unmeasured = serializers.IntegerField()
    test = SignificanceShape()


class SuiteShape(serializers.Serializer):
    baseline = SuiteSideShape(required=False, help_text="Left out where the candidate was tried alone.")
    candidate = SuiteSideShape()


class StatisticsShape(serializers.Serializer):
    """The suite's means, and every task they stand above."""

    suite = SuiteShape()
    paired = PairedShape()
    unequal = serializers.ListField(
        child=serializers.CharField(), help_text="Where the sides do not stand on the same evidence."
    )
    rerun = serializers.IntegerField(help_text="Trials that errored and were run again.")
    tasks = TaskShape(many=True)
    checks = CheckDifferenceShape(many=True, help_text="Checks whose failures differ between the sides.")
