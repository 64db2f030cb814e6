"""Figures of agreement, written so that what falls short of a bound never reads as if it reached it."""

from __future__ import annotations

from django import template

from evaluations.grading import calibrating

register = template.Library()

register.filter("percent", calibrating.percent)
register.filter("two_places", calibrating.two_places)
