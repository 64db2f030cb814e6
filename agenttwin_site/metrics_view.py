"""``/metrics``: for a token with the scope read, or for everybody where a setting says so."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST

from agenttwin_site.api.access import PUBLIC, Access
from agenttwin_site.api.views import ApiView
from agenttwin_site.metrics import exposition
from evaluations.api.comparisons import IgnoreAccept


class Metrics(ApiView):
    access = {"GET": Access(("read",), "evaluations.view_comparison")}
    content_negotiation_class = IgnoreAccept
    schema = None

    def access_of(self, method: str | None) -> Access:
        return PUBLIC if settings.AGENTTWIN_METRICS_PUBLIC else super().access_of(method)

    def get_authenticators(self) -> Any:
        # Where nobody is asked, an outage of the database must not hide the figure that tells of it.
        return [] if settings.AGENTTWIN_METRICS_PUBLIC else super().get_authenticators()

    def get(self, request: Any) -> HttpResponse:
        return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)
