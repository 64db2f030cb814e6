"""What the environment says wrongly is said in one line, and a variable set to nothing is not set."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "agenttwin_site" / "settings.py"
_PRINT = (
    "from django.conf import settings as s; "
    "print(s.DATABASES['default']['NAME'], s.CELERY_BROKER_URL, s.BROKER_IS_CONFIGURED, "
    "*s.AGENTTWIN_IN_PROCESS_AGENTS)"
)


def settings_with(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """What the settings module makes of these variables and of none else."""
    for name in [*os.environ]:
        if name.startswith(("AGENTTWIN_", "DJANGO_", "CELERY_", "DATABASE_")):
            monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "foo://ada:pa55word@host/name"),
        ("AGENTTWIN_IN_PROCESS_AGENTS", "my_package.MyAgent"),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "http://ada:pa55word@host"}'),
        ("AGENTTWIN_LEASE_SECONDS", "x"),
    ],
)
def test_a_command_ends_in_one_line_and_status_4(tmp_path: Path, variable: str, value: str) -> None:
    environment = {"AGENTTWIN_DATA_DIR": str(tmp_path), variable: value}

    done = manage("compare", "any", "--baseline", "1.0.0", "--candidate", "1.0.0", **environment)

    assert done.returncode == 4
    assert done.stderr.startswith(f"Configuration: {variable}")
    assert len(done.stderr.splitlines()) == 1
    assert "pa55word" not in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "rubbish"),
        ("DATABASE_URL", "postgres://ada:pa55/word@host/name"),
        ("CELERY_BROKER_URL", "pa55word@host:5672"),
        ("AGENTTWIN_CACHE_URL", "pa55word@host:6379"),
        ("AGENTTWIN_IN_PROCESS_AGENTS", '["my-agent"]'),
        ("AGENTTWIN_IN_PROCESS_AGENTS", '{"my-agent": 5}'),
        ("AGENTTWIN_AGENT_ENDPOINTS", "http://ada:pa55word@host"),
        ("AGENTTWIN_AGENT_ENDPOINTS", '["http://127.0.0.1:9000"]'),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": 9000}'),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "127.0.0.1:9000"}'),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "ftp://host"}'),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "http://ada:pa55/word@host"}'),
        ("AGENTTWIN_AGENT_ENDPOINTS", '{"my-agent": "http://host?key=pa55word"}'),
        ("AGENTTWIN_PUBLIC_URL", "twins.example.org"),
        ("AGENTTWIN_PUBLIC_URL", "https://ada:pa55word@host"),
        ("AGENTTWIN_REMOTE_CASES", "0"),
        ("AGENTTWIN_REMOTE_CASES", "many"),
        ("AGENTTWIN_LEASE_SECONDS", "0"),
        ("AGENTTWIN_LEASE_SECONDS", "1.5"),
        ("AGENTTWIN_LEASE_SECONDS", "1" * 30),
        ("AGENTTWIN_LEASE_SECONDS", "1" * 5000),
        ("AGENTTWIN_STALL_SECONDS", "nan"),
        ("AGENTTWIN_STALL_SECONDS", "-1"),
        ("AGENTTWIN_SWEEP_SECONDS", "0"),
        ("AGENTTWIN_SWEEP_SECONDS", "inf"),
        ("AGENTTWIN_API_RATE", "-1"),
        ("AGENTTWIN_API_RATE", "fast\nfaster"),
        ("AGENTTWIN_LOG_LEVEL", "loud"),
        ("AGENTTWIN_TLS", "maybe"),
        ("DJANGO_DEBUG", "maybe"),
        ("JUDGE_PROVIDER", "oracle"),
        ("JUDGE_BASE_URL", "https://ada:pa55word@host/v1"),
        ("JUDGE_TIMEOUT_S", "0"),
        ("JUDGE_MAX_CALLS", "-1"),
        ("JUDGE_MAX_COST_USD", "nan"),
        ("JUDGE_MAX_COST_USD", "cheap"),
        ("JUDGE_PRICE_INPUT", "3"),
        ("JUDGE_CONCURRENCY", "0"),
        ("JUDGE_CACHE", "maybe"),
    ],
)
def test_a_value_that_cannot_be_meant_is_one_line_about_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        settings_with(monkeypatch, AGENTTWIN_DATA_DIR=str(tmp_path), **{variable: value})

    said = str(refused.value)
    assert said.startswith(variable)
    assert len(said.splitlines()) == 1
    assert len(said) < 200
    assert "pa55" not in said


def test_an_agent_without_a_usable_address_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = '{"this-one-works": "https://agents.example.org/a", "my-agent": "nowhere"}'
    with pytest.raises(ImproperlyConfigured, match="'my-agent': must be an http or https address"):
        settings_with(monkeypatch, AGENTTWIN_DATA_DIR=str(tmp_path), AGENTTWIN_AGENT_ENDPOINTS=written)


def test_what_is_written_is_what_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with(
        monkeypatch,
        AGENTTWIN_DATA_DIR=str(tmp_path),
        AGENTTWIN_AGENT_ENDPOINTS='{"my-agent": "http://127.0.0.1:9000/v1/"}',
        AGENTTWIN_PUBLIC_URL="https://twins.example.org/",
        AGENTTWIN_REMOTE_CASES="20",
        AGENTTWIN_LEASE_SECONDS=" 5 ",
        AGENTTWIN_STALL_SECONDS="0.5",
        AGENTTWIN_LOG_LEVEL="info",
        AGENTTWIN_CACHE_URL="redis://host:6379/1",
        CELERY_BROKER_URL="amqp://ada:pa55word@host:5672/name",
        DJANGO_ALLOWED_HOSTS="twins.example.org, 10.0.0.1",
        AGENTTWIN_TLS="true",
    )

    assert settings["AGENTTWIN_AGENT_ENDPOINTS"] == {"my-agent": "http://127.0.0.1:9000/v1/"}
    assert settings["AGENTTWIN_PUBLIC_URL"] == "https://twins.example.org"
    assert settings["AGENTTWIN_REMOTE_CASES"] == 20
    assert settings["AGENTTWIN_LEASE_SECONDS"] == 5
    assert settings["AGENTTWIN_STALL_SECONDS"] == 0.5
    assert settings["LOGGING"]["root"]["level"] == "INFO"
    assert settings["CACHES"]["default"]["LOCATION"] == "redis://host:6379/1"
    assert settings["CELERY_BROKER_URL"] == "amqp://ada:pa55word@host:5672/name"
    assert settings["ALLOWED_HOSTS"] == ["twins.example.org", "10.0.0.1"]
    assert settings["SECURE_SSL_REDIRECT"] is True


def test_every_variable_set_to_nothing_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set(re.findall(r'"((?:AGENTTWIN|DJANGO|CELERY|DATABASE|JUDGE)_[A-Z_]+)"', SETTINGS.read_text()))
    names -= {"AGENTTWIN_DATA_DIR"}
    assert len(names) > 12
    without = settings_with(monkeypatch, AGENTTWIN_DATA_DIR=str(tmp_path))
    empty = settings_with(monkeypatch, AGENTTWIN_DATA_DIR=str(tmp_path), **dict.fromkeys(names, ""))

    assert without["LOGGING"]["root"] == empty["LOGGING"]["root"]
    same = [name for name in without if name.isupper() and name != "LOGGING"]
    assert {name for name in same if repr(without[name]) != repr(empty[name])} == set()


def test_variables_set_to_nothing_are_not_set(tmp_path: Path) -> None:
    names = ("DATABASE_URL", "CELERY_BROKER_URL", "AGENTTWIN_IN_PROCESS_AGENTS")
    environment = {"AGENTTWIN_DATA_DIR": str(tmp_path), **dict.fromkeys(names, "")}

    done = manage("shell", "--verbosity", "0", "--command", _PRINT, **environment)

    database = tmp_path / "agenttwin.sqlite3"
    assert done.stdout.split()[:4] == [str(database), "filesystem://", "False", "support-refund-agent"]
