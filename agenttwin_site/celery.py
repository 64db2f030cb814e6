"""The Celery application. The broker only wakes workers; the database row is the truth."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")

app = Celery("agenttwin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
