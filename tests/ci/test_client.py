"""The CI client's own rules, against a small server that misbehaves as told."""

from __future__ import annotations

import ast
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.ci.client import CLIENT, VERSIONS, Answer, comparison, environment, run, small_server

DONE = Answer(201, comparison())
TEXT = Answer(200, b"the text report\n")
BUSY = Answer(503, {"code": "unavailable", "detail": "The database does not answer."}, {"Retry-After": "1"})


def test_it_is_one_file_for_python_3_9_with_the_standard_library_alone() -> None:
    tree = ast.parse(CLIENT.read_text(), feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert imported <= sys.stdlib_module_names


def test_transient_failures_are_tried_again_as_the_server_asks() -> None:
    throttled = Answer(429, {"code": "throttled", "detail": "Too many."}, {"Retry-After": "0"})
    cut = Answer(201, b'{"id": 7', cut=True)
    answers = (BUSY, throttled, Answer(502, b"<html>bad gateway</html>"), cut, DONE, TEXT)
    started = time.monotonic()
    with small_server(*answers) as small:
        done = run(*VERSIONS, env=environment(small.url))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the text report\n"
    assert time.monotonic() - started > 1
    starts = [headers["Idempotency-Key"] for method, _, headers, _ in small.asked if method == "POST"]
    assert len(starts) == 5
    # Had one of the lost answers been a comparison, this key would have found it.
    assert len(set(starts)) == 1


def test_an_outage_that_outlasts_the_time_cannot_run() -> None:
    with small_server(Answer(503, b"down", {"Retry-After": "60"})) as small:
        done = run(*VERSIONS, "--timeout", "5", env=environment(small.url))
    assert done.returncode == 4
    assert "HTTP 503" in done.stderr
    assert len(small.asked) == 1


def test_a_server_that_always_fails_is_not_tried_for_ever() -> None:
    with small_server(Answer(500, {"code": "error", "detail": "Ours."}, {"Retry-After": "0"})) as small:
        done = run(*VERSIONS, env=environment(small.url))
    assert done.returncode == 4
    assert "tried 8 times" in done.stderr


def test_a_refusal_is_not_tried_again() -> None:
    with small_server(Answer(403, {"code": "permission_denied", "detail": "No."})) as small:
        assert run(*VERSIONS, env=environment(small.url)).returncode == 4
    assert len(small.asked) == 1


def test_unreachable_cannot_run() -> None:
    done = run(*VERSIONS, env=environment("http://127.0.0.1:9"))
    assert done.returncode == 4
    assert "cannot be reached" in done.stderr
    assert done.stdout == ""


def test_a_comparison_that_never_ends_is_a_timeout() -> None:
    with small_server(Answer(201, comparison("RUNNING")), Answer(200, comparison("RUNNING"))) as small:
        done = run(*VERSIONS, "--timeout", "1.5", "--key", "k1", env=environment(small.url))
    assert done.returncode == 4
    assert "timeout: comparison 7 is still RUNNING" in done.stderr
    assert "--key k1" in done.stderr
    # It goes on: a later run of the same job finds it.
    assert not [path for _, path, _, _ in small.asked if "cancel" in path]


def test_an_answer_that_drips_in_is_bounded_by_the_time() -> None:
    """Each byte comes within a socket's patience; all of them together would take for ever."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 1000000\r\n\r\n")
        try:
            for _ in range(200):
                connection.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            connection.close()

    threading.Thread(target=drip, daemon=True).start()
    done = run(*VERSIONS, "--timeout", "1", env=environment(f"http://127.0.0.1:{listener.getsockname()[1]}"))
    listener.close()
    assert done.returncode == 4
    assert "timeout" in done.stderr


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        (comparison(), 0),
        (comparison(blocks=True), 3),
        (comparison(summary={"REGRESSED": 1}), 3),
        (comparison(summary={"INCOMPLETE": 1}), 3),
        (comparison("INCOMPLETE"), 3),
        (comparison(pending=1), 3),
        (comparison(summary={"UNCHANGED": 0}), 3),
        (comparison(blocks=None), 3),
        (comparison(summary={"UNCHANGED": "9"}), 3),
        (comparison("CANCELLED", reason="cancelled by ann"), 4),
        (comparison("FAILED", reason="no worker"), 4),
        (comparison("SOMETHING NEW"), 4),
    ],
)
def test_only_whole_evidence_passes(ended: dict[str, Any], status: int) -> None:
    with small_server(Answer(201, ended), TEXT) as small:
        assert run(*VERSIONS, env=environment(small.url)).returncode == status


def test_the_request_is_what_was_asked() -> None:
    options = ("--scenario", "a", "--scenario", "b", "--tag", "t", "--trials", "3", "--seed", "9")
    with small_server(DONE, TEXT) as small:
        run(*VERSIONS, *options, env=environment(f"{small.url}/prefix/"), agent="my-agent")
    method, path, _, body = small.asked[0]
    assert (method, path) == ("POST", "/prefix/api/v1/comparisons/")
    assert body == {
        "agent": "my-agent",
        "baseline": "1.2.4",
        "candidate": "1.3.0",
        "scenarios": ["a", "b"],
        "tags": ["t"],
        "trials": 3,
        "seed": 9,
    }
    # Names that were not given are left out: an empty list would be an empty selection.
    with small_server(DONE, TEXT) as small:
        run(*VERSIONS, env=environment(small.url))
    assert set(small.asked[0][3]) == {"agent", "baseline", "candidate", "seed"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--trials", "0"), ("--trials", "x"), ("--timeout", "0"), ("--timeout", "nan"), ("--seed", "x"),
        ("--key", "two words"), ("--format", "pdf"), ("--output", "no/such/folder/x"), ("--output", "."),
        ("--scen", "a"),
    ],
)  # fmt: skip
def test_wrong_arguments_reach_no_server(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with small_server(DONE, TEXT) as small:
        done = run(*VERSIONS, *arguments, env=environment(small.url), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert small.asked == []


@pytest.mark.parametrize(
    "url",
    ["", "ftp://x/", "agenttwin.example.com", "http://u:p@127.0.0.1/", "http://10.0.0.1/", "http://[::1"],
)
def test_an_address_that_must_not_get_the_token_cannot_run(url: str) -> None:
    assert run(*VERSIONS, env=environment(url)).returncode == 4


def test_plain_http_to_another_machine_needs_the_flag() -> None:
    refused = run(*VERSIONS, env=environment("http://192.0.2.1/"))
    assert (refused.returncode, "--allow-http" in refused.stderr) == (4, True)
    allowed = run(*VERSIONS, "--allow-http", "--timeout", "0.5", env=environment("http://192.0.2.1/"))
    assert (allowed.returncode, "plain http" in allowed.stderr) == (4, False)


@pytest.mark.parametrize("token", ["", "two words", "schön-und-lang-genug"])
def test_a_token_that_is_none_cannot_run_and_is_not_printed(token: str) -> None:
    with small_server(DONE, TEXT) as small:
        assert run(*VERSIONS, env=environment(small.url, token)).returncode == 4
    assert small.asked == []


def test_the_token_follows_no_redirect() -> None:
    with small_server(DONE, TEXT) as elsewhere:
        moved = Answer(302, b"", {"Location": elsewhere.url + "/api/v1/comparisons/"})
        with small_server(moved) as small:
            done = run(*VERSIONS, env=environment(small.url))
        assert done.returncode == 4
        assert elsewhere.asked == []


def test_plain_http_goes_through_no_proxy() -> None:
    with small_server(Answer(201, comparison()), TEXT) as proxy, small_server(DONE, TEXT) as small:
        done = run(*VERSIONS, env=environment(small.url, http_proxy=proxy.url, all_proxy=proxy.url))
        assert done.returncode == 0
        assert proxy.asked == []


def test_a_server_that_repeats_the_token_does_not_get_it_printed() -> None:
    env = environment("")
    with small_server(
        Answer(400, {"code": "x", "detail": f"bad {env['AGENTTWIN_TOKEN']}\x1b[2J\nnext"})
    ) as small:
        done = run(*VERSIONS, env={**env, "AGENTTWIN_URL": small.url})
    assert "bad *** [2J\nagenttwin_ci: next" in done.stderr


def test_another_web_server_is_no_agenttwin() -> None:
    for answer in (Answer(200, b"<html>welcome</html>"), Answer(404, b"nothing"), Answer(201, [1])):
        with small_server(answer) as small:
            assert run(*VERSIONS, env=environment(small.url)).returncode == 4


def test_a_junit_report_with_control_characters_is_read_by_an_xml_parser(tmp_path: Path) -> None:
    report = b'<testsuites><testcase name="a\x00\x1b\xef\xbf\xbe"/></testsuites>'
    with small_server(DONE, Answer(200, report), TEXT) as small:
        done = run(
            *VERSIONS, "--format", "junit", "--output", "r.xml", env=environment(small.url), cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr
    assert ET.parse(tmp_path / "r.xml").getroot()[0].get("name") == "a\ufffd\ufffd\ufffd"


def test_half_a_report_is_no_pass(tmp_path: Path) -> None:
    with small_server(DONE, Answer(200, b"<testsuites>")) as small:
        done = run(*VERSIONS, "--format", "junit", env=environment(small.url))
    assert done.returncode == 4
    assert done.stdout == ""


def test_a_report_of_an_earlier_run_does_not_stay(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"old": "green"}')
    done = run(*VERSIONS, "--output", "r.json", env=environment("http://127.0.0.1:9"), cwd=tmp_path)
    assert done.returncode == 4
    assert (tmp_path / "r.json").read_text() == ""


@pytest.mark.parametrize(("ended", "status"), [(comparison(), 0), (comparison(blocks=True), 3)])
@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-", "| true"])
def test_closed_outputs_do_not_change_the_status(ended: dict[str, Any], status: int, closing: str) -> None:
    report = Answer(200, b"a line of the report\n" * 20_000)
    line = f"set -o pipefail; {sys.executable} {CLIENT} compare a {' '.join(VERSIONS)} {closing}"
    with small_server(Answer(201, ended), report) as small:
        done = subprocess.run(
            ["bash", "-c", line], env=environment(small.url), capture_output=True, timeout=60
        )
    assert done.returncode == status, done.stderr


def test_a_report_that_cannot_be_written_is_no_pass() -> None:
    for ended, status in ((comparison(), 4), (comparison(blocks=True), 3)):
        line = f"{sys.executable} {CLIENT} compare a {' '.join(VERSIONS)} >/dev/full"
        with small_server(Answer(201, ended), TEXT) as small:
            done = subprocess.run(
                ["bash", "-c", line], env=environment(small.url), capture_output=True, timeout=60
            )
        assert done.returncode == status, done.stderr


def test_progress_in_a_log_is_a_line_a_change() -> None:
    running = [
        Answer(200, comparison("RUNNING", progress={"cases": 18, "ended": ended})) for ended in (2, 2, 2, 5)
    ]
    with small_server(Answer(201, comparison("QUEUED")), *running, Answer(200, comparison()), TEXT) as small:
        done = run(*VERSIONS, env=environment(small.url))
    assert done.returncode == 0
    assert re.findall(r"^[A-Z]+: .*$", done.stderr, re.MULTILINE) == [
        "QUEUED: 18 of 18 cases",
        "RUNNING: 2 of 18 cases",
        "RUNNING: 5 of 18 cases",
        "COMPLETED: 18 of 18 cases",
    ]


@pytest.mark.parametrize(("status", "is_cancelled"), [(201, True), (200, False)])
def test_an_ended_job_cancels_what_it_started(status: int, is_cancelled: bool) -> None:
    with small_server(Answer(status, comparison("RUNNING")), Answer(200, comparison("RUNNING"))) as small:
        process = subprocess.Popen(
            [sys.executable, str(CLIENT), "compare", "a", *VERSIONS],
            env=environment(small.url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while len(small.asked) < 2:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 4
    assert "interrupted" in said
    assert bool([path for _, path, _, _ in small.asked if path.endswith("/cancel/")]) == is_cancelled


def test_a_key_in_ci_is_made_of_the_attempt_and_the_request() -> None:
    gitlab = {"GITLAB_CI": "true", "CI_PROJECT_URL": "https://g/x", "CI_COMMIT_SHA": "c0ffee"}
    keys = []
    job, rerun = {**gitlab, "CI_JOB_ID": "1"}, {**gitlab, "CI_JOB_ID": "2"}
    builds: list[tuple[dict[str, str], tuple[str, ...]]] = [
        (job, ()), (job, ()), (rerun, ()), (job, ("--seed", "1")), ({}, ()), ({}, ())
    ]  # fmt: skip
    for env, more in builds:
        with small_server(DONE, TEXT) as small:
            run(*VERSIONS, *more, env=environment(small.url, **env))
        keys.append(small.asked[0][2]["Idempotency-Key"])
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5
