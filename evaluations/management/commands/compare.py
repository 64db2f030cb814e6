"""``manage.py compare``: run two versions of an agent against each other and print what the tools recorded.

Exit status: 0 nothing new fails; 3 a new critical failure, a regression or an incomplete case;
4 it could not be run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from evaluations.dispatch import broker_is_configured
from evaluations.errors import EvaluationError, RequestError, database_problem
from evaluations.management.console import print_reports, run_to_end, writable_file
from evaluations.models import ComparisonState
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.report import ComparisonReport, load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.comparisons import start_comparison

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
        output = writable_file(options["output"], "--output", status=WRONG_ARGUMENTS)
        try:
            report = self._compare(options)
            print_reports(
                self.stdout,
                lambda chosen: FORMATS[chosen](report),
                options["format"],
                output,
                what=f"comparison {report.id}",
            )
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
        run_to_end(comparison, has_workers=workers)
        return load_report(comparison.pk)
