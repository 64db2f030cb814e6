"""Every address of the site, with every object there is put into it: what a person can reach by typing.

A page somebody adds is walked without being listed here. An address with a part that nobody taught this
module to fill fails the walk: it must say what goes there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern, RoutePattern

_CONVERTED = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")
_GROUP = re.compile(r"\(\?P<([a-z_]+)>[^()]*(?:\([^()]*\)[^()]*)*\)")
# Addresses that end a session, are of Django itself, or only lead to another one.
SKIPPED = re.compile(
    r"^(logout|api/docs|static|admin/(logout|password_change|jsi18n|autocomplete|r/|auth/))"
    r"|^admin/.*(/delete/|/add/|/<object_id>/)$"
)


def patterns(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[str]:
    """The whole text of every address, parts to fill as `<name>`."""
    resolver = resolver or get_resolver()
    for one in resolver.url_patterns:
        text = prefix + _text(one.pattern)
        if isinstance(one, URLResolver):
            yield from patterns(one, text)
        elif isinstance(one, URLPattern):
            yield text


def _text(pattern: Any) -> str:
    if isinstance(pattern, RoutePattern):
        return _CONVERTED.sub(r"<\1>", str(pattern))
    assert isinstance(pattern, RegexPattern)
    text = _GROUP.sub(r"<\1>", str(pattern)).lstrip("^")
    return text.replace(r"\.", ".").removesuffix("$").removesuffix(r"\Z")


def addresses(values: dict[str, Any]) -> Iterator[str]:
    """Each address with every combination of the values of its parts.

    `values`: what goes into a part, by its name, or by "ADDRESS <name>" where only that address means it so.
    """
    for pattern in patterns():
        if SKIPPED.match(pattern):
            continue
        names = re.findall(r"<([a-z_]+)>", pattern)
        choices = [_of_admin(pattern, name) or _chosen(values, pattern, name) for name in names]
        unknown = [name for name, chosen in zip(names, choices, strict=True) if chosen is None]
        assert not unknown, f"what goes into {unknown} of /{pattern}? Teach the walk (tests/datasets)."
        for chosen in itertools.product(*choices):
            address = pattern
            for name, value in zip(names, chosen, strict=True):
                address = address.replace(f"<{name}>", str(value), 1)
            if "(" not in address and "[" not in address:
                yield "/" + address.lstrip("/")


def _chosen(values: dict[str, Any], pattern: str, name: str) -> Any:
    """What was given for this part; for the longest beginning of the address that something was given for."""
    path = pattern.removeprefix("api/v1/").split("/")
    rooms = ("/".join(path[:length]) for length in range(len(path), 0, -1))
    return next((values[key] for room in rooms if (key := f"{room} <{name}>") in values), values.get(name))


def _of_admin(pattern: str, name: str) -> list[Any] | None:
    """The keys of the model whose pages of the admin these are, or of its versions."""
    found = re.match(r"admin/([a-z]+)/([a-z]+)/<", pattern)
    if found is None:
        return None
    model = apps.get_model(*found.groups())
    if name == "version_pk":
        model = apps.get_model(found[1], f"{found[2]}version")
    return some_keys(model)


def some_keys(model: Any) -> list[Any]:
    """Keys of the first and the last rows; one that is not there where there is none."""
    keys = sorted(model._default_manager.values_list("pk", flat=True))
    return list(dict.fromkeys([*keys[:2], *keys[-2:]])) or [1]


def every_key() -> list[int]:
    """Numbers under which anything at all is stored."""
    keys: set[int] = set()
    for model in apps.get_models():
        if model._meta.app_label in ("twins", "scenarios", "evaluations", "reviews"):
            keys.update(
                key for key in model._default_manager.values_list("pk", flat=True) if isinstance(key, int)
            )
    return sorted(keys)
