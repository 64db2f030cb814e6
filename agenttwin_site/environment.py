"""Settings read from environment variables; what cannot be meant is one line that names the variable.

A variable set to nothing counts as not set: container files often pass variables on like that. A value that
may hold credentials, such as an address, is never repeated.

Every function raises ImproperlyConfigured.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from kombu.transport import TRANSPORT_ALIASES

from evaluations.agents.endpoints import EndpointError, read_endpoint

DAY_SECONDS = 86_400
_TRUE = frozenset({"true", "on", "ok", "y", "yes", "1"})
_FALSE = frozenset({"false", "off", "n", "no", "0"})
_SHOWN = 40


def text(variable: str, default: str = "") -> str:
    """What the variable says, else the default."""
    return os.environ.get(variable, "").strip() or default


def whole(variable: str, default: int, *, least: int, most: int) -> int:
    """A whole number within its bounds."""
    if not (written := text(variable)):
        return default
    try:
        number = int(written)
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise _refused(variable, f"must be a whole number from {least} to {most}", written)
    return number


def seconds(variable: str, default: float, *, least: float) -> float:
    """Seconds, at most a day."""
    if not (written := text(variable)):
        return default
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not least <= number <= DAY_SECONDS:
        raise _refused(variable, f"must be seconds from {least:g} to {DAY_SECONDS}", written)
    return number


def switch(variable: str, *, default: bool = False) -> bool:
    """On or off."""
    if not (written := text(variable)):
        return default
    if (word := written.lower()) not in _TRUE | _FALSE:
        # Not simply off: whoever asks for TLS in other words must not get plain HTTP.
        raise _refused(variable, "must be true or false", written)
    return word in _TRUE


def one_of(variable: str, default: str, choices: Collection[str]) -> str:
    """One of some words, in capitals."""
    written = text(variable, default)
    if written.upper() not in choices:
        raise _refused(variable, f"must be one of {', '.join(choices)}", written)
    return written.upper()


def named(variable: str, default: str, choices: Collection[str]) -> str:
    """One of some names, as they are written."""
    written = text(variable, default)
    if written not in choices:
        raise _refused(variable, f"must be one of {', '.join(sorted(choices))}", written)
    return written


def amount(variable: str, *, most: float = 1_000_000) -> float | None:
    """A number from 0, or None where nothing is said."""
    if not (written := text(variable)):
        return None
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most:
        raise _refused(variable, f"must be a number from 0 to {most:g}", written)
    return number


def listed(variable: str, default: str = "") -> list[str]:
    """Words with commas between them."""
    return [word for part in text(variable, default).split(",") if (word := part.strip())]


def service(
    variable: str,
    default: str,
    schemes: Collection[str],
    read: Callable[[str], Any],
    what: str,
) -> dict[str, Any]:
    """What Django asks to know of a service, out of its address."""
    url = text(variable, default)
    try:
        # A scheme that is not known would be repeated by `read`, and with it what may be a password.
        if url.partition(":")[0] in schemes:
            return dict(read(url))
    except ValueError:  # such as a port that is no number
        pass
    raise ImproperlyConfigured(f"{variable} is no address of {what}")


def broker(variable: str) -> str:
    """The address of Celery's broker, or nothing."""
    url = text(variable)
    scheme, colon, _ = url.partition(":")
    if url and not (colon and scheme.partition("+")[0] in TRANSPORT_ALIASES):
        raise ImproperlyConfigured(
            f"{variable} is no address of a broker: amqp://USER:PASSWORD@HOST:5672/NAME or redis://HOST:6379/0"
        )
    return url


def texts_by_name(variable: str, example: str, default: dict[str, str]) -> dict[str, str]:
    """A JSON object of texts."""
    if not (written := text(variable)):
        return default
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ImproperlyConfigured(f"{variable} must be a JSON object such as {example}")
    return value


def addresses_by_name(variable: str, example: str) -> dict[str, str]:
    """A JSON object of addresses, none where nothing is said."""
    addresses = texts_by_name(variable, example, {})
    for name, address in addresses.items():
        if not _is_address(address):
            raise ImproperlyConfigured(f"{variable}, {name[:_SHOWN]!r}: must be {_ADDRESS}, as in {example}")
    return addresses


def address(variable: str, default: str) -> str:
    """An address without a slash at its end; where nothing is said the default, which may be none."""
    written = text(variable, default)
    if written and not _is_address(written):
        raise ImproperlyConfigured(f"{variable} must be {_ADDRESS}, such as {default or _EXAMPLE}")
    return written.rstrip("/")


_EXAMPLE = "http://127.0.0.1:8080/v1"
_ADDRESS = "an http or https address without credentials, query or fragment"


def _is_address(written: str) -> bool:
    try:
        read_endpoint(written, is_trusted=True)
    except EndpointError:
        return False
    return True


def _refused(variable: str, what: str, written: str) -> ImproperlyConfigured:
    shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
    return ImproperlyConfigured(f"{variable} {what}, got {shown!r}")
