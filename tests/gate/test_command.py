"""``manage.py gate``: formats, exit statuses, per-case reports; wrong arguments never read as WARN."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as ET

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from evaluations.models import Comparison, GateDecision
from evaluations.services.gate_overrides import override
from evaluations.services.gate_policies import save_gate_policy
from scenarios.services.datasets import save_dataset
from tests import migrated
from tests.documents.samples import gate_policy
from tests.running import documents
from tests.running.sites import ROOT

pytestmark = pytest.mark.django_db
COVERED = {"covers": ["tool:refund", "tool:lookup"]}


def dataset(*names: str) -> dict[str, Any]:
    cases = [{"id": f"REF-{number}", "scenario": name} for number, name in enumerate(names, start=1)]
    return {
        "apiVersion": documents.API,
        "kind": "Dataset",
        "metadata": {"name": "refunds"},
        "spec": {"purpose": "development", "cases": cases},
    }


@pytest.fixture
def world(given: Callable[..., None]) -> Callable[..., None]:
    """Two scenarios in a dataset; `candidate` are the steps of version 2.0.0."""

    def make(**options: Any) -> None:
        given(documents.scenario("one", **COVERED), documents.scenario("two", **COVERED), **options)
        save_dataset(document=dataset("one", "two"))

    return make


def gate(capsys: Any, *arguments: str, baseline: str | None = "1.0.0") -> tuple[int, str]:
    """Exit status and what was said."""
    asked = ["--candidate", "2.0.0", "--dataset", "refunds", *arguments]
    if baseline is not None:
        asked += ["--baseline", baseline]
    try:
        call_command("gate", documents.AGENT, *asked)
    except CommandError as problem:
        return problem.returncode, str(problem)
    except SystemExit as ended:
        return int(ended.code or 0), capsys.readouterr().out
    return 0, capsys.readouterr().out


def test_a_candidate_that_passes_is_status_0(world: Any, capsys: Any) -> None:
    world(candidate=documents.GOOD)
    status, out = gate(capsys)
    assert status == 0
    assert out.splitlines()[:2] == [
        "PASS: step-agent 2.0.0 against 1.0.0",
        "2 of 2 cases passed; refunds@1, policy default@1",
    ]
    assert "no rule fired" in out


def test_a_candidate_that_is_blocked_is_status_3_and_says_why(world: Any, capsys: Any) -> None:
    world()
    status, out = gate(capsys)
    assert status == 3
    assert out.startswith("BLOCK: step-agent 2.0.0 against 1.0.0\n0 of 2 cases passed, 2 failed;")
    assert "BLOCK  A critical check failed. (critical-failure: 2 critical failures, 0 allowed)" in out
    assert "  - REF-1 (one): once (STATE_MISMATCH): orders.A.count: expected 1, got 2" in out
    assert "At step 3" in out


def test_a_candidate_alone_needs_no_baseline(world: Any, capsys: Any) -> None:
    world(candidate=documents.GOOD)
    status, out = gate(capsys, baseline=None)
    assert (status, out.splitlines()[0]) == (0, "PASS: step-agent 2.0.0 alone")


def test_a_warning_is_status_2(world: Any, capsys: Any) -> None:
    world(candidate=documents.GOOD)
    save_gate_policy(document=gate_policy(minimumTrials=3))
    status, out = gate(capsys, "--policy", "careful")
    assert status == 2
    assert "WARN  Too few trials to decide." in out
    assert gate(capsys, "--policy", "careful", "--trials", "3")[0] == 0


def test_an_overridden_block_is_status_0_and_reads_so(world: Any, capsys: Any, boss: Any) -> None:
    world()
    assert gate(capsys)[0] == 3
    override(
        decision=GateDecision.objects.get(),
        actor=boss,
        reason="The sandbox counts twice.",
        ticket="OPS-9",
        expires_at=timezone.now() + timedelta(days=1),
        form_token=uuid4(),
    )
    status, out = gate(capsys)
    assert status == 0
    assert out.startswith("OVERRIDDEN (originally BLOCK): step-agent")
    assert "overridden by boss until" in out
    junit = ET.fromstring(gate(capsys, "--format", "junit")[1])
    assert junit[0].get("failures") == "0"


def test_json_has_stable_names_and_counts_every_case_once(world: Any, capsys: Any) -> None:
    world()
    report = json.loads(gate(capsys, "--format", "json")[1])
    assert list(report) == [
        "decision", "revision", "outcome", "reads", "exit_status", "verified", "verification_problems",
        "sha256", "stale", "policy", "agent", "candidate", "baseline", "dataset", "comparison", "seed",
        "decided_at", "decided_by", "override", "counts", "rules", "cases", "link",
    ]  # fmt: skip
    assert (report["exit_status"], report["verified"], report["dataset"]) == (3, True, "refunds@1")
    assert report["counts"] == {"passed": 0, "failed": 2, "errored": 0, "not_counted": 0}
    assert [one["case_id"] for one in report["cases"]] == ["REF-1", "REF-2"]
    assert {one["rule"] for one in report["rules"]} >= {"critical-failure", "mandatory-not-passed"}


def test_junit_counts_what_the_other_reports_count(world: Any, capsys: Any) -> None:
    world(candidate=["refuse"])
    status, out = gate(capsys, "--format", "junit")
    rules, cases = ET.fromstring(out)
    assert status == 3
    assert (cases.get("tests"), cases.get("failures"), cases.get("errors")) == ("2", "0", "2")
    assert [len(case.findall("error")) for case in cases] == [1, 1]
    assert int(rules.get("failures")) == len(rules.findall("testcase/failure")) >= 2
    text = gate(capsys)[1]
    assert "0 of 2 cases passed, 2 errored" in text


def test_markdown_is_fit_for_a_comment(world: Any, capsys: Any) -> None:
    world()
    out = gate(capsys, "--format", "markdown")[1]
    assert out.startswith("### BLOCK: step\\-agent 2.0.0 against 1.0.0\n")
    assert "**BLOCK** A critical check failed." in out


def test_with_output_the_format_goes_to_the_file(world: Any, capsys: Any, tmp_path: Path) -> None:
    world()
    status, out = gate(capsys, "--format", "json", "--output", str(tmp_path / "gate.json"))
    assert status == 3
    assert out.startswith("BLOCK: ")
    assert json.loads((tmp_path / "gate.json").read_text())["outcome"] == "BLOCK"


# ------------------------------------------------------------------------------- could not decide


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "misspelt"), "unknown dataset 'misspelt'"),
        (("--dataset", "refunds@7"), "has no version '7'"),
        (("--policy", "strict"), "unknown policy 'strict'"),
        (("--trials", "0"), "trials"),
        (("--trials", "many"), "invalid int value"),
        (("--format", "yaml"), "invalid choice"),
        (("--unknown", "x"), "unrecognized arguments"),
        (("--output", "/nowhere/x.json"), "no folder"),
        (("--reports", "/nowhere/x/y"), "no folder"),
        (("--reports", str(ROOT)), "holds other files"),
        (("--candidate", "9.9.9"), "has no version '9.9.9'"),
    ],
)
def test_what_cannot_be_decided_is_status_4_and_decides_nothing(
    world: Any, capsys: Any, arguments: tuple[str, ...], said: str
) -> None:
    world()
    status, out = gate(capsys, *arguments)
    assert status == 4
    assert said in out
    assert not GateDecision.objects.exists()
    assert not Comparison.objects.exists()


def test_a_cancelled_run_is_status_4(world: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluations.services.comparisons import cancel_comparison

    world()

    def cancel(comparison_id: int, **_: Any) -> None:
        cancel_comparison(Comparison.objects.get(pk=comparison_id))

    monkeypatch.setattr("evaluations.management.console.run_here", cancel)
    status, out = gate(capsys)
    assert status == 4
    assert "could not decide: comparison" in out


def test_a_fault_of_ours_is_status_4(world: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world()

    def broken(**_: Any) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("evaluations.management.commands.gate.evaluate", broken)
    assert gate(capsys) == (4, "ZeroDivisionError: ours")


# ------------------------------------------------------------------------------- per-case reports


def test_each_trial_has_a_report_that_points_at_what_differed(
    world: Any, capsys: Any, tmp_path: Path
) -> None:
    world()
    folder = tmp_path / "reports"
    assert gate(capsys, "--reports", str(folder))[0] == 3
    assert sorted(path.name for path in folder.iterdir()) == ["REF-1.json", "REF-2.json", "index.json"]
    report = json.loads((folder / "REF-1.json").read_text())
    assert (report["case_id"], report["scenario"], report["candidate"]) == ("REF-1", "one", "2.0.0")
    assert (report["dataset"]["name"], report["dataset"]["version"]) == ("refunds", 1)
    assert len(report["prompt_sha256"]) == 64
    assert (report["verdict"], report["passed"]) == ("FAILED", False)
    assert report["reason"] == "once: orders.A.count: expected 1, got 2"
    assert report["points_at"]["check"] == "once"
    assert report["points_at"]["paths"] == ["orders.A.count"]
    assert [one["status"] for one in report["checks"]] == ["FAIL", "PASS"]
    assert [one["tool"] for one in report["attempts"]["reads"]] == ["lookup"]
    assert [one["applied"] for one in report["attempts"]["writes"]] == [True, True]
    assert len(report["receipts"]) == 2
    assert {"path": "orders.A.count", "start": 0, "end": 2} in report["final_record"]
    assert report["observed"]["claimed_outcome"] == "SUCCESS"
    index = json.loads((folder / "index.json").read_text())
    assert [one["file"] for one in index["reports"]] == ["REF-1.json", "REF-2.json"]


def test_a_refused_attempt_stands_in_the_report(world: Any, capsys: Any, tmp_path: Path) -> None:
    world(candidate=[*documents.GOOD, 'call pay_out {"order_id": "A"}'])
    gate(capsys, "--reports", str(tmp_path / "r"))
    report = json.loads((tmp_path / "r" / "REF-1.json").read_text())
    (attempt,) = [one for one in report["attempts"]["writes"] if one["tool"] == "pay_out"]
    assert (attempt["refused"], attempt["applied"], attempt["status"]) == (True, False, "unknown_tool")
    assert report["reason"] == "every check passed"


def test_reports_of_an_earlier_run_are_replaced_and_other_files_stay(
    world: Any, capsys: Any, tmp_path: Path
) -> None:
    world(candidate=documents.GOOD)
    folder = tmp_path / "reports"
    gate(capsys, "--reports", str(folder), "--trials", "2")
    assert (folder / "REF-1.trial-2.json").exists()
    (folder / "mine.txt").write_text("kept")
    gate(capsys, "--reports", str(folder))
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["REF-1.json", "REF-2.json", "index.json", "mine.txt"]


def test_reports_hold_no_planted_secret(world: Any, capsys: Any, tmp_path: Path) -> None:
    world(candidate=[*documents.GOOD, f'call lookup {{"order_id": "{documents.SECRET}"}}'])
    gate(capsys, "--reports", str(tmp_path / "r"))
    texts = "".join(path.read_text() for path in (tmp_path / "r").iterdir())
    assert documents.SECRET not in texts
    assert "[REDACTED]" in texts


def test_an_unfinished_trial_says_so(world: Any, capsys: Any, tmp_path: Path) -> None:
    world(candidate=["refuse"])
    gate(capsys, "--reports", str(tmp_path / "r"))
    report = json.loads((tmp_path / "r" / "REF-1.json").read_text())
    assert (report["verdict"], report["passed"]) == ("ERRORED", False)
    assert "rejected the request" in report["reason"]


def test_activating_a_policy_from_the_command_line(db: Any) -> None:
    save_gate_policy(document=gate_policy())
    save_gate_policy(document=gate_policy(minimumTrials=2))
    out = StringIO()
    call_command("activate_policy", "careful@2", note="agreed on Monday", stdout=out)
    assert out.getvalue() == "careful@2 is in force\n"
    for wrong in ("careful@9", "careful", "nobody@1"):
        with pytest.raises(CommandError) as refused:
            call_command("activate_policy", wrong)
        assert refused.value.returncode == 2


# ------------------------------------------------------------------------------- a real build


def test_a_real_build_is_stopped_by_it_also_through_a_pipe(tmp_path: Path) -> None:
    """A shell script as a build runs it: with `set -e`, with a pipe and pipefail, and its exit statuses."""
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        "PYTHONPATH": str(ROOT),
        "AGENTTWIN_DATA_DIR": str(tmp_path),
        "AGENTTWIN_IN_PROCESS_AGENTS": json.dumps({documents.AGENT: "tests.running.agents.StepAgent"}),
        "DATABASE_URL": migrated.copy_sqlite(tmp_path / "site.sqlite3"),
    }
    files = tmp_path / "documents"
    files.mkdir()
    written = [
        documents.twin(),
        documents.scenario("one", **COVERED),
        documents.agent("1.0.0", *documents.GOOD),
        documents.agent("2.0.0", *documents.TWICE),
        dataset("one"),
    ]
    for number, document in enumerate(written):
        (files / f"{number}.json").write_text(json.dumps(document))
    manage = f"{sys.executable} {ROOT / 'manage.py'}"
    ask = f"{manage} gate {documents.AGENT} --dataset refunds@1"
    script = f"""
set -u
{manage} import_documents {files} >/dev/null || exit 90
{ask} --candidate 1.0.0 > good.txt; echo "good $?"
( set -o pipefail; {ask} --candidate 2.0.0 | head -1 > piped.txt ); echo "piped $?"
( set -o pipefail; {ask} --candidate 2.0.0 | true ); echo "left $?"
{ask} --candidate 2.0.0 --bogus 2> usage.txt; echo "usage $?"
( set -e; {ask} --candidate 2.0.0 --baseline 1.0.0 > /dev/null; echo deployed ); echo "build $?"
"""
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.stdout.splitlines() == [
        "good 0", "piped 3", "left 3", "usage 4", "build 3",
    ], done.stderr  # fmt: skip
    assert "deployed" not in done.stdout
    assert (tmp_path / "piped.txt").read_text() == "BLOCK: step-agent 2.0.0 alone\n"
    assert "unrecognized arguments: --bogus" in (tmp_path / "usage.txt").read_text()
