"""The CI client against the site as it is served, with a real token: what a build sees."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ci.client import CLIENT, VERSIONS, environment, run
from tests.pages.served import Served, prepared, serving

GOOD = ("--baseline", "1.2.4", "--candidate", "1.3.1")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    here = prepared(tmp_path_factory.mktemp("ci"))
    with serving(here):
        yield here


@pytest.fixture(scope="module")
def token(site: Served) -> str:
    return site.run("create_token", "editor", "--scope", "run").strip()


def test_a_candidate_that_fails_anew_blocks(site: Served, token: str, tmp_path: Path) -> None:
    done = run(
        *VERSIONS, "--format", "json", "--output", "out.json", env=environment(site.url, token), cwd=tmp_path
    )
    assert done.returncode == 3, done.stderr
    assert "2 new critical failures, 1 regression, 6 unchanged" in done.stdout
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["summary"]["NEW_CRITICAL_FAILURE"] == 2
    assert len(report["cases"]) == 9
    assert "18 of 18 cases" in done.stderr


def test_a_candidate_that_fails_nothing_passes(site: Served, token: str) -> None:
    done = run(*GOOD, "--format", "json", env=environment(site.url, token))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["UNCHANGED"] == 9


def test_junit_and_markdown(site: Served, token: str, tmp_path: Path) -> None:
    env = environment(site.url, token)
    options = (*VERSIONS, "--scenario", "refund-happy-path", "--key", "two-formats")
    junit = run(*options, "--format", "junit", "--output", str(tmp_path / "report.xml"), env=env)
    markdown = run(*options, "--format", "markdown", env=env)
    assert (junit.returncode, markdown.returncode) == (3, 3), junit.stderr + markdown.stderr
    suite = ET.parse(tmp_path / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert markdown.stdout.startswith("### ")
    # The second command waited for nothing: the key had found the comparison of the first.
    assert " found: " in markdown.stderr


def test_the_status_comes_through_a_pipe(site: Served, token: str) -> None:
    command = f"{sys.executable} {CLIENT} compare support-refund-agent {' '.join(VERSIONS)} --tag smoke"
    for reader, expected in (("cat >/dev/null", 3), ("true", 3)):
        line = f"set -o pipefail; {command} | {reader}"
        done = subprocess.run(
            ["bash", "-c", line], env=environment(site.url, token), capture_output=True, text=True, timeout=90
        )
        assert done.returncode == expected, done.stderr
        assert "BrokenPipe" not in done.stderr


def test_unknown_names_are_wrong_arguments_all_told(site: Served, token: str) -> None:
    done = run("--baseline", "1.2.4", "--candidate", "9.9", "--tag", "nix", env=environment(site.url, token))
    assert done.returncode == 2
    assert "9.9" in done.stderr
    assert "'nix'" in done.stderr


def test_a_bad_token_cannot_run(site: Served) -> None:
    done = run(*VERSIONS, env=environment(site.url, "att_not-a-token-of-this-server"))
    assert done.returncode == 4
    assert "AGENTTWIN_TOKEN is not accepted" in done.stderr


def test_a_token_without_the_scope_cannot_run(site: Served) -> None:
    reading = site.run("create_token", "editor", "--scope", "read").strip()
    done = run(*VERSIONS, env=environment(site.url, reading))
    assert done.returncode == 4
    assert "HTTP 403" in done.stderr


def test_another_request_under_a_key_cannot_run(site: Served, token: str) -> None:
    env = environment(site.url, token)
    one = ("--scenario", "refund-over-limit", "--key", "mine")
    assert run(*GOOD, *one, env=env).returncode == 0
    done = run(*GOOD, *one, "--seed", "5", env=env)
    assert done.returncode == 4
    assert "409" in done.stderr


def test_steps_of_one_job_attempt_meet_and_a_rerun_compares_anew(site: Served, token: str) -> None:
    job = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "c0ffee", "GITHUB_RUN_ID": "1"}
    one = (*GOOD, "--scenario", "refund-over-limit")
    said = [
        run(*one, env=environment(site.url, token, **job, GITHUB_RUN_ATTEMPT=attempt)).stderr.split(" at ")[0]
        for attempt in ("1", "1", "2")
    ]
    first, again, rerun = (line.splitlines()[0] for line in said)
    assert again == first.replace(" started: ", " found: ")
    assert " started: " in rerun
    assert rerun != first


def test_the_client_is_fetched_from_the_server_without_a_login(site: Served, tmp_path: Path) -> None:
    with urllib.request.urlopen(f"{site.url}/ci/agenttwin_ci.py") as answer:
        content = answer.read()
        assert answer.headers.get_content_type() == "text/x-python"
    assert content == CLIENT.read_bytes()
    fetched = tmp_path / "fetched.py"
    fetched.write_bytes(content)
    done = subprocess.run([sys.executable, "-I", str(fetched), "--version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
