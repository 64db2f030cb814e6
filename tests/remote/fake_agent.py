"""An agent's server for tests, on a raw socket: it answers exactly the bytes a test wants it to."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Handler = Callable[["Asked", socket.socket], None]


@dataclass
class Asked:
    """One request as it arrived."""

    line: str
    headers: dict[str, str]
    body: Any


@dataclass
class FakeAgent:
    """A listening server; `behave` says what to do with a request, `asked` keeps every one."""

    port: int
    behave: Handler
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def fake_agent(behave: Handler, family: int = socket.AF_INET) -> Iterator[FakeAgent]:
    """Serve on a free loopback port, a thread for each connection."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
    listener.listen(64)
    agent = FakeAgent(listener.getsockname()[1], behave)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            agent.connections += 1
            threading.Thread(target=_serve, args=(agent, connection), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield agent
    finally:
        # close() alone leaves the thread inside accept().
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _serve(agent: FakeAgent, connection: socket.socket) -> None:
    with connection:
        try:
            asked = _request(connection)
            agent.asked.append(asked)
            agent.behave(asked, connection)
        except OSError:
            return


def _request(connection: socket.socket) -> Asked:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise OSError("no request")
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return Asked(first, headers, json.loads(body) if body else None)


def response(status: int, body: bytes | str, *headers: str, length: int | None = None) -> bytes:
    """The bytes of a response with a full Content-Length, or another if a test wants to lie."""
    content = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status} X",
        f"Content-Length: {len(content) if length is None else length}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def sends(data: bytes) -> Handler:
    """Answers these bytes and closes."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.sendall(data)

    return behave


def answers(answer: Any, *, status: int = 200) -> Handler:
    """Answers a JSON value."""
    return sends(response(status, json.dumps(answer), "Content-Type: application/json"))


def hangs(seconds: float = 30) -> Handler:
    """Takes the request and says nothing."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.settimeout(seconds)
        connection.recv(1)

    return behave


def trickles(data: bytes, pause: float = 0.05) -> Handler:
    """Answers byte by byte: each one is in time, the whole never is."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        for position in range(len(data)):
            connection.sendall(data[position : position + 1])
            time.sleep(pause)

    return behave


def resets() -> Handler:
    """Takes the request and resets the connection."""

    def behave(asked: Asked, connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return behave
