"""``manage.py activate_policy NAME@VERSION``: put a version of a gate policy in force, on record."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from evaluations.errors import database_problem
from evaluations.models import GatePolicyVersion
from evaluations.services.gate_policies import activate_gate_policy


class Command(BaseCommand):
    help = (
        "Put a version of a gate policy in force. Who may run commands on the server may do this; it stands "
        "in the audit log. Exit status 2: there is no such version; 4: no usable database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("version", metavar="NAME@VERSION", help="such as default@2")
        parser.add_argument("--note", default="", help="why, for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        name, _, number = options["version"].partition("@")
        try:
            versions = GatePolicyVersion.objects.select_related("policy").filter(policy__name=name)
            wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
            version = versions.filter(number=wanted).first()
            if version is None:
                known = (
                    ", ".join(str(one) for one in versions.order_by("number")) or "no version of that name"
                )
                raise CommandError(f"there is no {options['version']}: {known}", returncode=2)
            activate_gate_policy(version=version, actor=None, note=options["note"], by_operator=True)
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=4) from None
        self.stdout.write(f"{version} is in force")
