"""``manage.py recover``: set going again what a crash or a lost message left behind."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from evaluations.dispatch import broker_is_configured
from evaluations.errors import database_problem
from evaluations.services.recovery import RecoveryReport, recover
from evaluations.services.waiting import run_here

NOT_RUN = 4


class Command(BaseCommand):
    help = (
        "Expire overdue leases, end cases that used up their attempts, wake workers for what waits "
        "and conclude what is done. A periodic task does the same; this is for when it does not run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--run",
            action="store_true",
            help="run the waiting cases in this process instead of waking workers",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        waiting: list[int] = []
        try:
            if options["run"]:
                report = recover(wake=lambda comparison_id, cases: waiting.append(comparison_id))
            else:
                report = recover()
            self._say(report, here=options["run"])
            for comparison_id in waiting:
                run_here(comparison_id)
                self.stdout.write(f"comparison {comparison_id} ran to its end")
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=NOT_RUN) from None

    def _say(self, report: RecoveryReport, *, here: bool) -> None:
        self.stdout.write(f"{_counted(report.expired, 'overdue lease')} ended, the cases are queued again")
        self.stdout.write(f"{_counted(report.given_up, 'case')} given up after too many attempts")
        for comparison_id in report.concluded:
            self.stdout.write(f"comparison {comparison_id} concluded")
        for comparison_id in report.woken:
            action = "running its waiting cases here" if here else "workers woken for its waiting cases"
            self.stdout.write(f"comparison {comparison_id}: {action}")
        if report.woken and not here and not broker_is_configured():
            self.stdout.write(
                "no broker is configured: without a worker on the embedded queue, use recover --run"
            )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
