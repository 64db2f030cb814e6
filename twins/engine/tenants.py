"""Whose record is it? (FORMATS 8)

A record is an object with the tenant field; one without an owner is everybody's.
"""

from __future__ import annotations

from typing import Any, Final

from .values import json_equal

_CONTAINERS: Final = frozenset((dict, list))


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
        kind = type(value)
        if kind is dict:
            if tenant_key in value and is_foreign(value, tenant_key, tenant):
                return True
            waiting.extend([item for item in value.values() if type(item) in _CONTAINERS])
        elif kind is list:
            waiting.extend([item for item in value if type(item) in _CONTAINERS])
    return False
