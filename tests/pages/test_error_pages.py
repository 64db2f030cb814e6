"""What is shown when a request cannot be answered."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.test import Client

from agenttwin_site.logs import without_refusals_trace


@pytest.fixture
def calm(viewer: Client) -> Client:
    """A client that shows error pages instead of raising."""
    viewer.raise_request_exception = False
    return viewer


def broken(error: Exception) -> Any:
    def fail(*args: Any, **options: Any) -> None:
        raise error

    return fail


def test_an_unknown_address_gets_a_friendly_404(viewer: Client) -> None:
    response = viewer.get("/nothing/<b>here</b>/")

    assert response.status_code == 404
    assert b"There is nothing at this address" in response.content
    assert b"<b>here" not in response.content


def test_a_refusal_says_why_and_who_the_person_is(viewer: Client, monkeypatch: Any) -> None:
    reason = PermissionDenied("Only editors start comparisons.")
    monkeypatch.setattr("evaluations.views.comparisons.page_queries.comparison_page", broken(reason))

    response = viewer.get("/comparisons/")

    assert response.status_code == 403
    assert b"Only editors start comparisons." in response.content
    assert b"viewer" in response.content


def test_an_unexpected_error_gets_a_friendly_500_without_details(calm: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "evaluations.views.comparisons.page_queries.comparison_page", broken(RuntimeError("secret detail"))
    )

    response = calm.get("/comparisons/")

    assert response.status_code == 500
    assert b"Something went wrong on our side" in response.content
    assert b"secret detail" not in response.content


@pytest.mark.parametrize("error", [OperationalError("connection refused"), InterfaceError("closed")])
@pytest.mark.parametrize(
    "where",
    [
        "evaluations.views.comparisons.page_queries.comparison_page",
        "django.contrib.sessions.backends.db.SessionStore.load",
        "django.contrib.auth.get_user",
    ],
)
def test_a_database_that_does_not_answer_is_503_wherever_it_is_noticed(
    calm: Client, monkeypatch: Any, error: Exception, where: str
) -> None:
    monkeypatch.setattr(where, broken(error))

    response = calm.get("/comparisons/?state=RUNNING")

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert b"The database does not answer" in response.content
    assert b"connection refused" not in response.content


def test_a_form_too_large_is_413(calm: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    response = calm.post("/password/", {"old_password": "x" * 5000})

    assert response.status_code == 413
    assert b"This was too large" in response.content


def test_too_many_fields_are_400(calm: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10

    response = calm.post("/login/", {f"f{number}": "1" for number in range(20)})

    assert response.status_code == 400
    assert b"could not be read" in response.content


def test_a_host_that_is_not_ours_is_400_without_a_page_of_ours(client: Client) -> None:
    assert client.get("/login/", headers={"Host": "evil.example"}).status_code == 400


def test_a_refusal_is_logged_as_one_line() -> None:
    handler = next(one for one in logging.getLogger().handlers if without_refusals_trace in one.filters)
    record = logging.LogRecord("django.request", logging.WARNING, "", 0, "Forbidden: /x/", (), None)
    try:
        raise PermissionDenied
    except PermissionDenied:
        record.exc_info = sys.exc_info()

    assert handler.filter(record)
    assert handler.format(record).endswith("Forbidden: /x/")
