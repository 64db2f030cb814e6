"""The site: settings, root urls, ASGI entry, Celery app. It holds no domain words."""

from agenttwin_site.celery import app as celery_app

__all__ = ["celery_app"]
