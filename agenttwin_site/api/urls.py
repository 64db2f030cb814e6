"""All addresses of /api/v1/: each room brings its own."""

from django.urls import path

from agenttwin_site.api import site
from evaluations.api import (
    agents,
    calibrations,
    cases,
    comparisons,
    criteria,
    datasets,
    fault_cases,
    gate,
    gate_policies,
    sessions,
    suites,
    trials,
    verdicts,
)
from reviews.api import audit, double_reviews, policy, queue, reviews, trajectory
from scenarios import api as scenarios
from scenarios import approval_api as approvals
from twins import api as twins

app_name = "api"
urlpatterns = [
    path("", site.WhoAmI.as_view(), name="root"),
    path("health/", site.Health.as_view(), name="health"),
    path("readiness/", site.Readiness.as_view(), name="readiness"),
    *twins.urlpatterns,
    *scenarios.urlpatterns,
    *approvals.urlpatterns,
    *agents.urlpatterns,
    *datasets.urlpatterns,
    *suites.urlpatterns,
    *fault_cases.urlpatterns,
    *comparisons.urlpatterns,
    *cases.urlpatterns,
    *trials.urlpatterns,
    *gate.urlpatterns,
    *gate_policies.urlpatterns,
    *sessions.urlpatterns,
    *criteria.urlpatterns,
    *calibrations.urlpatterns,
    *verdicts.urlpatterns,
    *trajectory.urlpatterns,
    *reviews.urlpatterns,
    *double_reviews.urlpatterns,
    *policy.urlpatterns,
    *queue.urlpatterns,
    *audit.urlpatterns,
]
