"""Django's entry of the evaluations room."""

from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "evaluations"

    def ready(self) -> None:
        from evaluations import checks  # noqa: F401 - registers them
