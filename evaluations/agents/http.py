"""Agents that answer ``POST {endpoint}/run`` (FORMATS 5): one request, one bounded answer, how it ended.

The agent works on its own machine and calls the case's tools by URL; this module never sees a call. It only
carries the request there and says how that ended, in the words of FORMATS 3.1: what kept the agent from
working (no connection, a refusal) is told apart from what it did (a crash, no answer in time, nonsense).

No redirect is followed, no proxy of the environment is used, nothing is kept between two requests.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from evaluations.agents.answers import MAX_ANSWER_BYTES, GarbageError, plain_answer, read_answer
from evaluations.agents.base import AgentEnd, AgentRequest, Failure, Installation, RunLimits
from evaluations.agents.endpoints import Endpoint, EndpointError, addresses_of, read_endpoint
from scenarios.documents.agent import AgentManifest

CONNECT_SECONDS = 10.0
DETAIL_CHARACTERS = 500
MAX_REASON_BYTES = 16 * 1024
FAKE_PROVIDER = "deterministic-fake"
VERSION_UNAVAILABLE = "VERSION_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class ToolAccess:
    """How a remote agent reaches the tools of its case. The headers hold the case's token: never shown."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False)

    @property
    def tokens(self) -> tuple[str, ...]:
        """What of the headers must not come back in anything that is kept."""
        return tuple(value.partition(" ")[2] or value for value in self.headers.values() if value)


class HttpAgent:
    """Adapter of one manifest whose agent is at an HTTP endpoint."""

    def __init__(self, manifest: AgentManifest, address: object, *, is_trusted: bool) -> None:
        self.problem: str | None = None
        self._endpoint: Endpoint | None = None
        try:
            self._endpoint = read_endpoint(address, is_trusted=is_trusted)
        except EndpointError as problem:
            self.problem = str(problem)
        # Nobody can look inside: the label is what the manifest declares.
        self.model_kind = FAKE_PROVIDER if manifest.model.provider == FAKE_PROVIDER else "llm"
        self.model_name = manifest.model.name

    @classmethod
    def of_operator(cls, manifest: AgentManifest, installation: Installation) -> HttpAgent | None:
        address = installation.endpoints.get(manifest.name)
        return None if address is None else cls(manifest, address, is_trusted=True)

    @classmethod
    def of_manifest(cls, manifest: AgentManifest, installation: Installation) -> HttpAgent | None:
        return None if manifest.endpoint is None else cls(manifest, manifest.endpoint, is_trusted=False)

    async def run(self, request: AgentRequest, access: ToolAccess, *, limits: RunLimits) -> AgentEnd:
        """Ask once, within `limits.seconds` from now on. Never raises for anything the agent did."""
        if self._endpoint is None:
            return AgentEnd(failure=Failure("unreachable", self.problem or ""))
        asking = _Asking(self._endpoint, access)
        try:
            async with asyncio.timeout(limits.seconds):
                return await asking.ask(run_body(request, access))
        except TimeoutError:
            if not asking.is_connected:
                return _failure("unreachable", f"no connection to {self._endpoint.host} in time")
            return _failure("timeout", f"no answer within {limits.seconds:g} s")


def run_body(request: AgentRequest, access: ToolAccess) -> dict[str, Any]:
    """The body of ``POST {endpoint}/run``; what is not there is left out (FORMATS 5)."""
    origin = request.run_context
    optional = {
        "tenant": request.tenant,
        "customer_id": request.customer_id,
        "context": dict(request.context) if request.context else None,
    }
    return {
        "input": request.input,
        "agent_version": request.agent_version,
        "session_id": request.session_id,
        **{name: value for name, value in optional.items() if value is not None},
        "tools_base_url": access.base_url,
        "tool_headers": dict(access.headers),
        "run_context": {
            "source": origin.source,
            "run_id": origin.run_id,
            "case_id": origin.case_id,
            "scenario_name": origin.scenario_name,
            "trial": origin.trial,
        },
    }


