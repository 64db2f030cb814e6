"""What the environment says wrongly is said in one line, and a variable set to nothing is not set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
_PRINT = (
    "from django.conf import settings as s; "
    "print(s.DATABASES['default']['NAME'], s.CELERY_BROKER_URL, s.BROKER_IS_CONFIGURED, "
    "*s.AGENTTWIN_IN_PROCESS_AGENTS)"
)


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
        ("DATABASE_URL", "rubbish"),
        ("DATABASE_URL", "foo://ada:pa55word@host/name"),
        ("AGENTTWIN_IN_PROCESS_AGENTS", "my_package.MyAgent"),
        ("AGENTTWIN_IN_PROCESS_AGENTS", '["my-agent"]'),
        ("AGENTTWIN_IN_PROCESS_AGENTS", '{"my-agent": 5}'),
    ],
)
def test_a_value_that_cannot_be_meant_is_one_line_and_status_4(
    tmp_path: Path, variable: str, value: str
) -> None:
    environment = {"AGENTTWIN_DATA_DIR": str(tmp_path), variable: value}

    done = manage("compare", "any", "--baseline", "1.0.0", "--candidate", "1.0.0", **environment)

    assert done.returncode == 4
    assert done.stderr.startswith(f"Configuration: {variable} ")
    assert len(done.stderr.splitlines()) == 1
    assert "pa55word" not in done.stderr


def test_variables_set_to_nothing_are_not_set(tmp_path: Path) -> None:
    names = ("DATABASE_URL", "CELERY_BROKER_URL", "AGENTTWIN_IN_PROCESS_AGENTS")
    environment = {"AGENTTWIN_DATA_DIR": str(tmp_path), **dict.fromkeys(names, "")}

    done = manage("shell", "--verbosity", "0", "--command", _PRINT, **environment)

    database = tmp_path / "agenttwin.sqlite3"
    assert done.stdout.split() == [str(database), "filesystem://", "False", "support-refund-agent"]
