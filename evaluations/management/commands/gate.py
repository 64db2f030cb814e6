"""``manage.py gate``: may this version be released? Run the frozen suite, ask every rule, say what fired.

Exit status: 0 PASS, or overridden by a person; 2 WARN; 3 BLOCK; 4 could not decide, wrong arguments included:
2 is a warning here, and a misspelt option must not read as one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from evaluations.dispatch import broker_is_configured
from evaluations.errors import EvaluationError, RequestError, database_problem
from evaluations.gate.outcomes import COULD_NOT_DECIDE
from evaluations.management.console import print_reports, run_to_end, writable_file
from evaluations.models import Comparison, GateDecision
from evaluations.reporting.case_reports import case_reports
from evaluations.reporting.gate_formats import GATE_FORMATS
from evaluations.reporting.gate_report import load_gate_report
from evaluations.services.comparisons import start_comparison
from evaluations.services.gate import evaluate
from evaluations.services.gate_policies import DEFAULT, policy_in_force

# A folder of reports holds this; one without it that is not empty is somebody else's.
_INDEX = "index.json"
_UNFIT = re.compile("[^A-Za-z0-9._-]+")
_TOLD = ("case_id", "scenario", "trial", "verdict", "passed", "reason")


class GateParser(CommandParser):
    """Wrong arguments could not be decided on: status 4 and never 2."""

    def error(self, message: str) -> Any:
        if not self.called_from_command_line:
            raise CommandError(f"Error: {message}", returncode=COULD_NOT_DECIDE)
        self.print_usage(sys.stderr)
        self.exit(COULD_NOT_DECIDE, f"{self.prog}: error: {message}\n")


class Command(BaseCommand):
    help = "Decide whether a version of an agent may be released: PASS, WARN or BLOCK."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("epilog", __doc__.split("\n\n", 1)[1])
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # Django makes the parser itself and asks nobody for its class.
        parser.__class__ = GateParser
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("agent", metavar="AGENT", help="name of a registered agent")
        add("--baseline", metavar="VERSION", help="the version in use (default: none, try it alone)")
        add("--candidate", required=True, metavar="VERSION", help="the version to decide about")
        add("--dataset", required=True, metavar="NAME[@VERSION]", help="the frozen suite")
        add("--policy", default=DEFAULT, metavar="NAME", help=f"the gate policy (default {DEFAULT})")
        add("--trials", type=int, metavar="N", help="trials of each scenario (default: its own)")
        add("--seed", type=int, default=0, metavar="N", help="seed of the run (default 0)")
        add("--format", choices=sorted(GATE_FORMATS), default="text", help="default text")
        add("--output", metavar="FILE", help="write the report there and the text report here")
        add("--reports", metavar="FOLDER", help="write one JSON report for each trial of each case there")

    def handle(self, *args: Any, **options: Any) -> None:
        output = writable_file(options["output"], "--output", status=COULD_NOT_DECIDE)
        reports = _folder(options["reports"])
        try:
            status = self._gate(options, output, reports)
        except RequestError as refused:
            raise CommandError("\n".join(refused.problems), returncode=COULD_NOT_DECIDE) from None
        except EvaluationError as problem:
            raise CommandError(problem.detail, returncode=COULD_NOT_DECIDE) from None
        except (DatabaseError, ImproperlyConfigured) as problem:
            raise CommandError(database_problem(problem), returncode=COULD_NOT_DECIDE) from None
        except CommandError:
            raise
        except Exception as problem:
            # A fault of ours: one line for the pipeline, the traceback for who asks for it (--traceback).
            if options["traceback"]:
                raise
            detail = f"{type(problem).__name__}: {problem}"
            raise CommandError(detail, returncode=COULD_NOT_DECIDE) from problem
        if status:
            sys.exit(status)

    def _gate(self, options: dict[str, Any], output: Path | None, reports: Path | None) -> int:
        # Before anything runs: a misspelt policy is known at once.
        policy_in_force(options["policy"])
        has_workers = broker_is_configured()
        comparison, _ = start_comparison(
            agent=options["agent"],
            baseline=options["baseline"],
            candidate=options["candidate"],
            dataset=options["dataset"],
            trials=options["trials"],
            seed=options["seed"],
            wake=has_workers,
        )
        run_to_end(comparison, has_workers=has_workers)
        decision = evaluate(comparison_id=comparison.pk, policy=options["policy"])
        if reports is not None:
            self._write_reports(decision, reports)
        report = load_gate_report(decision.pk)
        print_reports(
            self.stdout,
            lambda chosen: GATE_FORMATS[chosen](report),
            options["format"],
            output,
            what=f"gate decision {decision.pk}",
        )
        return report.exit_status

    def _write_reports(self, decision: GateDecision, folder: Path) -> None:
        comparison = Comparison.objects.select_related(
            "agent", "baseline", "candidate", "dataset_version__dataset"
        ).get(pk=decision.comparison_id)
        try:
            write_case_reports(comparison, folder, decision=decision)
        except OSError as problem:
            detail = f"the reports cannot be written to {folder}: {problem}"
            raise CommandError(detail, returncode=COULD_NOT_DECIDE) from None


def write_case_reports(comparison: Comparison, folder: Path, *, decision: GateDecision) -> None:
    """One file for each trial, and an index of them that names the decision."""
    folder.mkdir(exist_ok=True)
    # Of an earlier run: a report that is no longer made must not be read as one of this run.
    for name in _files_of(folder):
        (folder / name).unlink(missing_ok=True)
    index = []
    for report in case_reports(comparison):
        stem = _UNFIT.sub("-", report["case_id"])
        name = f"{stem}.json" if report["trial"] == 1 else f"{stem}.trial-{report['trial']}.json"
        text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
        index.append({"file": name, **{key: report[key] for key in _TOLD}})
    head = {"decision": decision.pk, "outcome": decision.outcome, "sha256": decision.sha256, "reports": index}
    (folder / _INDEX).write_text(f"{json.dumps(head, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def _files_of(folder: Path) -> list[str]:
    """The files that the index of an earlier run names, and the index."""
    try:
        index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        names = [one["file"] for one in index["reports"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [_INDEX, *(name for name in names if isinstance(name, str) and Path(name).name == name)]


def _folder(name: str | None) -> Path | None:
    """The folder of --reports, refused before anything runs when it cannot be ours."""
    if name is None:
        return None
    path = Path(name)
    if not name or path.is_symlink() or (path.exists() and not path.is_dir()):
        raise CommandError(f"--reports: {name!r} is no folder", returncode=COULD_NOT_DECIDE)
    if path.is_dir() and any(path.iterdir()) and not (path / _INDEX).is_file():
        detail = f"--reports: {name!r} holds other files; name an empty folder or one of an earlier gate"
        raise CommandError(detail, returncode=COULD_NOT_DECIDE)
    if not path.exists() and not path.parent.is_dir():
        raise CommandError(f"--reports: there is no folder {str(path.parent)!r}", returncode=COULD_NOT_DECIDE)
    return path
