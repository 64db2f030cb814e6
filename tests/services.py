"""Servers that some tests need: found on their standard local ports, or the test is skipped loudly.

With ``AGENTTWIN_REQUIRE_SERVICES=1`` (the project's CI) a server that answers must be usable: a test that
would have to skip although its port is open fails instead.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

POSTGRES, RABBITMQ, REDIS = ("PostgreSQL", 5432), ("RabbitMQ", 5672), ("Redis", 6379)
POSTGRES_SERVER = "postgres://postgres@127.0.0.1:5432"
RABBITMQ_URL = "amqp://guest:guest@127.0.0.1:5672//"
REDIS_URL = "redis://127.0.0.1:6379/0"


def answers(service: tuple[str, int]) -> bool:
    """Whether anything listens on the service's port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", service[1]), timeout=1):
            return True
    except OSError:
        return False


def require(service: tuple[str, int]) -> None:
    """Skip the test, loudly, when the service does not answer."""
    if not answers(service):
        pytest.skip(f"NOT TESTED on {service[0]}: nothing answers on 127.0.0.1:{service[1]}")


def unusable(service: tuple[str, int], problem: Exception) -> None:
    """The port is open but the test cannot use what answers: a skip, or a failure where it is required."""
    reason = f"NOT TESTED on {service[0]}: 127.0.0.1:{service[1]} answers but refuses us: {problem}"
    if os.environ.get("AGENTTWIN_REQUIRE_SERVICES"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def postgres_database(template: str | None = None) -> Iterator[str]:
    """A PostgreSQL database of its own, as its URL; dropped afterwards."""
    require(POSTGRES)
    name = f"agenttwin_{uuid.uuid4().hex[:12]}"
    try:
        server = psycopg.connect(f"{POSTGRES_SERVER}/postgres", autocommit=True, connect_timeout=5)
    except psycopg.Error as problem:
        unusable(POSTGRES, problem)
        raise
    with server:
        server.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        try:
            yield f"{POSTGRES_SERVER}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
