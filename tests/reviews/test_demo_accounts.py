"""Demo accounts: one per role, made by their command alone, never out of somebody's own account."""

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command

from reviews.roles import ROLES

pytestmark = pytest.mark.django_db


def test_each_role_has_an_account_with_the_operators_password(monkeypatch, capsys) -> None:
    monkeypatch.setenv("AGENTTWIN_DEMO_PASSWORD", "correct horse battery")
    call_command("demo_accounts")
    for role in ROLES:
        account = authenticate(username=role, password="correct horse battery")
        assert account is not None
        assert [group.name for group in account.groups.all()] == [role]
    assert "correct horse battery" not in capsys.readouterr().out


def test_a_password_is_made_up_and_printed_without_one(monkeypatch, capsys) -> None:
    monkeypatch.delenv("AGENTTWIN_DEMO_PASSWORD", raising=False)
    call_command("demo_accounts")
    printed = capsys.readouterr().out
    password = printed.split("Password of all: ")[1].split(" ")[0]
    assert authenticate(username="viewer", password=password) is not None


def test_a_second_run_makes_no_second_account(monkeypatch) -> None:
    monkeypatch.setenv("AGENTTWIN_DEMO_PASSWORD", "correct horse battery")
    call_command("demo_accounts")
    call_command("demo_accounts")
    assert get_user_model().objects.count() == len(ROLES)


def test_somebodys_own_account_of_that_name_is_left_alone(monkeypatch) -> None:
    monkeypatch.setenv("AGENTTWIN_DEMO_PASSWORD", "correct horse battery")
    own = get_user_model().objects.create_user("admin", "admin@example.com", "their own password")
    with pytest.raises(CommandError, match="admin exists"):
        call_command("demo_accounts")
    own.refresh_from_db()
    assert own.check_password("their own password")
    assert get_user_model().objects.count() == 1
