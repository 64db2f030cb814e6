"""People with different rights, and a client for each."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

DOCUMENTS = ("twin", "scenario", "agent")


def person(name: str, *codenames: str) -> Client:
    """A client logged in as a member of staff with these rights and no others."""
    user = get_user_model().objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def editor(db) -> Client:
    """May look at everything and change documents."""
    every_view = Permission.objects.filter(codename__startswith="view_").values_list("codename", flat=True)
    changes = [f"{right}_{model}" for right in ("add", "change") for model in DOCUMENTS]
    return person("editor", *every_view, *changes)


@pytest.fixture
def viewer(db) -> Client:
    """May look at everything."""
    every_view = Permission.objects.filter(codename__startswith="view_").values_list("codename", flat=True)
    return person("viewer", *every_view)


@pytest.fixture
def nobody(db) -> Client:
    """A member of staff without any right."""
    return person("nobody")
