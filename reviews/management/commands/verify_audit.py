"""`manage.py verify_audit`: does the audit log still say what was recorded?"""

import re
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviews import audit
from reviews.reconciling import decision_problems


class Command(BaseCommand):
    help = (
        "Checks the hash chain of the audit log from its first entry to its head, then that reviews, results "
        "and the evidence of each decision still are what was recorded, and that verdicts and classes follow "
        "from the results. "
        "Exit status: 0 intact, 1 broken (what is broken, where and why is printed)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--anchor",
            metavar="SEQUENCE:HASH",
            help="an entry noted earlier, as printed by this command: finds a chain rewritten as a whole",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        report = audit.verify(_anchor(options["anchor"]))
        if report.broken:
            found = report.broken
            self.stderr.write(f"BROKEN at entry {found.sequence} ({found.kind}): {found.detail}.")
            self.stderr.write(f"{report.entries} entries before it are as they were recorded.")
            sys.exit(1)
        if problems := decision_problems():
            self.stderr.write("The log is intact, but what it records was changed:")
            for problem in problems:
                self.stderr.write(f"BROKEN: {problem}.")
            sys.exit(1)
        self.stdout.write(f"intact: {report.entries} entries, and every decision is as it was recorded")
        self.stdout.write(f"head {report.head_sequence}:{report.head_hash}")


def _anchor(text: str | None) -> tuple[int, str] | None:
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]*):([0-9a-f]{64})", text)
    if not found:
        raise CommandError(
            f"--anchor: expected SEQUENCE:HASH as printed by this command, got {text!r}", returncode=2
        )
    return int(found[1]), found[2]
