"""Django's entry of the evaluations room: it listens to what lower rooms announce."""

from django.apps import AppConfig


class EvaluationsConfig(AppConfig):
    name = "evaluations"

    def ready(self) -> None:
        from evaluations import receivers

        receivers.connect()
