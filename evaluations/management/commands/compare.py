"""``manage.py compare``: run two versions of an agent against each other and print what the tools recorded.

Exit status: 0 nothing new fails; 3 a new critical failure, a regression or an incomplete case;
4 it could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from tqdm import tqdm

from evaluations.dispatch import broker_is_configured
from evaluations.errors import AlreadyEndedError, EvaluationError, RequestError, database_problem
from evaluations.models import Comparison, ComparisonState
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.report import ComparisonReport, load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.comparisons import cancel_comparison, start_comparison
from evaluations.services.waiting import run_here, wait_for_workers

WRONG_ARGUMENTS, BLOCKED, NOT_RUN = 2, 3, 4
FORMATS = {"text": render_text, "json": render_json, "junit": render_junit}


class Command(BaseCommand):
    help = "Compare two versions of an agent on the same scenarios, case by case."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("epilog", __doc__.split("\n\n", 1)[1])
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("agent", metavar="AGENT", help="name of a registered agent")
        parser.add_argument(
            "--baseline", required=True, metavar="VERSION", help="the version to measure against"
        )
        parser.add_argument("--candidate", required=True, metavar="VERSION", help="the version to judge")
        parser.add_argument(
            "--scenario",
            action="append",
            default=[],
            metavar="NAME",
            help="a scenario to run; may be repeated",
        )
        parser.add_argument(
            "--tag", action="append", default=[], metavar="TAG",
            help="all scenarios with this tag, beside those named; may be repeated",
        )  # fmt: skip
        parser.add_argument("--dataset", metavar="NAME[@VERSION]", help="the scenarios of a dataset")
        parser.add_argument(
            "--trials", type=int, metavar="N", help="trials of each scenario (default: its own)"
        )
        parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the run (default 0)")
        parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="default text")
        parser.add_argument(
            "--output", metavar="FILE", help="write the report there and the text report here"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        output = _writable(options["output"])
        try:
            report = self._compare(options)
            self._print(report, options["format"], output)
        except RequestError as refused:
            raise CommandError("\n".join(refused.problems), returncode=WRONG_ARGUMENTS) from None
        except EvaluationError as problem:
            raise CommandError(problem.detail, returncode=NOT_RUN) from None
        except (DatabaseError, ImproperlyConfigured) as problem:
            raise CommandError(database_problem(problem), returncode=NOT_RUN) from None
        except CommandError:
            raise
        except Exception as problem:
            # A fault of ours: one line for the pipeline, the traceback for who asks for it (--traceback).
            if options["traceback"]:
                raise
            raise CommandError(f"{type(problem).__name__}: {problem}", returncode=NOT_RUN) from problem
        if report.state in (ComparisonState.CANCELLED, ComparisonState.FAILED):
            raise CommandError(
                f"comparison {report.id} {report.state}: {report.state_reason}", returncode=NOT_RUN
            )
        if report.blocks:
            sys.exit(BLOCKED)

    def _compare(self, options: dict[str, Any]) -> ComparisonReport:
        workers = broker_is_configured()
        comparison, _ = start_comparison(
            agent=options["agent"],
            baseline=options["baseline"],
            candidate=options["candidate"],
            scenarios=options["scenario"],
            tags=options["tag"],
            dataset=options["dataset"],
            trials=options["trials"],
            seed=options["seed"],
            wake=workers,
        )
        try:
            self._wait(comparison, workers)
        except KeyboardInterrupt:
            raise CommandError(self._interrupted(comparison), returncode=NOT_RUN) from None
        return load_report(comparison.pk)

    def _wait(self, comparison: Comparison, workers: bool) -> None:
        total = len(comparison.sides) * comparison.pairs.count()
        # Only on a terminal; a log of a pipeline is no place for a bar.
        with tqdm(total=total, unit="case", file=sys.stderr, disable=None, leave=False) as bar:
            if workers:
                wait_for_workers(comparison.pk, on_stored=bar.update, say=self._say)
            else:
                run_here(comparison.pk, on_stored=bar.update)

    def _interrupted(self, comparison: Comparison) -> str:
        try:
            cancel_comparison(comparison)
        except AlreadyEndedError:
            return f"interrupted; comparison {comparison.pk} had ended already"
        return f"interrupted; comparison {comparison.pk} is cancelled"

    def _say(self, message: str) -> None:
        tqdm.write(message, file=sys.stderr)

    def _print(self, report: ComparisonReport, chosen: str, output: Path | None) -> None:
        here = chosen
        if output is not None:
            here = "text"
            try:
                output.write_text(FORMATS[chosen](report), encoding="utf-8")
            except OSError as problem:
                detail = f"the report of comparison {report.id} cannot be written: {problem}"
                raise CommandError(detail, returncode=NOT_RUN) from None
        self._print_here(FORMATS[here](report))

    def _print_here(self, text: str) -> None:
        try:
            self.stdout.write(text, ending="")
            self.stdout.flush()
        except UnicodeEncodeError:
            encoding = getattr(self.stdout, "encoding", None) or "ascii"
            self.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding), ending="")
        except BrokenPipeError:
            # The reader left (compare | head). The exit status is still worth something.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _writable(name: str | None) -> Path | None:
    """The file of --output, refused before anything runs when it could not be written."""
    if name is None:
        return None
    path = Path(name)
    if not name or path.is_dir():
        raise CommandError(f"--output: {name!r} is no file name", returncode=WRONG_ARGUMENTS)
    if not path.parent.is_dir():
        raise CommandError(f"--output: there is no folder {str(path.parent)!r}", returncode=WRONG_ARGUMENTS)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(f"--output: {name!r} cannot be written", returncode=WRONG_ARGUMENTS)
    return path
