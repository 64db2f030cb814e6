"""`agenttwin_ci.py gate`: statuses, reports, and that nothing unknown reads as a pass or as a warning."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ci.client import CLIENT, Answer, comparison, environment, small_server
from tests.pages.served import Served, prepared, serving

SUITE = ("--dataset", "refund-regression-suite")
ASKED = (*SUITE, "--baseline", "1.2.4", "--candidate", "1.3.0")
RAN = Answer(201, comparison())
TEXT = Answer(200, b"the text report\n")


def gate(*arguments: str, env: dict[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CLIENT), "gate", "support-refund-agent", *arguments]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert env["AGENTTWIN_TOKEN"] not in done.stdout + done.stderr
    return done


def decision(outcome: str = "BLOCK", reads: str | None = None, **fields: Any) -> dict[str, Any]:
    page = {"page": "http://example.invalid/releases/12/"}
    return {"id": 12, "outcome": outcome, "reads": reads or outcome, "links": page, **fields}


def report(status: int, verified: bool = True) -> Answer:
    return Answer(200, {"exit_status": status, "verified": verified})


def answered(*answers: Answer, arguments: tuple[str, ...] = ASKED) -> tuple[int, str, list[Any]]:
    with small_server(*answers) as small:
        done = gate(*arguments, env=environment(small.url))
    return done.returncode, done.stdout + done.stderr, small.asked


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (decision("PASS"), 0),
        (decision("WARN"), 2),
        (decision("BLOCK"), 3),
        (decision("BLOCK", "OVERRIDDEN (originally BLOCK)"), 0),
        (decision("WARN", "OVERRIDDEN (originally WARN)"), 0),
    ],
)
def test_a_decision_is_the_status(made: dict[str, Any], status: int) -> None:
    found, said, asked = answered(RAN, Answer(201, made), report(status), TEXT)
    assert found == status, said
    assert "the text report" in said
    assert f"gate decision 12: {made['reads']}: http://example.invalid/releases/12/" in said
    methods = [(method, path) for method, path, _, _ in asked]
    assert methods[:2] == [("POST", "/api/v1/comparisons/"), ("POST", "/api/v1/gate/decisions/")]
    assert asked[1][3] == {"comparison": 7}


@pytest.mark.parametrize(
    "made",
    [
        {},
        decision("PASS", "BLOCK"),
        decision("BLOCK", "PASS"),
        decision("BLOCK", "OVERRIDDEN"),
        decision("BLOCK", "OVERRIDDEN (originally WARN)"),
        decision("GREEN"),
        {"id": 12, "outcome": "PASS"},
        {"id": "12", "outcome": "PASS", "reads": "PASS"},
    ],
)
def test_what_is_no_decision_could_not_be_decided(made: dict[str, Any]) -> None:
    assert answered(RAN, Answer(201, made), report(0), TEXT)[0] == 4


@pytest.mark.parametrize("outcome", ["PASS", "WARN"])
def test_a_report_that_does_not_verify_or_is_missing_is_no_pass(outcome: str) -> None:
    status = {"PASS": 0, "WARN": 2}[outcome]
    made = Answer(201, decision(outcome))
    for told in (
        report(status, verified=False),
        report(3),
        Answer(404, {"code": "not_found", "detail": "no"}),
    ):
        assert answered(RAN, made, told, TEXT)[0] == 4
    # What blocks still blocks.
    assert answered(RAN, Answer(201, decision()), Answer(404, {"code": "x", "detail": "no"}), TEXT)[0] == 3


@pytest.mark.parametrize("state", ["CANCELLED", "FAILED"])
def test_a_run_that_did_not_end_is_not_decided(state: str) -> None:
    found, said, asked = answered(Answer(201, comparison(state, reason="stopped")))
    assert found == 4
    assert f"comparison 7 is {state}: stopped" in said
    assert len(asked) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        (*ASKED, "--bogus"),
        (*ASKED, "--trials", "0"),
        (*ASKED, "--format", "yaml"),
        ("--candidate", "1.3.0"),
        (*ASKED, "--output", "/nowhere/x"),
        (*ASKED, "--reports", "/"),
    ],
)
def test_wrong_arguments_are_never_a_warning(arguments: tuple[str, ...]) -> None:
    assert answered(RAN, arguments=arguments)[0] == 4


def test_a_misspelt_command_and_refused_names_are_never_a_warning() -> None:
    env = environment("http://127.0.0.1:9")
    for words in (["gaet", "a"], [], ["--bogus", "gate"]):
        done = subprocess.run([sys.executable, str(CLIENT), *words], env=env, capture_output=True)
        assert done.returncode == 4, words
    refused = {
        "code": "invalid_request",
        "detail": "x",
        "problems": [{"path": "dataset", "detail": "unknown"}],
    }
    assert answered(Answer(400, refused))[0] == 4
    # The other command keeps its own.
    done = subprocess.run(
        [sys.executable, str(CLIENT), "compare", "a", "--bogus"], env=env, capture_output=True
    )
    assert done.returncode == 2


def test_without_a_baseline_it_says_so_outright() -> None:
    made = Answer(201, decision("PASS"))
    _, _, asked = answered(RAN, made, report(0), TEXT, arguments=(*SUITE, "--candidate", "1.3.0"))
    assert asked[0][3]["baseline"] is None
    policy = (*ASKED, "--policy", "strict")
    assert answered(RAN, made, report(0), TEXT, arguments=policy)[2][1][3] == {
        "comparison": 7,
        "policy": "strict",
    }


# ------------------------------------------------------------------------------- a real server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    here = prepared(tmp_path_factory.mktemp("ci-gate"))
    with serving(here):
        yield here


def test_it_stops_a_build_of_a_real_server_and_writes_the_reports(site: Served, tmp_path: Path) -> None:
    env = environment(site.url, site.run("create_token", "editor", "--scope", "run").strip())
    folder = tmp_path / "reports"
    done = gate(
        *ASKED, "--reports", str(folder), "--format", "junit", "--output", "gate.xml", env=env, cwd=tmp_path
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(
        "BLOCK: support-refund-agent 1.3.0 against 1.2.4\n6 of 9 cases passed, 3 failed"
    )
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    index = json.loads((folder / "index.json").read_text())
    assert len(index["reports"]) == 9
    report_of = json.loads((folder / "SR-TIMEOUT-01.json").read_text())
    assert report_of["reason"] == "refunded-exactly-once: orders.ORD-1001.refund_count: expected 1, got 2"

    words = " ".join(("support-refund-agent", *ASKED))
    line = f"set -o pipefail; {sys.executable} {CLIENT} gate {words} | head -1"
    piped = subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True, timeout=120)
    assert piped.returncode == 3, piped.stderr

    good = gate(*SUITE, "--baseline", "1.2.4", "--candidate", "1.3.1", "--reports", str(folder), env=env)
    # Everything passes; what is left to say is that nobody has held the judge of one check against people.
    assert good.returncode == 2, good.stderr
    assert good.stdout.startswith("WARN"), good.stdout
    assert {one["passed"] for one in json.loads((folder / "index.json").read_text())["reports"]} == {True}
    # Alone, everything it declares is new, and no passing scenario calls one of its tools.
    alone = gate(*SUITE, "--candidate", "1.3.1", env=env)
    assert alone.returncode == 2, alone.stderr
    assert "lookup_customer: a new tool (READ)" in alone.stdout
