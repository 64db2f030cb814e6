"""Addresses of this room."""

from django.urls import path

from evaluations.views import (
    calibrations,
    comparisons,
    criteria,
    datasets,
    downloads,
    gate_policies,
    labelling,
    releases,
    rerunning,
    starting,
    statistics,
    verdicts,
)

app_name = "evaluations"
urlpatterns = [
    path("datasets/", datasets.dataset_list, name="dataset_list"),
    path("datasets/<str:name>/", datasets.dataset, name="dataset"),
    path("datasets/<str:name>/cases/", datasets.dataset_cases, name="dataset_cases"),
    path("datasets/<str:name>/uses/", datasets.dataset_uses, name="dataset_uses"),
    path("datasets/<str:name>/text/", datasets.dataset_text, name="dataset_text"),
    path("datasets/<str:name>/check/", datasets.dataset_check, name="dataset_check"),
    path("comparisons/", comparisons.comparison_list, name="comparison_list"),
    path("comparisons/start/", starting.comparison_start, name="comparison_start"),
    path("comparisons/<int:pk>/", comparisons.comparison_detail, name="comparison"),
    path("comparisons/<int:pk>/progress/", comparisons.comparison_progress, name="comparison_progress"),
    path("comparisons/<int:pk>/cancel/", comparisons.comparison_cancel, name="comparison_cancel"),
    path("comparisons/<int:pk>/statistics/", statistics.comparison_figures, name="figures"),
    path("comparisons/<int:pk>/statistics/pass-hat-k.svg", statistics.suite_chart, name="suite_chart"),
    path(
        "comparisons/<int:pk>/statistics/<str:scenario>/",
        statistics.scenario_figures,
        name="scenario_figures",
    ),
    path(
        "comparisons/<int:pk>/statistics/<str:scenario>/pass-hat-k.svg",
        statistics.scenario_chart,
        name="scenario_chart",
    ),
    path(
        "comparisons/<int:pk>/statistics/<str:scenario>/history.svg",
        statistics.history_chart,
        name="history_chart",
    ),
    path("comparisons/<int:pk>/rerun/", rerunning.comparison_rerun, name="comparison_rerun"),
    path("comparisons/<int:pk>/report.<str:format>", downloads.comparison_report, name="comparison_report"),
    path("comparisons/<int:pk>/gate/", releases.comparison_decide, name="comparison_decide"),
    path("releases/", releases.release_list, name="release_list"),
    path("releases/<int:pk>/", releases.release_detail, name="gate_decision"),
    path("releases/<int:pk>/override/", releases.release_override, name="gate_override"),
    path("releases/overrides/<int:pk>/withdraw/", releases.override_withdraw, name="gate_override_withdraw"),
    path("releases/policies/", gate_policies.policy_list, name="gate_policy_list"),
    path("releases/policies/<str:name>/", gate_policies.policy_detail, name="gate_policy"),
    path("releases/policies/<str:name>/text/", gate_policies.policy_text, name="gate_policy_text"),
    path(
        "releases/policies/<str:name>/activate/", gate_policies.policy_activate, name="gate_policy_activate"
    ),
    path("judges/", criteria.criterion_list, name="criterion_list"),
    path("judges/new/", criteria.criterion_edit, name="criterion_new"),
    path("judges/import/", criteria.examples_import, name="examples_import"),
    path("judges/criteria/<str:name>/", criteria.criterion_detail, name="criterion"),
    path("judges/criteria/<str:name>/rubric/", criteria.criterion_edit, name="criterion_edit"),
    path("judges/criteria/<str:name>/import/", criteria.examples_import, name="criterion_import"),
    path("judges/criteria/<str:name>/carry-over/", criteria.examples_carry_over, name="examples_carry_over"),
    path("judges/criteria/<str:name>/look/", criteria.look_on, name="look_on"),
    path("judges/criteria/<str:name>/label/", labelling.label, name="label"),
    path("judges/criteria/<str:name>/label/undo/", labelling.undo, name="label_undo"),
    path("judges/criteria/<str:name>/examples/", labelling.example_list, name="example_list"),
    path("judges/criteria/<str:name>/calibrate/", calibrations.calibrate, name="calibrate"),
    path("judges/examples/from/<int:result_id>/", criteria.example_from, name="example_from"),
    path("judges/verdicts/<int:pk>/", verdicts.judge_verdict, name="judge_verdict"),
    path("judges/examples/<int:pk>/", labelling.example_detail, name="example"),
    path("judges/calibrations/<int:pk>/", calibrations.calibration_detail, name="calibration"),
    path(
        "judges/calibrations/<int:pk>/progress/",
        calibrations.calibration_progress,
        name="calibration_progress",
    ),
]
