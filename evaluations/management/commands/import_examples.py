"""`manage.py import_examples FILE…`: examples for people to label, from YAML, JSON or JSONL."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, transaction

from evaluations.errors import database_problem
from evaluations.labelling import EXAMPLES_BYTES, examples_kind
from evaluations.services.criteria import ImportedExamples, import_examples
from twins.documents.problems import DocumentError, Problem, format_problem


class Command(BaseCommand):
    help = (
        "Reads files of examples: one YAML or JSON document each, or one example a line (.jsonl, .ndjson); "
        "all files or none. Problems go to stderr, one a line: FILE:LINE: PATH: what. Exit status: 0 stored "
        "or known; 2 refused and 4 no usable database, nothing stored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="a file of examples")
        parser.add_argument(
            "--criterion", help="what they are examples of, where a file does not say; .jsonl never does"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        problems: list[str] = []
        imported: list[tuple[str, ImportedExamples]] = []
        try:
            with transaction.atomic():
                for file in options["files"]:
                    try:
                        imported.append((file, _imported(file, options["criterion"])))
                    except DocumentError as refused:
                        problems += [format_problem(file, problem) for problem in refused.problems]
                if problems:
                    transaction.set_rollback(True)
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=4) from None
        if problems:
            for line in problems:
                # Without the colours of an error: other programs read these lines.
                self.stderr.write(line, style_func=str)
            sys.exit(2)
        for file, found in imported:
            self.stdout.write(f"{found.version}: {found.created} new, {found.known} known ({file})")


def _imported(file: str, criterion: str | None) -> ImportedExamples:
    try:
        with Path(file).open("rb") as stream:
            # One byte more than a file may have is enough to refuse it.
            text = stream.read(EXAMPLES_BYTES + 1)
    except OSError as error:
        raise DocumentError([Problem.at((), f"cannot be read: {error.strerror}")]) from None
    source = f"from {Path(file).name}"
    return import_examples(text=text, kind=examples_kind(file), criterion=criterion, source=source)
