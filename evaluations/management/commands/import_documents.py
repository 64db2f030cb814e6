"""`manage.py import_documents PATH…`: twins, scenarios and agents from files and folders (FORMATS 7)."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from evaluations.errors import database_problem
from evaluations.services.importing import Imported, ImportRefusedError, import_documents

_WAITS = {
    "gate policy": "not in force until it is activated",
    "scenario": "without a say until a person approves it",
}


class Command(BaseCommand):
    help = (
        "Reads files and folders (.yaml, .yml and .json, folders with all below them) of twins, scenarios, "
        "datasets and agents in any order, all or nothing. Problems go to stderr, one a line: "
        "FILE:LINE: PATH: what. "
        "Exit status: 0 stored or unchanged; 2 refused and 4 no usable database, nothing stored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a document or a folder of documents")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            imported = import_documents(options["paths"])
        except ImportRefusedError as refused:
            for problem in refused.problems:
                # Without the colours of an error: other programs read these lines.
                self.stderr.write(str(problem), style_func=str)
            sys.exit(2)
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=4) from None
        for one in imported:
            self.stdout.write(_line(one))
        made = sum(one.created for one in imported)
        self.stdout.write(f"{made} new, {len(imported) - made} unchanged")


def _line(one: Imported) -> str:
    done = "made version" if one.created else "unchanged, version"
    waits = f", {_WAITS.get(one.kind, 'without effect yet')}" if one.waits else ""
    return f"{one.kind} {one.name}: {done} {one.version}{waits} ({one.file})"
