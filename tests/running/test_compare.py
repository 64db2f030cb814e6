"""``manage.py compare``: its formats, its exit statuses, and that it never ends in a traceback."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from evaluations.models import Comparison
from evaluations.services import waiting
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.waiting import StalledError, wait_for_workers
from tests.running import documents

RESULT_KEYS = ["id", "type", "critical", "status", "label", "reason"]
CALM = [{"type": "maxRetries", "value": 9}]
CASE_KEYS = ["scenario", "severity", "class", "reason", "first_divergence", "baseline", "candidate"]
SIDE_KEYS = ["verdict", "tool_calls", "retries", "results", "final_state_digest"]


def compare(capsys: Any, *arguments: str, versions: tuple[str, str] = ("1.0.0", "2.0.0")) -> tuple[int, str]:
    """Exit status and what went to stdout."""
    status = 0
    try:
        call_command(
            "compare", documents.AGENT, "--baseline", versions[0], "--candidate", versions[1], *arguments
        )
    except CommandError as problem:
        status = problem.returncode
        return status, str(problem)
    except SystemExit as ended:
        status = int(ended.code or 0)
    return status, capsys.readouterr().out


def test_json_has_exactly_the_documented_names(given: Any, capsys: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b", severity="low"))
    status, out = compare(capsys, "--format", "json", "--seed", "5")
    report = json.loads(out)
    assert status == 3
    assert list(report) == ["id", "agent", "baseline", "candidate", "seed", "summary", "tool_calls", "cases"]
    assert report["summary"] == {
        "NEW_CRITICAL_FAILURE": 2, "REGRESSED": 0, "IMPROVED": 0, "UNCHANGED": 0, "INCOMPLETE": 0,
    }  # fmt: skip
    assert report["tool_calls"] == {"baseline": 4, "candidate": 6}
    assert (report["agent"], report["baseline"], report["candidate"], report["seed"]) == (
        documents.AGENT, "1.0.0", "2.0.0", 5,
    )  # fmt: skip
    case = report["cases"][0]
    assert list(case) == [
        "scenario",
        "severity",
        "class",
        "reason",
        "first_divergence",
        "baseline",
        "candidate",
    ]
    assert list(case["baseline"]) == list(case["candidate"]) == SIDE_KEYS
    assert list(case["candidate"]["results"][0]) == RESULT_KEYS
    assert list(case["first_divergence"]) == ["step", "kind", "summary", "meaning", "baseline", "candidate"]
    assert [one["severity"] for one in report["cases"]] == ["high", "low"]


def test_nothing_new_is_status_0(given: Any, capsys: Any) -> None:
    given()
    status, out = compare(capsys, "--format", "json", versions=("2.0.0", "2.0.0"))
    report = json.loads(out)
    assert status == 0
    assert report["cases"][0]["class"] == "UNCHANGED"
    assert report["cases"][0]["first_divergence"] is None


def test_an_improvement_is_status_0(given: Any, capsys: Any) -> None:
    given(baseline=documents.TWICE, candidate=documents.GOOD)
    assert compare(capsys)[0] == 0


@pytest.mark.parametrize("step", ["refuse", "hang"])
def test_missing_evidence_is_status_3(given: Any, capsys: Any, step: str) -> None:
    given(documents.scenario("a", timeoutSeconds=0.2), candidate=(step,))
    assert compare(capsys)[0] == 3


def test_trials_are_entries_of_their_own(given: Any, capsys: Any) -> None:
    given()
    _, out = compare(capsys, "--format", "json", "--trials", "2")
    report = json.loads(out)
    assert [(case["scenario"], case["trial"]) for case in report["cases"]] == [("refund", 1), ("refund", 2)]
    # The documented names stay as they are, in their order; the figures come after them.
    assert list(report)[-2:] == ["cases", "statistics"]
    assert [name for name in report["cases"][0] if name != "trial"] == CASE_KEYS
    (task,) = report["statistics"]["tasks"]
    assert (task["baseline"]["n"], task["baseline"]["c"], task["candidate"]["c"]) == (2, 2, 0)


def test_the_text_report_of_trials_has_the_mean_above_its_tasks(given: Any, capsys: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b", expectations=CALM))
    status, out = compare(capsys, "--trials", "3")
    assert status == 3
    figures = out[out.index("trials: passed of all") :].splitlines()
    assert figures[0].endswith("pass@3: one of 3 passes; pass^3: all 3 do")
    figures = [" ".join(line.split()) for line in figures]
    assert figures[1] == "mean over tasks baseline 100%, pass@3 100%, pass^3 100%"
    assert figures[2] == "mean over tasks candidate 50%, pass@3 50%, pass^3 50%"
    assert figures[3] == "a baseline 100% (3 of 3, 44% to 100%), pass@3 100%, pass^3 100%"
    assert "both sides of a trial: 3 both pass, 0 both fail, 3 only the baseline, 0 only the candidate" in out
    assert "  the difference: p = 0.25, could be noise (exact McNemar)" in out


def test_junit_has_a_test_case_per_trial_and_the_figures(given: Any, capsys: Any) -> None:
    given()
    _, out = compare(capsys, "--trials", "2", "--format", "junit")
    root = ET.fromstring(out)
    assert [case.get("name") for case in root.iter("testcase")] == ["refund (trial 1)", "refund (trial 2)"]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "2", "0")
    assert "0% (0 of 2, 0% to 66%)" in (root.find("testsuite/system-out").text or "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scenario", "nope", "--tag", "no"), "unknown scenario 'nope'"),
        (("--tag", "no"), "tag 'no' matches no scenario"),
        (("--dataset", "nightly"), "unknown dataset 'nightly'"),
        (("--trials", "0"), "trials"),
        (("--output", "/nowhere/at/all.json"), "no folder"),
        (("--output", "/tmp"), "is no file name"),
        (("--output", ""), "is no file name"),
    ],
)
def test_wrong_arguments_are_status_2_and_start_nothing(
    given: Any, capsys: Any, arguments: tuple[str, ...], said: str
) -> None:
    given()
    status, out = compare(capsys, *arguments)
    assert status == 2
    assert said in out
    assert not Comparison.objects.exists()


def test_every_problem_is_on_a_line_of_its_own(given: Any, capsys: Any) -> None:
    given()
    _, out = compare(capsys, "--scenario", "x", "--scenario", "y", "--tag", "z")
    assert len(out.splitlines()) == 3


def test_what_cannot_be_run_is_status_4(given: Any, capsys: Any, settings: Any) -> None:
    given()
    settings.AGENTTWIN_IN_PROCESS_AGENTS = {}
    status, out = compare(capsys)
    assert status == 4
    assert "cannot be run here" in out


@pytest.mark.parametrize("problem", [OperationalError("no such table: x"), KeyError("a bug")])
def test_no_failure_is_a_traceback(
    given: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    given()

    def broken(**_: Any) -> Any:
        raise problem

    monkeypatch.setattr("evaluations.management.commands.compare.start_comparison", broken)
    status, out = compare(capsys)
    assert status == 4
    assert len(out.splitlines()) == 1


def test_a_cancelled_comparison_is_status_4(given: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given()

    def cancel(comparison_id: int, **_: Any) -> None:
        cancel_comparison(Comparison.objects.get(pk=comparison_id))

    monkeypatch.setattr("evaluations.management.console.run_here", cancel)
    status, out = compare(capsys)
    assert status == 4
    assert "CANCELLED" in out


def test_an_interrupt_cancels_and_is_status_4(
    given: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given()

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evaluations.management.console.run_here", interrupted)
    status, _ = compare(capsys)
    assert status == 4
    assert Comparison.objects.get().state == "CANCELLED"


def test_output_gets_the_format_and_the_terminal_the_text(given: Any, capsys: Any, tmp_path: Any) -> None:
    given()
    file = tmp_path / "report.json"
    status, out = compare(capsys, "--format", "json", "--output", str(file))
    assert status == 3
    assert json.loads(file.read_text())["summary"]["NEW_CRITICAL_FAILURE"] == 1
    assert out.startswith("step-agent: candidate 2.0.0 against baseline 1.0.0")


def test_the_text_report_says_what_a_person_needs(given: Any, capsys: Any) -> None:
    given(documents.scenario("a"), documents.scenario("fine", expectations=CALM))
    _, out = compare(capsys)
    assert "1 new critical failure, 1 unchanged" in out
    assert "fails now: once (critical) STATE_MISMATCH: orders.A.count: expected 1, got 2" in out
    assert "At step 3 the baseline" in out
    assert "calls 2 -> 3" in out
    assert "tool calls 4 -> 6, retries 0 -> 0" in out
    assert "deterministic-fake" in out
    # The worst first; what needs no attention takes one line.
    lines = out.splitlines()
    assert lines.index(next(line for line in lines if line.startswith("NEW CRITICAL"))) < lines.index(
        next(line for line in lines if line.startswith("UNCHANGED"))
    )


def test_how_both_runs_broke_off_is_told(given: Any, capsys: Any) -> None:
    given(baseline=("crash boom",), candidate=("crash bang",))
    status, out = compare(capsys)
    assert status == 0
    assert re.search("fails in both: .*agentRun", out)
    assert re.search("baseline: The agent crashed: .*boom", out)
    assert re.search("candidate: The agent crashed: .*bang", out)


def test_junit_counts_like_the_other_reports(given: Any, capsys: Any) -> None:
    given(documents.scenario("a"), documents.scenario("fine", expectations=CALM))
    _, out = compare(capsys, "--format", "junit")
    suite = ET.fromstring(out).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failure = suite.find("testcase[@name='a']/failure")
    assert failure is not None
    assert failure.get("type") == "NEW_CRITICAL_FAILURE"
    assert "once STATE_MISMATCH" in (failure.text or "")


def test_an_incomplete_case_is_an_error_in_junit(given: Any, capsys: Any) -> None:
    given(candidate=("refuse",))
    _, out = compare(capsys, "--format", "junit")
    suite = ET.fromstring(out).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_junit_survives_control_characters(given: Any, capsys: Any) -> None:
    contains = {"id": "shown", "type": "outputContains", "value": "\x1b[31m\x08\ufffe]]>&<", "critical": True}
    given(
        documents.scenario("a", expectations=[contains]),
        baseline=(f"answer {json.dumps({'output': contains['value']})}",),
        candidate=('answer {"output": "\\u0000 \\u001b[2J \\ufffe ]]> & <b>"}',),
    )
    status, out = compare(capsys, "--format", "junit")
    assert status == 3
    ET.fromstring(out)
    _, text = compare(capsys)
    assert "\x1b" not in text


def test_no_worker_is_said_and_given_up(
    given: Any, start: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    given()
    settings.AGENTTWIN_STALL_SECONDS = 0.3
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.02)
    said: list[str] = []
    with pytest.raises(StalledError, match="no worker took a case"):
        wait_for_workers(start().pk, say=said.append)
    assert len(said) == 1
    assert "celery -A agenttwin_site worker" in said[0]


def test_with_a_broker_and_no_worker_compare_is_status_4(
    given: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    given()
    settings.AGENTTWIN_STALL_SECONDS = 0.1
    settings.BROKER_IS_CONFIGURED = True
    monkeypatch.setattr("evaluations.tasks.run_chunk.apply_async", lambda *args, **kwargs: None)
    status, out = compare(capsys)
    assert status == 4
    assert "stays queued" in out


def test_recover_says_what_it_did(given: Any, start: Any, capsys: Any) -> None:
    given()
    comparison = start()
    call_command("recover", "--run")
    out = capsys.readouterr().out
    assert f"comparison {comparison.pk}: running its waiting cases here" in out
    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"
    call_command("recover")
    assert "0 overdue leases" in capsys.readouterr().out
