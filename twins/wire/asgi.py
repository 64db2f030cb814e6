"""What both endpoints of the wire need of ASGI: reading a request in bounds, and answers that break."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from twins.engine.records import Transport
from twins.engine.values import compact_json
from twins.errors import TwinError
from twins.wire.errors import (
    HostRefusedError,
    NotAdmittedError,
    OutageError,
    SlowRequestError,
    TwinBrokenError,
    WireFailureError,
)
from twins.wire.services import Answered

AsgiScope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[AsgiMessage]]
AsgiSend = Callable[[AsgiMessage], Awaitable[None]]

RETRY_AFTER_SECONDS: Final = 2

_MOST_DRAINED: Final = 32 << 20
_BODY_SECONDS: Final = 60.0
_LOOPBACK_NAMES: Final = [".localhost", "127.0.0.1", "[::1]"]


class ClientGone(Exception):
    """The client left before its request was whole."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to send. `transport` says how; `whole` is the full body of a partial one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    transport: Transport = "normal"
    whole: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, answered: Answered) -> Response:
        """The answer of a tool call; a partial one knows how long it would be."""
        reply = answered.reply
        if reply.transport == "normal":
            return cls(reply.status, reply.headers, compact_json(reply.body).encode())
        if reply.transport == "drop":
            return cls(reply.status, {}, b"", "drop")
        whole = compact_json(answered.whole).encode()
        return cls(reply.status, reply.headers, str(reply.body).encode(), reply.transport, whole)

    @classmethod
    def error(
        cls, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The one form of an error."""
        body = compact_json({"error": {"code": code, "message": message}})
        return cls(status, headers or {}, body.encode())


def refusal(problem: TwinError) -> Response:
    """The answer to a request that never became a call of the twin."""
    if isinstance(problem, NotAdmittedError):
        return Response.error(401, problem.code, problem.detail, {"WWW-Authenticate": "Bearer"})
    if isinstance(problem, OutageError):
        wait = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return Response.error(503, problem.code, f"{problem.detail}; try again", wait)
    if isinstance(problem, HostRefusedError):
        return Response.error(400, problem.code, problem.detail)
    if isinstance(problem, SlowRequestError):
        return Response.error(408, problem.code, problem.detail, {"Connection": "close"})
    if isinstance(problem, TwinBrokenError | WireFailureError):
        return Response.error(500, problem.code, problem.detail)
    raise problem


# ------------------------------------------------------------------------------------ a request


def headers_of(scope: AsgiScope) -> dict[str, str]:
    """The headers by lower-case name; of one sent twice the first counts."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return headers


def check_host(headers: Mapping[str, str]) -> None:
    """HostRefusedError unless the request is for a name this site answers to, as Django checks it.

    A browser page of another site that found a token is refused as well, by its Origin.
    """
    allowed = settings.ALLOWED_HOSTS
    if settings.DEBUG and not allowed:
        allowed = _LOOPBACK_NAMES
    if not _is_allowed(headers.get("host", ""), allowed):
        raise HostRefusedError("this server does not answer to this host name (DJANGO_ALLOWED_HOSTS)")
    origin = headers.get("origin")
    if origin is not None and not _is_allowed(origin.partition("://")[2], allowed):
        raise HostRefusedError("this origin may not call the tools")


def _is_allowed(host: str, allowed: list[str]) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token of ``Authorization: Bearer …``. NotAdmittedError without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise NotAdmittedError("Authorization: Bearer TOKEN is needed")
    return token.strip()


async def read_body(receive: AsgiReceive, *, most: int) -> tuple[bytes, bool]:
    """Up to `most` bytes of the body, and whether that is all of it.

    Some more is read and dropped, since a client that is still sending does not see an answer. ClientGone
    when it left; SlowRequestError when it takes more than a minute.
    """
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await _read_body(receive, most)
    except TimeoutError:
        raise SlowRequestError("the body did not arrive in time") from None


async def _read_body(receive: AsgiReceive, most: int) -> tuple[bytes, bool]:
    chunks: list[bytes] = []
    kept = total = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        total += len(chunk)
        if kept < most:
            chunks.append(chunk[: most - kept])
            kept += len(chunks[-1])
        if not message.get("more_body", False) or total > _MOST_DRAINED:
            return b"".join(chunks), total <= most


# ------------------------------------------------------------------------------------ an answer


async def send_response(response: Response, receive: AsgiReceive, send: AsgiSend) -> None:
    """Send an answer the way its transport says."""
    if response.transport == "drop":
        await _drop(receive, send)
        return
    is_partial = response.transport == "partial" and response.whole is not None
    length = len(response.whole) if is_partial and response.whole is not None else len(response.body)
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Cache-Control": "no-store",
        **response.headers,
    }
    wire_headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
    ]
    await send({"type": "http.response.start", "status": response.status, "headers": wire_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": is_partial})
    if is_partial and (transport := _transport(send)) is not None:
        transport.close()  # after what was sent has left; without a transport the server closes on return
        await _until_gone(receive)


async def _drop(receive: AsgiReceive, send: AsgiSend) -> None:
    """Close the connection without a byte.

    ASGI has no word for that, so the server's own transport is aborted. On a server that hides it, the
    nearest thing is an answer that never gets a body.
    """
    transport = _transport(send)
    if transport is None:
        headers = [(b"content-length", b"1")]
        await send({"type": "http.response.start", "status": 502, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        return
    transport.abort()
    await _until_gone(receive)


def _transport(send: AsgiSend) -> asyncio.Transport | None:
    """The connection below uvicorn's `send`: a private attribute, so uvicorn is pinned and this tested."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    return transport if hasattr(transport, "abort") else None


async def _until_gone(receive: AsgiReceive) -> None:
    """Until the server has noticed that the connection is closed; it would complain about the answer else."""
    while (await receive())["type"] != "http.disconnect":
        pass
