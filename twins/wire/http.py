"""The tools of a session over HTTP: ``POST /wire/ID/tools/TOOL`` and ``GET /wire/ID/kb/search`` (FORMATS 5).

A small ASGI application beside Django, because some answers are broken on purpose: a connection that closes
without a byte, a body that stops half-way. No session, login, form token or cookie exists here; a request is
its bearer token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from twins.engine.bounds import ABSENT, MAX_ARGUMENT_BYTES
from twins.engine.values import compact_json
from twins.wire.asgi import (
    AsgiReceive,
    AsgiScope,
    AsgiSend,
    ClientGone,
    Response,
    bearer_token,
    check_host,
    headers_of,
    read_body,
    refusal,
    send_response,
)
from twins.wire.errors import TwinError
from twins.wire.gateway import Gateway

PREFIX: Final = "/wire/"

# Escapes make six bytes of one: arguments within the engine's limit always fit, whatever their writer does.
_MOST_BODY: Final = 8 * MAX_ARGUMENT_BYTES
_ROUTE: Final = re.compile(r"/wire/(?P<session>[^/]+)/(?:tools/(?P<tool>.*)|kb/search/?)", re.DOTALL)
_MOST_PARAMETERS: Final = 100


class HttpEndpoint:
    """The ASGI application; see the module."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        try:
            response = await self._respond(scope, receive)
        except TwinError as problem:
            response = refusal(problem)
        except ClientGone:
            return
        await send_response(response, receive, send)

    async def _respond(self, scope: AsgiScope, receive: AsgiReceive) -> Response:
        headers = headers_of(scope)
        check_host(headers)
        route = _ROUTE.fullmatch(scope["path"])
        if route is None:
            return Response.error(404, "NOT_FOUND", "there is nothing at this address")
        tool = route["tool"]
        method = "GET" if tool is None else "POST"
        if scope["method"] != method:
            text = f"use {method} here, not {scope['method']}"
            return Response.error(405, "METHOD_NOT_ALLOWED", text, {"Allow": method})
        admission = await self._gateway.admit(route["session"], bearer_token(headers))
        if tool is None:
            query, limit = _asked(scope["query_string"])
            found = await self._gateway.search(admission, query, limit)
            return Response(200, {}, compact_json(found.to_json()).encode())
        arguments = parsed_arguments(*await read_body(receive, most=_MOST_BODY))
        # The token is no part of a call: nothing that is recorded may be made of it.
        del headers["authorization"]
        answered = await self._gateway.call(admission, tool, arguments, headers)
        return Response.of(answered)


def parsed_arguments(body: bytes, is_whole: bool) -> Any:
    """The arguments as the engine judges them: anything that is no object it refuses and records.

    Text that is no JSON goes in as that text (400). Of a body longer than may be read, what was read goes in
    as an object that is over the engine's limit (413).
    """
    if not is_whole:
        return {"body": body.decode(errors="replace")}
    if not body:
        return ABSENT
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return body.decode(errors="replace")


def _asked(query_string: bytes) -> tuple[str, int | None]:
    """The query and the limit; a limit that is no number is none."""
    try:
        parameters: Mapping[str, list[str]] = parse_qs(
            query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        return "", None
    limit = parameters.get("limit", [""])[0]
    number = int(limit) if re.fullmatch(r"[+-]?[0-9]{1,9}", limit, re.ASCII) else None
    return parameters.get("q", [""])[0], number
