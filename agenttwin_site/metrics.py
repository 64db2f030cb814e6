"""Figures for Prometheus: what this process answered, and how the work stands.

Requests are counted in the process that answered them (with ``PROMETHEUS_MULTIPROC_DIR`` in all of them
together). The work is read from the database at each scrape: workers come and go and have no port.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from django.db import DatabaseError
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_AREAS: Final = ("wire", "mcp", "api", "static", "metrics", "admin", "ci")
_OPEN: Final = ("QUEUED", "RUNNING")

REQUESTS: Final = Counter(
    "agenttwin_http_requests", "Answered requests; status 0: broken off", ["area", "method", "status"]
)
SECONDS: Final = Histogram(
    "agenttwin_http_request_seconds",
    "From the request to the end of its answer, planned delays of twins included",
    ["area"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)


def area_of(path: str) -> str:
    """Which part of the site a path is; bounded, as a label has to be."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return first if first in _AREAS else "pages"


def count_request(*, path: str, method: str, status: int, seconds: float) -> None:
    area = area_of(path)
    REQUESTS.labels(area, method if method in _METHODS else "OTHER", str(status)).inc()
    SECONDS.labels(area).observe(seconds)


def exposition() -> bytes:
    """All figures in the text format of Prometheus."""
    requests = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        requests = CollectorRegistry()
        MultiProcessCollector(requests)
    work = CollectorRegistry()
    work.register(_Work())
    return bytes(generate_latest(requests) + generate_latest(work))


class _Work(Collector):
    """How the comparisons stand. Only open cases are counted: an index finds them however many are done."""

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        try:
            figures = list(_figures())
        except DatabaseError:
            figures = []
        up = "Whether the database answered; without it the other figures of the work are missing"
        yield GaugeMetricFamily("agenttwin_database_up", up, value=float(bool(figures)))
        yield from figures


def _figures() -> Iterator[Metric]:
    from evaluations.models import Case, Comparison
    from reviews.services import queue_counts
    from scenarios.holdouts import EVERYTHING

    now = timezone.now()
    comparisons = dict(Comparison.objects.order_by().values_list("state").annotate(Count("pk")))
    yield _labelled("agenttwin_comparisons", "Comparisons by state", "state", comparisons)
    waiting = Case.objects.filter(state__in=_OPEN)
    cases = dict(waiting.order_by().values_list("state").annotate(Count("pk")))
    # Asked for alone: each of the two has an index of its own.
    cases["JUDGING"] = Case.objects.filter(state="JUDGING").count()
    open_cases = {state: cases.get(state, 0) for state in (*_OPEN, "JUDGING")}
    yield _labelled("agenttwin_open_cases", "Cases that are not done, by state", "state", open_cases)
    overdue = waiting.filter(state="RUNNING", lease_expires_at__lt=now).count()
    yield GaugeMetricFamily(
        "agenttwin_overdue_cases", "Running cases whose worker is silent past its lease", value=overdue
    )
    oldest = Comparison.objects.filter(state__in=_OPEN).aggregate(Min("created_at"))["created_at__min"]
    age = (now - oldest).total_seconds() if oldest else 0.0
    yield GaugeMetricFamily(
        "agenttwin_oldest_open_comparison_seconds", "Age of the oldest comparison not done", value=age
    )
    yield _labelled(
        "agenttwin_review_queue", "Open review entries by reason", "reason", queue_counts(EVERYTHING)
    )


def _labelled(name: str, text: str, label: str, counts: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, count in counts.items():
        family.add_metric([str(value)], count)
    return family
