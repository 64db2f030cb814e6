"""schemathesis against a live server: no 500, and no answer outside the description."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pages.served import Served, prepared, serving

VERSION = "4.32.5"
# It pins libraries of its own, so it lives beside ours and not among them; made once.
HOME = Path(sys.prefix) / f"schemathesis-{VERSION}"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
)
SEED = 1
EXAMPLES = 4


def schemathesis() -> Path:
    """The command, installed if it has to be; the test is skipped loudly where that cannot be done."""
    command = HOME / "bin" / "st"
    if command.exists():
        return command
    try:
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True, capture_output=True)
        pip = [str(HOME / "bin" / "pip"), "install", "--quiet", "--no-compile", f"schemathesis=={VERSION}"]
        subprocess.run(pip, check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as problem:
        pytest.skip(f"NOT TESTED with schemathesis: it cannot be installed ({problem})")
    return command


@pytest.fixture(scope="module")
def site(tmp_path_factory: Any) -> Iterator[Served]:
    site = prepared(tmp_path_factory.mktemp("schemathesis"))
    unlimited = pytest.MonkeyPatch()
    # Here every refusal must be the API's own, and none the rate's.
    unlimited.setenv("AGENTTWIN_API_RATE", "0")
    with serving(site):
        yield site
    unlimited.undo()


def test_a_live_server_keeps_to_its_description(site: Served, tmp_path: Path) -> None:
    command = schemathesis()
    scopes = [part for scope in ("read", "run", "review", "edit") for part in ("--scope", scope)]
    token = site.run("create_token", "admin", *scopes).strip()
    report = tmp_path / "events.ndjson"
    run = subprocess.run(
        [
            str(command), "run", f"{site.url}/api/schema/", "-H", f"Authorization: Bearer {token}",
            "--phases", "examples,coverage,fuzzing,stateful", "-n", str(EXAMPLES), "--seed", str(SEED),
            "-c", ",".join(CHECKS), "--warnings", "off", "--report", "ndjson",
            "--report-ndjson-path", str(report), "--report-dir", str(tmp_path), "--no-shrink",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
    statuses = answered(report)
    assert not [status for status in statuses if status[1] >= 500]
    well = {label for label, status in statuses if 200 <= status < 300}
    # A run in which everything is 401 or 404 would be green too.
    for label in (
        "GET /api/v1/comparisons/",
        "GET /api/v1/comparisons/{id}/",
        "GET /api/v1/comparisons/{id}/report/",
        "GET /api/v1/comparisons/{id}/cases/",
        "GET /api/v1/cases/{id}/",
        "GET /api/v1/cases/{id}/trajectory/",
        "GET /api/v1/twins/{name}/",
        "GET /api/v1/audit/",
        "POST /api/v1/comparisons/",
        "POST /api/v1/agents/",
    ):
        assert label in well, (label, sorted(well))
    assert sum(count for (_, status), count in statuses.items() if 200 <= status < 300) > 100


def answered(report: Path) -> Counter[tuple[str, int]]:
    """How often each operation was answered with each status."""
    found: Counter[tuple[str, int]] = Counter()
    with report.open(encoding="utf-8") as lines:
        for line in lines:
            finished = json.loads(line).get("ScenarioFinished")
            for one in (finished or {}).get("recorder", {}).get("interactions", {}).values():
                if one["response"] is not None:
                    method, address = one["request"]["method"], one["request"]["uri"]
                    found[f"{method} {template(address)}", one["response"]["status_code"]] += 1
    return found


_PARTS = (
    (r"/(comparisons|cases|reviews|queue)/\d+/", r"/\1/{id}/"),
    (r"/audit/\d+/", "/audit/{sequence}/"),
    (r"/(twins|scenarios)/([^/]+)/versions/\d+/", r"/\1/\2/versions/{number}/"),
    (r"/agents/([^/]+)/versions/[^/]+/", r"/agents/\1/versions/{version}/"),
    (r"/(twins|scenarios|agents)/[^/]+/", r"/\1/{name}/"),
)


def template(address: str) -> str:
    """The address as the description writes it."""
    path = re.sub(r"^https?://[^/]+", "", address).split("?")[0]
    for pattern, written in _PARTS:
        path = re.sub(pattern, written, path, count=1)
    return path
