"""Django's entry of the reviews room."""

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "reviews"
