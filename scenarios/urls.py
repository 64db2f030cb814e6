"""Addresses of this room."""

from django.urls import path

from scenarios import views

app_name = "scenarios"
urlpatterns = [
    path("scenarios/", views.scenario_list, name="scenario_list"),
    path("scenarios/<str:name>/", views.scenario, name="scenario"),
    path("scenarios/<str:name>/text/", views.scenario_text, name="scenario_text"),
    path("scenarios/<str:name>/approve/", views.scenario_approve, name="scenario_approve"),
    path("catalogue/", views.catalogue, name="catalogue"),
]
