"""Addresses of this room."""

from django.urls import path

from twins import views

app_name = "twins"
urlpatterns = [
    path("twins/", views.twin_list, name="twin_list"),
    path("twins/<str:name>/", views.twin, name="twin"),
    path("twins/<str:name>/text/", views.twin_text, name="twin_text"),
]
