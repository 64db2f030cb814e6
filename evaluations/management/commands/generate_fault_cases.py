"""``manage.py generate_fault_cases``: drafts of the fault cases that are missing, from cases that passed.

A write that cannot be taken back must have been tried with a timeout after its effect and with a success that
had none. Without a choice: whatever no scenario of a twin exercises. A draft is stored as a scenario that has
no say until a person approves it.

Exit status: 0 nothing is missing that could not be drafted; 3 something is; 2 wrong arguments, or a file is
in the way, and nothing was stored; 4 no usable database.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from evaluations.errors import RequestError, database_problem
from evaluations.services.fault_cases import (
    Missing,
    draft_fault_cases,
    missing_of,
    missing_of_twins,
    sentences,
)
from scenarios.errors import ScenarioError
from scenarios.holdouts import EVERYTHING
from twins.documents.yaml_writer import to_yaml
from twins.errors import StaleEditError
from twins.models import Twin

WRONG_ARGUMENTS, NOT_ALL, NO_DATABASE = 2, 3, 4


class Command(BaseCommand):
    help = "Draft the fault cases that are missing from cases that passed; a person approves each of them."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("epilog", __doc__.split("\n\n", 1)[1])
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        of = parser.add_mutually_exclusive_group()
        of.add_argument(
            "--scenario", metavar="NAME", help="both faults for the irreversible tools that it has called"
        )
        of.add_argument("--dataset", metavar="NAME[@VERSION]", help="what no case of the dataset exercises")
        parser.add_argument("--write", metavar="FOLDER", help="write each draft there as NAME.yaml, too")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            missing = _missing(options)
            with transaction.atomic():
                drafts = draft_fault_cases(missing)
                written = [] if options["write"] is None else _write(missing, Path(options["write"]))
        except ScenarioError as unknown:
            raise CommandError(unknown.detail, returncode=WRONG_ARGUMENTS) from None
        except RequestError as refused:
            raise CommandError("\n".join(refused.problems), returncode=WRONG_ARGUMENTS) from None
        except StaleEditError as stale:
            raise CommandError(
                f"somebody else has just stored a draft: {stale}", returncode=NOT_ALL
            ) from None
        except OSError as problem:
            raise CommandError(f"cannot write: {problem}", returncode=WRONG_ARGUMENTS) from None
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=NO_DATABASE) from None
        for line in sentences(missing):
            self.stdout.write(line)
        for path in written:
            self.stdout.write(f"wrote {path}")
        made = f"{len(drafts)} draft{'' if len(drafts) == 1 else 's'}"
        self.stdout.write(f"{made} of {len(missing)} missing; a draft has no say until a person approves it")
        if any(one.problem for one in missing):
            sys.exit(NOT_ALL)


def _missing(options: dict[str, Any]) -> list[Missing]:
    for kind in ("scenario", "dataset"):
        if options[kind] is not None:
            return missing_of(kind, options[kind], EVERYTHING)
    twins = Twin.objects.filter(current_version__isnull=False).select_related("current_version")
    return missing_of_twins(twins.order_by("name"), EVERYTHING)


def _write(missing: list[Missing], folder: Path) -> list[Path]:
    """Write the drafts; none of them replaces a file."""
    drafts = {folder / f"{one.name}.yaml": one.document for one in missing if one.document is not None}
    folder.mkdir(parents=True, exist_ok=True)
    if there := [str(path) for path in drafts if path.exists()]:
        raise RequestError([f"{path} is there already" for path in there])
    for path, document in drafts.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(to_yaml(document))
    return list(drafts)
