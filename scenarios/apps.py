"""Django's entry of the scenarios room."""

from django.apps import AppConfig


class ScenariosConfig(AppConfig):
    name = "scenarios"
