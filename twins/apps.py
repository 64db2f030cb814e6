"""Django's entry of the twins room."""

from django.apps import AppConfig


class TwinsConfig(AppConfig):
    name = "twins"
