"""Whose record is it? A record is an object with the tenant field; without an owner it is everybody's (FORMATS 8)."""

from __future__ import annotations

from typing import Any

from .values import json_equal


def is_foreign(value: Any, tenant_key: str, tenant: str) -> bool:
    """Whether a value is a record that another tenant owns."""
    if not isinstance(value, dict):
        return False
    owner = value.get(tenant_key)
    return owner is not None and owner != "" and not json_equal(owner, tenant)


def carries_foreign(body: Any, tenant_key: str, tenant: str) -> bool:
    """Whether any object in an answer's body, at any depth, is another tenant's record."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if is_foreign(value, tenant_key, tenant):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False
