"""Django's entry of the reviews room: it listens to what lower rooms announce."""

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"

    def ready(self) -> None:
        from reviews import receivers

        receivers.connect()
