"""`manage.py demo_accounts`: one account per role, for trying the pages on this machine.

Nothing else makes these accounts. The password is the operator's (`AGENTTWIN_DEMO_PASSWORD`) or made up on
each run, and printed once.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reviews.roles import ADMIN, EDITOR, ROLES

# The mark of an account that this command made; an account without it is somebody's own.
_MARK = "demo.invalid"
# The admin pages hold the editors of twins, scenarios and agents.
_STAFF = (EDITOR, ADMIN)


class Command(BaseCommand):
    """Make or renew the accounts viewer, reviewer, editor and admin. Exit status 1 if a name is taken."""

    help = "Makes one demo account per role with one password, and prints them."

    def handle(self, *args: Any, **options: Any) -> None:
        password = os.environ.get("AGENTTWIN_DEMO_PASSWORD", "")
        is_made_up = not password
        password = password or secrets.token_urlsafe(9)
        with transaction.atomic():
            for role in ROLES:
                self._account(role, password)
        names = ", ".join(ROLES)
        whence = "made up just now" if is_made_up else "from AGENTTWIN_DEMO_PASSWORD"
        self.stdout.write(f"Demo accounts: {names}")
        self.stdout.write(f"Password of all: {password if is_made_up else '********'} ({whence})")

    def _account(self, role: str, password: str) -> None:
        email = f"{role}@{_MARK}"
        account, created = get_user_model().objects.get_or_create(
            username=role, defaults={"email": email, "is_staff": role in _STAFF}
        )
        if not created and account.email != email:
            raise CommandError(f"The account {role} exists and is not a demo account. Nothing was changed.")
        if created or not account.check_password(password):
            account.set_password(password)
            account.save()
        account.groups.set([Group.objects.get(name=role)])
