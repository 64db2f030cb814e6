"""Django's entry of the evaluations room."""

from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "evaluations"