class _Asking:
    """One exchange with an agent, and how far it got."""

    def __init__(self, endpoint: Endpoint, access: ToolAccess) -> None:
        self._endpoint = endpoint
        self._tokens = access.tokens
        self._started = time.monotonic()
        self.is_connected = False

    async def ask(self, body: Mapping[str, Any]) -> AgentEnd:
        try:
            addresses = await addresses_of(self._endpoint)
        except EndpointError as problem:
            return _failure("unreachable", str(problem))
        except (OSError, UnicodeError) as problem:
            return _failure("unreachable", f"{self._endpoint.host} cannot be resolved: {problem}")
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        not_connected: Exception | None = None
        for address in addresses:
            try:
                return await self._exchange(address, content)
            except (httpx.ConnectError, httpx.ConnectTimeout) as refused:
                not_connected = refused
            except httpx.RemoteProtocolError as broken:
                return self._broken(broken)
            except httpx.NetworkError as broken:
                return _failure("crashed", f"the connection broke before the answer: {_told(broken)}")
        return _failure("unreachable", f"{self._endpoint.shown}: {_told(not_connected)}")

    async def _exchange(self, address: str, content: bytes) -> AgentEnd:
        url = self._endpoint.run_url
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "agenttwin",
        }
        extensions: dict[str, Any] = {"trace": self._trace}
        if url.scheme == "https" and address != url.host:
            # The certificate is the name's, although the connection goes to the address that was checked.
            extensions["sni_hostname"] = url.host
        async with (
            httpx.AsyncClient(
                verify=_tls(),
                trust_env=False,
                follow_redirects=False,
                # The whole exchange is bounded from outside; reading in itself may take as long as that.
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx.Limits(max_keepalive_connections=0),
            ) as client,
            client.stream(
                "POST", url.copy_with(host=address), content=content, headers=headers, extensions=extensions
            ) as response,
        ):
            return await self._end(response)

    async def _end(self, response: httpx.Response) -> AgentEnd:
        status = response.status_code
        if 200 <= status < 300:
            return await self._answer(response)
        if status < 400:
            return _failure("unreachable", f"it answered {status}, and redirects are not followed")
        code, reason = await self._reason(response)
        said = f"HTTP {status}: {reason}" if reason else f"HTTP {status}"
        if status >= 500:
            return _failure("crashed", said)
        return _failure("version_unavailable" if code == VERSION_UNAVAILABLE else "refused", said)

    async def _answer(self, response: httpx.Response) -> AgentEnd:
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            return _failure("garbage", f"the answer is encoded as {encoding!r}, which was not asked for")
        data, is_whole = await _read(response, MAX_ANSWER_BYTES)
        if not is_whole:
            return _failure("garbage", f"the answer has more than {MAX_ANSWER_BYTES} bytes")
        latency_ms = round((time.monotonic() - self._started) * 1000)
        try:
            return AgentEnd(answer=read_answer(plain_answer(self._json(data)), latency_ms=latency_ms))
        except GarbageError as problem:
            return _failure("garbage", str(problem))

    def _json(self, data: bytes) -> Any:
        try:
            text = self._without_tokens(data.decode("utf-8-sig"))
            return json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as problem:
            raise GarbageError(f"the answer is not JSON: {_told(problem)}") from None

    async def _reason(self, response: httpx.Response) -> tuple[str | None, str]:
        """The code and the text of a refusal, as far as it can be read."""
        try:
            data, _ = await _read(response, MAX_REASON_BYTES)
        except httpx.HTTPError:
            return None, ""
        text = self._without_tokens(data.decode("utf-8", "replace"))
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return None, text
        body = body if isinstance(body, dict) else {"detail": body}
        error = body.get("error", body)
        if not isinstance(error, dict):
            return None, _shown(error)
        code = error.get("code")
        told = error.get("message", error.get("detail", ""))
        parts = [_shown(part) for part in (code, told) if part not in (None, "")]
        return code if isinstance(code, str) else None, ": ".join(parts)

    def _without_tokens(self, text: str) -> str:
        for token in self._tokens:
            text = text.replace(token, "[REDACTED]")
        return text

    async def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.startswith("http11."):
            self.is_connected = True

    def _broken(self, broken: httpx.RemoteProtocolError) -> AgentEnd:
        # h11 and httpcore tell an end of the stream from bytes that are no HTTP only in their words.
        text = str(broken)
        if "disconnected" in text or "closed connection" in text:
            return _failure("crashed", "the connection was closed before the whole answer had come")
        return _failure("garbage", f"the answer is no HTTP: {text}")


async def _read(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """At most `most` bytes of a body, and whether that was all."""
    data = bytearray()
    async for piece in response.aiter_raw():
        data += piece
        if len(data) > most:
            return bytes(data[:most]), False
    return bytes(data), True


@functools.cache
def _tls() -> ssl.SSLContext:
    """The authorities httpx ships and those of the machine, such as a company's own."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _failure(kind: str, detail: str) -> AgentEnd:
    text = detail.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return AgentEnd(failure=Failure(kind, text[:DETAIL_CHARACTERS]))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _told(problem: BaseException | None) -> str:
    return str(problem) or type(problem).__name__
