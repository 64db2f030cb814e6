"""A configured deployment: Django's own checks, log lines, figures, health."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import Client

from agenttwin_site import metrics
from agenttwin_site.logs import AddIds, JsonFormatter, TextFormatter, bound
from agenttwin_site.observed import Observed
from tests.services import POSTGRES, POSTGRES_SERVER, require

ROOT = Path(__file__).resolve().parents[2]
CONFIGURED = {
    "DJANGO_SECRET_KEY": "k3y-of-a-deployment-" + "x7Q_" * 12,
    "DATABASE_URL": "postgres://agenttwin:secret@db.invalid:5432/agenttwin",
    "CELERY_BROKER_URL": "amqp://agenttwin:secret@broker.invalid:5672//",
    "DJANGO_ALLOWED_HOSTS": "agenttwin.example.com",
    "AGENTTWIN_PUBLIC_URL": "https://agenttwin.example.com",
    "AGENTTWIN_TLS": "1",
    "AGENTTWIN_LOG_FORMAT": "json",
    "AGENTTWIN_LOG_LEVEL": "INFO",
}


def test_check_deploy_has_nothing_to_say(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "INFO"],
        env={"PATH": os.environ["PATH"], "AGENTTWIN_DATA_DIR": str(tmp_path), **CONFIGURED},
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("server", ["postgres://postgres@127.0.0.1:1/x", "missing"])
def test_a_database_that_is_not_there_is_a_sentence(tmp_path: Path, server: str) -> None:
    if server == "missing":
        require(POSTGRES)
        server = f"{POSTGRES_SERVER}/agenttwin_no_such_database"
    environment = {"PATH": os.environ["PATH"], "AGENTTWIN_DATA_DIR": str(tmp_path), "DATABASE_URL": server}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        env=environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("The database does not let us in: ")
    assert "DATABASE_URL" in done.stderr


# ------------------------------------------------------------------------------------------------ logs


def _line(formatter: logging.Formatter, **extra: Any) -> str:
    record = logging.getLogger("some.where").makeRecord(
        "some.where", logging.WARNING, "file.py", 1, "one %s\ntwo", ("line",), None, extra=extra
    )
    AddIds().filter(record)
    return formatter.format(record)


def test_a_json_line_is_one_object_with_its_ids() -> None:
    with bound(request_id="r1"), bound(case_id=7):
        text = _line(JsonFormatter(), status=503, request=object())
    assert "\n" not in text
    line = json.loads(text)
    assert (line["message"], line["level"], line["logger"]) == ("one line\ntwo", "WARNING", "some.where")
    assert (line["request_id"], line["case_id"], line["status"]) == ("r1", 7, 503)
    assert "request" not in line
    assert line["time"].endswith("+00:00")


def test_an_exception_stays_in_its_line() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.makeLogRecord({"msg": "m", "exc_info": sys.exc_info()})
    text = JsonFormatter().format(record)
    assert "ValueError: broken" in json.loads(text)["exception"]
    assert "\n" not in text


def test_a_text_line_ends_with_the_ids_and_nothing_without_any() -> None:
    with bound(case_id=7):
        assert _line(TextFormatter()).endswith("[case_id=7]")
    assert _line(TextFormatter()).endswith("two")


def test_ids_end_with_their_block() -> None:
    with bound(case_id=7):
        pass
    assert "case_id" not in json.loads(_line(JsonFormatter()))


# -------------------------------------------------------------------------------------------- requests


def _asked(path: str, headers: list[tuple[bytes, bytes]], caplog: Any) -> tuple[dict[bytes, bytes], Any]:
    """The headers of an answer of `Observed`, and the record of its log line."""
    sent: list[Any] = []

    async def site(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "method": "GET", "headers": headers, "query_string": b"token=x"}
    caplog.handler.addFilter(AddIds())
    with caplog.at_level(logging.INFO, logger="agenttwin.request"):
        async_to_sync(Observed(site))(scope, None, send)
    return dict(sent[0]["headers"]), caplog.records[-1]


def test_a_request_has_an_id_in_its_answer_and_its_line(caplog: Any) -> None:
    headers, record = _asked("/comparisons/", [], caplog)
    assert record.ids["request_id"].encode() == headers[b"x-request-id"]
    assert (record.status, record.path, record.method) == (204, "/comparisons/", "GET")
    assert "token=x" not in record.getMessage()


@pytest.mark.parametrize(
    ("given", "is_kept"), [(b"abc-1", True), (b"a b", False), (b"x" * 200, False), (b"", False)]
)
def test_the_id_of_a_proxy_is_kept_if_it_can_be_one(given: bytes, is_kept: bool, caplog: Any) -> None:
    headers, _ = _asked("/", [(b"x-request-id", given)], caplog)
    assert (headers[b"x-request-id"] == given) is is_kept


@pytest.mark.parametrize("path", ["/wire/x/tools/y", "/mcp/x/"])
def test_the_answers_of_twins_get_no_header(path: str, caplog: Any) -> None:
    headers, record = _asked(path, [], caplog)
    assert headers == {b"a": b"b"}
    assert record.status == 204


# --------------------------------------------------------------------------------------------- figures


@pytest.fixture
def token(db: Any, django_user_model: Any) -> Callable[..., str]:
    def make(*scopes: str) -> str:
        from reviews.services.tokens import create_token

        user = get_user_model().objects.create_superuser("operator", password="x" * 12)
        return create_token(user=user, name="t", scopes=scopes, expires_at=None, actor=user)[1]

    return make


def test_figures_need_a_token_that_may_read(client: Client, token: Callable[..., str]) -> None:
    assert client.get("/metrics").status_code == 401
    answer = client.get("/metrics", headers={"authorization": f"Bearer {token('read')}"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    text = answer.content.decode()
    for line in ("agenttwin_database_up 1.0", 'agenttwin_open_cases{state="QUEUED"} 0.0', "process_"):
        assert line in text, text


def test_a_token_for_something_else_sees_no_figures(client: Client, token: Callable[..., str]) -> None:
    assert client.get("/metrics", headers={"authorization": f"Bearer {token('review')}"}).status_code == 403


def test_prometheus_may_say_what_it_accepts(client: Client, settings: Any, db: Any) -> None:
    settings.AGENTTWIN_METRICS_PUBLIC = True
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    assert client.get("/metrics", headers={"accept": accept}).status_code == 200


def test_open_figures_tell_of_an_outage(client: Client, settings: Any, monkeypatch: Any) -> None:
    settings.AGENTTWIN_METRICS_PUBLIC = True

    def away() -> Any:
        raise OperationalError("away")

    monkeypatch.setattr(metrics, "_figures", away)
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert b"agenttwin_database_up 0.0" in answer.content


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/wire/a/b", "wire"),
        ("/api/v1/", "api"),
        ("/", "pages"),
        ("/comparisons/1/", "pages"),
        ("*", "pages"),
    ],
)
def test_an_area_is_one_of_a_few(path: str, area: str) -> None:
    assert metrics.area_of(path) == area
