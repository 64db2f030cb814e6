"""The header Idempotency-Key: the same request again under it is answered, not done once more."""

from __future__ import annotations

import re
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from agenttwin_site.api.failures import InvalidRequest, Problem
from evaluations.services.requests import MAX_KEY_CHARACTERS

NAME = "Idempotency-Key"
_KEY = re.compile(f"[!-~](?:[ -~]{{0,{MAX_KEY_CHARACTERS - 2}}}[!-~])?")


def key_of(request: Any) -> str | None:
    """The key of the request, None without one. Raises InvalidRequest for what can be none."""
    key: str | None = request.headers.get(NAME)
    if key is not None and not _KEY.fullmatch(key):
        detail = f"must be 1 to {MAX_KEY_CHARACTERS} printable ASCII characters"
        raise InvalidRequest([Problem(NAME, detail)])
    return key


def key_parameter(description: str) -> OpenApiParameter:
    """The header in the description of an operation."""
    schema = {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "pattern": "^[!-~]+$"}
    return OpenApiParameter(NAME, schema, OpenApiParameter.HEADER, description=description)
