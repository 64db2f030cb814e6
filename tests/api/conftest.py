"""Accounts, tokens and a demo comparison for tests of the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import cache
from django.test import Client

from reviews.services.tokens import create_token
from tests.running.conftest import _agents, compared, given, start  # noqa: F401 - a small world to compare in
from twins.engine.values import compact_json

ALL = ("read", "run", "review", "edit")


def account(name: str, *roles: str, **fields: Any) -> User:
    user = User.objects.create_user(name, **fields)
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


@dataclass
class Api:
    """Asks the API with one token; `get` and `post` answer the response with `.body`, its JSON."""

    secret: str
    client: Client

    def ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.secret}", **options.pop("headers", {})}
        address = path if path.startswith(("/", "http")) else f"/api/v1/{path}"
        response = self.client.generic(method, address, headers=headers, **options)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        response.body = json.loads(response.content) if is_json and response.content else None
        return response

    def get(self, path: str, **options: Any) -> Any:
        return self.ask("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        data = b"" if body is None else compact_json(body).encode()
        return self.ask("POST", path, data=data, content_type="application/json", **options)

    def save(self, path: str, text: str, **options: Any) -> Any:
        """Send a document as YAML."""
        return self.ask("POST", path, data=text.encode(), content_type="application/yaml", **options)


@pytest.fixture(autouse=True)
def _uncounted(settings: Any) -> None:
    cache.clear()


@pytest.fixture
def api(db: Any) -> Callable[..., Api]:
    """A client whose token has these scopes and whose account has this role (all of either if not said)."""

    def make(*scopes: str, role: str = "admin", name: str = "ci") -> Api:
        user = User.objects.filter(username=name).first() or account(name, role)
        count = user.api_tokens.count()
        _, secret = create_token(user=user, name=f"token {count + 1}", scopes=scopes or ALL, actor=user)
        return Api(secret, Client(raise_request_exception=False))

    return make
