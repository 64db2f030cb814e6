"""What commands share that run a comparison to its end and print a report of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from evaluations.errors import AlreadyEndedError
from evaluations.models import Comparison
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.waiting import run_here, wait_for_workers

NOT_RUN = 4


def run_to_end(comparison: Comparison, *, has_workers: bool) -> None:
    """Wait for a comparison with a bar on a terminal; Ctrl-C cancels it and is a CommandError of status 4."""
    total = len(comparison.sides) * comparison.pairs.count()
    try:
        # Only on a terminal; a log of a pipeline is no place for a bar.
        with tqdm(total=total, unit="case", file=sys.stderr, disable=None, leave=False) as bar:
            if has_workers:
                wait_for_workers(comparison.pk, on_stored=bar.update, say=_say)
            else:
                run_here(comparison.pk, on_stored=bar.update)
    except KeyboardInterrupt:
        raise CommandError(_interrupted(comparison), returncode=NOT_RUN) from None


def writable_file(name: str | None, option: str, *, status: int) -> Path | None:
    """The file an option names, refused before anything runs when it could not be written."""
    if name is None:
        return None
    path = Path(name)
    if not name or path.is_dir():
        raise CommandError(f"{option}: {name!r} is no file name", returncode=status)
    if not path.parent.is_dir():
        raise CommandError(f"{option}: there is no folder {str(path.parent)!r}", returncode=status)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(f"{option}: {name!r} cannot be written", returncode=status)
    return path


def print_reports(
    stdout: Any, render: Callable[[str], str], chosen: str, output: Path | None, *, what: str
) -> None:
    """The report in the chosen format; with `output` there, and the text report on the standard output."""
    here = chosen
    if output is not None:
        here = "text"
        try:
            output.write_text(render(chosen), encoding="utf-8")
        except OSError as problem:
            detail = f"the report of {what} cannot be written: {problem}"
            raise CommandError(detail, returncode=NOT_RUN) from None
    print_text(stdout, render(here))


def print_text(stdout: Any, text: str) -> None:
    """Write to the standard output. A reader that left (command | head) changes no exit status."""
    try:
        stdout.write(text, ending="")
        stdout.flush()
    except UnicodeEncodeError:
        encoding = getattr(stdout, "encoding", None) or "ascii"
        stdout.write(text.encode(encoding, "backslashreplace").decode(encoding), ending="")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    tqdm.write(message, file=sys.stderr)


def _interrupted(comparison: Comparison) -> str:
    try:
        cancel_comparison(comparison)
    except AlreadyEndedError:
        return f"interrupted; comparison {comparison.pk} had ended already"
    return f"interrupted; comparison {comparison.pk} is cancelled"
