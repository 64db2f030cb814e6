"""The scripted support agent as an HTTP agent: ``python -m demo.refund.server [--port N] [--mcp]``.

It answers ``POST /run`` (FORMATS 5) as any of its four versions and calls the tools where the request says,
over HTTP or, with ``--mcp``, as an MCP client. Nothing of the product is imported: this is what an agent of
your own has to do.
"""

from __future__ import annotations

import argparse
import functools
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from demo.refund.planner import SupportRefundAgent
from demo.refund.remote_tools import HttpTools, SessionOverError
from demo.scripted import Tools

AGENTS = Path(__file__).parent / "agents"
MAX_REQUEST_BYTES = 4 * 1024 * 1024
DEFAULT_PORT = 8100

Connect = Callable[[str, Mapping[str, str]], AbstractContextManager[Tools]]


class RequestProblemError(Exception):
    """The request cannot be served: status, code, sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the planner needs of a manifest."""

    instructions: str | None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the planner needs of a request, and where its tools are."""

    input: str
    agent_version: str
    customer_id: str | None
    tools_base_url: str
    tool_headers: Mapping[str, str]


@functools.cache
def manifests() -> Mapping[str, Manifest]:
    """The versions this server can act as."""
    documents = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in AGENTS.glob("*.yaml"))
    return {one["metadata"]["version"]: Manifest(one["spec"].get("instructions")) for one in documents}


def handle(body: Any, connect: Connect) -> dict[str, Any]:
    """The answer to one request body. Raises RequestProblemError for what no version can serve."""
    request = _request(body)
    manifest = manifests().get(request.agent_version)
    if manifest is None:
        known = ", ".join(sorted(manifests()))
        text = f"this server has no version {request.agent_version!r}, it has {known}"
        raise RequestProblemError(404, "VERSION_UNAVAILABLE", text)
    try:
        tools = connect(request.tools_base_url, request.tool_headers)
        with tools as connected:
            return SupportRefundAgent(manifest).run(request, connected)
    except ValueError as problem:
        raise RequestProblemError(400, "INVALID_REQUEST", str(problem)) from None


@contextmanager
def over_http(base_url: str, headers: Mapping[str, str]) -> Iterator[Tools]:
    """The tools as plain HTTP."""
    yield HttpTools(base_url, headers)


def _request(body: Any) -> RunRequest:
    if not isinstance(body, dict):
        raise RequestProblemError(400, "INVALID_REQUEST", "the body must be a JSON object")
    for name in ("input", "agent_version", "tools_base_url"):
        if not isinstance(body.get(name), str):
            raise RequestProblemError(400, "INVALID_REQUEST", f"{name}: must be a text")
    headers = body.get("tool_headers") or {}
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise RequestProblemError(400, "INVALID_REQUEST", "tool_headers: must be an object of texts")
    customer = body.get("customer_id")
    return RunRequest(
        input=body["input"],
        agent_version=body["agent_version"],
        customer_id=customer if isinstance(customer, str) else None,
        tools_base_url=body["tools_base_url"],
        tool_headers=headers,
    )


class Handler(BaseHTTPRequestHandler):
    """``POST /run`` and ``GET /health``."""

    connect: Connect = staticmethod(over_http)

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, {"status": "ok", "versions": sorted(manifests())})
        else:
            self._answer(404, _error("NOT_FOUND", "use POST /run"))

    def do_POST(self) -> None:
        try:
            if self.path != "/run":
                raise RequestProblemError(404, "NOT_FOUND", "use POST /run")
            self._answer(200, handle(self._body(), type(self).connect))
        except RequestProblemError as problem:
            self._answer(problem.status, _error(problem.code, problem.message))
        except SessionOverError as over:
            self._answer(500, _error("SESSION_OVER", str(over)))
        except OSError:
            return  # whoever asked is gone

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise RequestProblemError(411, "LENGTH_REQUIRED", "Content-Length is needed")
        if int(length) > MAX_REQUEST_BYTES:
            raise RequestProblemError(413, "TOO_LARGE", f"at most {MAX_REQUEST_BYTES} bytes")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RequestProblemError(400, "INVALID_REQUEST", "the body is not JSON") from None

    def _answer(self, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests carry a token's case; nothing is logged."""


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def make_server(host: str, port: int, *, connect: Connect = over_http) -> ThreadingHTTPServer:
    """A server that listens already; port 0 takes a free one."""
    handler = type("ConnectedHandler", (Handler,), {"connect": staticmethod(connect)})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    return server


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM. Exit status 0, 2 for a port that is taken."""
    parser = argparse.ArgumentParser(prog="python -m demo.refund.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (this machine alone)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"where to listen ({DEFAULT_PORT})")
    parser.add_argument("--mcp", action="store_true", help="call the tools over MCP instead of plain HTTP")
    options = parser.parse_args(arguments)
    connect: Connect = over_http
    if options.mcp:
        from demo.refund.mcp_tools import over_mcp

        connect = over_mcp
    try:
        server = make_server(options.host, options.port, connect=connect)
    except (OSError, OverflowError) as problem:
        sys.stderr.write(f"cannot listen on {options.host} port {options.port}: {problem}\n")
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    way = "MCP" if options.mcp else "HTTP"
    sys.stdout.write(
        f"The refund agent listens on http://{options.host}:{server.server_port} ({way} tools).\n"
    )
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
