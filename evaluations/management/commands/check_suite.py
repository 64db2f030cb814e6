"""``manage.py check_suite``: run the control agents on a dataset and say what it cannot tell apart.

Exit status: 0 every control agent is caught; 3 one is not, the suite lacks a kind of case; 4 it could not be
run; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from evaluations.errors import RequestError, database_problem
from evaluations.models import SuiteCheck, Verdict
from evaluations.services.suite_health import check_suite, health_of
from scenarios.errors import ScenarioError
from scenarios.services.datasets import resolve

WRONG_ARGUMENTS, FLAGGED, NOT_RUN = 2, 3, 4


class Command(BaseCommand):
    help = "Run the control agents on a dataset: a suite that one of them passes lacks a kind of case."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("epilog", __doc__.split("\n\n", 1)[1])
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "dataset", metavar="NAME[@VERSION]", help="a dataset; without a version its current one"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text", help="default text")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            version = resolve(options["dataset"])
            check = check_suite(version)
        except ScenarioError as unknown:
            raise CommandError(unknown.detail, returncode=WRONG_ARGUMENTS) from None
        except RequestError as refused:
            raise CommandError("\n".join(refused.problems), returncode=NOT_RUN) from None
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=NOT_RUN) from None
        text = json.dumps(suite_check_object(check), indent=2) if options["format"] == "json" else None
        self.stdout.write(text if text is not None else "\n".join(_lines(check)))
        if check.is_flagged:
            sys.exit(FLAGGED)


def suite_check_object(check: SuiteCheck) -> dict[str, Any]:
    return {
        "id": check.pk,
        "dataset": str(check.dataset_version),
        "flagged": check.flagged,
        "controls": [
            {
                "name": one.control.name,
                "passed": one.passed,
                "failed": one.caught,
                "undecided": one.undecided,
                "flagged": one.is_flagged,
                "missing": one.control.missing if one.is_flagged else None,
            }
            for one in health_of(check)
        ],
    }


def _lines(check: SuiteCheck) -> Iterator[str]:
    rows = list(check.cases.select_related("dataset_case").order_by("dataset_case__position"))
    yield f"{check.dataset_version}: {check.dataset_version.case_count} cases"
    for one in health_of(check):
        undecided = f", {one.undecided} undecided" if one.undecided else ""
        yield ""
        yield f"{one.control.name}: passes {one.passed} of {one.total}, caught by {one.caught}{undecided}"
        yield f"  {one.control.does}"
        own = [row for row in rows if row.control == one.control.name and row.verdict == Verdict.PASSED]
        yield from (f"  passes {row.dataset_case.case_id}" for row in own)
        if one.is_flagged:
            yield f"  FLAGGED: {one.control.missing}"
