"""Addresses of this room."""

from django.urls import path

from evaluations.views import comparisons, downloads, starting

app_name = "evaluations"
urlpatterns = [
    path("comparisons/", comparisons.comparison_list, name="comparison_list"),
    path("comparisons/start/", starting.comparison_start, name="comparison_start"),
    path("comparisons/<int:pk>/", comparisons.comparison_detail, name="comparison"),
    path("comparisons/<int:pk>/progress/", comparisons.comparison_progress, name="comparison_progress"),
    path("comparisons/<int:pk>/cancel/", comparisons.comparison_cancel, name="comparison_cancel"),
    path("comparisons/<int:pk>/report.<str:format>", downloads.comparison_report, name="comparison_report"),
]
