"""`manage.py create_token`: a token for a program, made by whoever runs the server."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils import timezone

from evaluations.errors import database_problem
from reviews.acting import COMMAND
from reviews.errors import ReviewError
from reviews.models import Scope
from reviews.services.tokens import create_token, expiry_from

_WRONG, _FAILED = 2, 1


class Command(BaseCommand):
    """Prints the secret alone on the standard output, so that a script can take it; the rest goes to stderr.

    Exit status: 0 made, 2 wrong arguments, 1 the database cannot be used.
    """

    help = "Makes an API token for an account and prints it. It is shown this once and stored only as a hash."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="the account it acts as")
        parser.add_argument(
            "--scope",
            action="append",
            required=True,
            choices=Scope.values,
            help="what it may be used for; repeat for several",
        )
        parser.add_argument(
            "--expires", default="", metavar="WHEN", help="90d, 12h, a day or a moment (never)"
        )
        parser.add_argument("--name", default="", help="where it is used (default: one made up)")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        try:
            user = get_user_model()._default_manager.filter(username=options["user"]).first()
            if user is None:
                raise CommandError(f"There is no account {options['user']!r}.", returncode=_WRONG)
            token, secret = create_token(
                user=user,
                name=options["name"] or f"command {secrets.token_hex(3)}",
                scopes=options["scope"],
                expires_at=expiry_from(options["expires"], now),
                actor=None,
                via=COMMAND,
            )
        except ReviewError as refusal:
            raise CommandError(refusal.detail, returncode=_WRONG) from None
        except DatabaseError as problem:
            raise CommandError(database_problem(problem), returncode=_FAILED) from None
        until = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC" if token.expires_at else "without an end"
        self.stderr.write(f"{token} of {user}: {', '.join(token.scopes)}, {until}. It is shown this once.")
        self.stdout.write(secret)
