"""What the providers have in common: one bounded HTTP exchange through a client library, and its failures.

The libraries speak the wire formats. They are kept from what they would do besides: no attempts of their own,
no proxy or address out of the environment, no redirect (a key would go along), no reply of any size, no trace
of what was said. The whole exchange ends within the configured time, also where bytes only trickle.
"""

from __future__ import annotations

import asyncio
import functools
import math
import os
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2

from evaluations.grading.secrets import KEY_SHAPES
from evaluations.judges.interface import JudgeError, JudgeSettings, TokenUsage
from evaluations.judges.rendering import visible
from evaluations.judges.verdicts import read_json

T = TypeVar("T")

MAX_REPLY_BYTES = 256 * 1024
MAX_DETAIL = 300
REDACTED = "[REDACTED]"
# A shorter key is a placeholder, as local servers take any. Hiding an "x" would break every reply.
_SECRET_LENGTH = 8
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
# JSON within JSON within JSON, escaped each time.
_DEEPEST_ESCAPE = 4


class _TooMuchError(Exception):
    """The reply is larger than any verdict, or packed so that its size is unknown."""


@dataclass(frozen=True, slots=True)
class Key:
    """A provider's key for one exchange. It is hidden in everything that comes out of it."""

    variable: str
    value: str

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    @classmethod
    def of(cls, *variables: str) -> Key:
        """The first of these variables that is set.

        Raises:
            JudgeError: `rejected`, because nobody would answer without one.
        """
        for variable in variables:
            if value := os.environ.get(variable, "").strip():
                return cls(variable, value)
        raise JudgeError("rejected", f"{' or '.join(variables)} is not set where judging runs")

    def hide(self, text: str) -> str:
        return text.replace(self.value, REDACTED) if len(self.value) >= _SECRET_LENGTH else text

    def is_spelled_in(self, text: str) -> bool:
        """Whether JSON text says the key with escapes, where `hide` cannot see it."""
        if len(self.value) < _SECRET_LENGTH:
            return False
        for _ in range(_DEEPEST_ESCAPE):
            plainer = _ESCAPED.sub(_unescaped, text)
            if plainer == text:
                return False
            if self.value in plainer:
                return True
            text = plainer
        return False


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else found[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that came whole: its text without the key, and the JSON in it."""

    text: str
    body: Mapping[str, Any]


def exchange(ask: Callable[[httpx2.AsyncClient], Awaitable[bytes]], *, timeout_s: float) -> bytes:
    """The bytes of one reply. `ask` uses the client it is given for exactly one request.

    Raises:
        JudgeError: `timeout`, `unavailable`, or `malformed` for a reply that is too large.
        Exception: whatever else the library raises, its status errors among them.
    """
    return asyncio.run(_bounded(ask, timeout_s))


async def _bounded(ask: Callable[[httpx2.AsyncClient], Awaitable[bytes]], timeout_s: float) -> bytes:
    try:
        async with asyncio.timeout(timeout_s), _client() as client:
            return await ask(client)
    except TimeoutError:
        raise JudgeError("timeout", f"no answer within {timeout_s:g} s") from None
    except Exception as problem:
        if (too_much := _found(problem, _TooMuchError)) is not None:
            # Something came, so it is paid for.
            raise JudgeError("malformed", str(too_much), raw=f"[{too_much}]") from None
        # Its words may repeat a header, so only its name is told.
        if (broken := _found(problem, httpx2.TransportError)) is not None:
            kind = "timeout" if isinstance(broken, httpx2.TimeoutException) else "unavailable"
            raise JudgeError(kind, f"the exchange broke off: {type(broken).__name__}") from None
        raise


def read_reply(data: bytes, key: Key) -> Reply:
    """A reply with status 2xx.

    Raises:
        JudgeError: `malformed` when it is no JSON object, or spells out the key: no verdict has to.
    """
    # Kept as it came, but for what no database holds.
    text = key.hide(data.decode("utf-8-sig", "replace")).replace("\x00", "\ufffd")
    if key.is_spelled_in(text):
        raise JudgeError("malformed", f"the reply repeats the key in {key.variable}", raw=REDACTED)
    try:
        body = read_json(text)
    except ValueError as problem:
        raise JudgeError("malformed", f"the reply is not JSON: {problem}", raw=text or "[nothing]") from None
    if not isinstance(body, dict):
        raise JudgeError("malformed", "the reply is not a JSON object", raw=text)
    return Reply(text, body)


def status_error(status: int, headers: Mapping[str, str], body: object, key: Key) -> JudgeError:
    """What a reply with another status than 2xx means."""
    kind, sentence = _KINDS.get(status, ("unavailable" if status >= 500 else "rejected", ""))
    if status in (401, 403):
        # The provider's words may hold a part of the key.
        return JudgeError(kind, f"HTTP {status}: the provider does not accept the key in {key.variable}")
    said = _message(body) or sentence
    for _, shape in KEY_SHAPES:
        said = shape.sub(REDACTED, said)
    detail = " ".join(visible(key.hide(f"HTTP {status}: {said}" if said else f"HTTP {status}")).split())
    return JudgeError(kind, detail[:MAX_DETAIL], retry_after(headers))


_KINDS = {
    408: ("timeout", "the provider waited too long"),
    409: ("unavailable", "the provider was busy with something else"),
    425: ("unavailable", ""),
    429: ("rate_limited", "too many requests"),
    504: ("timeout", "a gateway waited too long"),
    529: ("unavailable", "the provider is overloaded"),
}


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds a provider asks to wait, as a number or as a date; None where it says nothing usable."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        written = headers.get(name, "").strip()
        if not written:
            continue
        try:
            seconds = float(written) * unit
        except ValueError:
            try:
                moment = parsedate_to_datetime(written).timestamp()
            except (ValueError, OverflowError, OSError):
                continue
            seconds = max(moment - (time.time() if now is None else now), 0.0)
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def token_usage(written: object, names: tuple[str, str]) -> TokenUsage:
    """The tokens a reply reports under these two names; whatever is no count is unknown."""
    usage = written if isinstance(written, Mapping) else {}
    counts = [usage.get(name) for name in names]
    known = [
        count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**31 else None
        for count in counts
    ]
    return TokenUsage(*known)


def cost_usd(usage: TokenUsage, settings: JudgeSettings) -> float | None:
    """What the tokens cost; None without prices or counts."""
    prices = (settings.price_input, settings.price_output)
    counts = (usage.input_tokens, usage.output_tokens)
    total = 0.0
    for price, count in zip(prices, counts, strict=True):
        if price is None or count is None:
            return None
        total += price * count / 1_000_000
    return total


def _message(body: object) -> str:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else error
    return message if isinstance(message, str) else ""


def _found(problem: BaseException, wanted: type[Exception]) -> BaseException | None:
    """The first exception of a type among a problem and its causes: libraries wrap what they meet."""
    seen: BaseException | None = problem
    for _ in range(8):
        if seen is None or isinstance(seen, wanted):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=_BoundedTransport(),
        trust_env=False,
        follow_redirects=False,
        # The exchange as a whole is bounded from outside.
        timeout=httpx2.Timeout(None),
        headers={"Accept-Encoding": "identity"},
    )


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Ends a reply that is larger than any verdict while it is being read."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False, http2=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            await response.aclose()
            raise _TooMuchError("the reply is compressed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > MAX_REPLY_BYTES:
                raise _TooMuchError(f"the reply has more than {MAX_REPLY_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


@functools.cache
def _tls() -> ssl.SSLContext:
    """The authorities the library ships and those of the machine, such as a company's own."""
    context = httpx2.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
