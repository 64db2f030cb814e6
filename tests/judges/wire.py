"""A local server that answers as the providers do, byte for byte as a test says."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evaluations.judges.prompt import shipped_prompt

KEY = "sk-ant-or-openai-test-0123456789abcdef"
TOOL = shipped_prompt().tool_name


@dataclass
class Heard:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Says = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Provider:
    """The server of one test: says one thing after the other, the last one again and again."""

    url: str = ""
    says: list[Says] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)

    def next(self) -> Says:
        return self.says.pop(0) if len(self.says) > 1 else self.says[0]


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            provider.heard.append(Heard(self.path, headers, json.loads(data)))
            self.close_connection = True
            provider.next()(self)

        def log_message(self, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # a client that gave up
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def says(status: int, body: Any, **headers: str) -> Says:
    """A whole answer; a text or bytes go out as they are, everything else as JSON."""
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def says_half(body: Any) -> Says:
    """Half of a body that was announced whole, then the connection closes."""
    data = json.dumps(body).encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])

    return answer


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def is_slow(seconds: float) -> Says:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        says(200, {})(handler)

    return answer


def trickles(seconds: float, *, in_head: bool = False) -> Says:
    """A byte now and then: each read succeeds, the whole never comes."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        head = b"HTTP/1.1 200 OK\r\n" if in_head else b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
        handler.wfile.write(head)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            handler.wfile.write(b"X" if in_head else b" ")
            handler.wfile.flush()
            time.sleep(0.02)

    return answer


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(10_000):
        handler.wfile.write(b" " * 65536)


class Anthropic:
    """How `anthropic` says what a test is about."""

    name = "anthropic"
    variable = "ANTHROPIC_API_KEY"
    path = "/v1/messages"

    @staticmethod
    def base_url(url: str) -> str:
        return url

    @staticmethod
    def sent_key(heard: Heard) -> str:
        return heard.headers["authorization"].removeprefix("Bearer ")

    @classmethod
    def verdict(cls, verdict: Any, **fields: Any) -> dict[str, Any]:
        return cls.message([cls.call(verdict)], **fields)

    @staticmethod
    def call(verdict: Any, name: str = TOOL) -> dict[str, Any]:
        return {"type": "tool_use", "id": "toolu_1", "name": name, "input": verdict}

    @staticmethod
    def text(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    @classmethod
    def words(cls, text: str) -> dict[str, Any]:
        return cls.message([cls.text(text)], stop_reason="end_turn")

    @staticmethod
    def message(content: Any, **fields: Any) -> dict[str, Any]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "small",
            "content": content,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1200, "output_tokens": 80},
            **fields,
        }

    @classmethod
    def refusal(cls) -> dict[str, Any]:
        return cls.message([cls.text("I can't help with that.")], stop_reason="refusal")

    @classmethod
    def cut_off(cls) -> dict[str, Any]:
        return cls.message([cls.call({"score": 0.9, "label": "pass"})], stop_reason="max_tokens")

    @staticmethod
    def error(kind: str, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}}


class OpenAI:
    """How `openai` says what a test is about."""

    name = "openai"
    variable = "OPENAI_API_KEY"
    path = "/v1/chat/completions"

    @staticmethod
    def base_url(url: str) -> str:
        return f"{url}/v1"

    @staticmethod
    def sent_key(heard: Heard) -> str:
        return heard.headers["authorization"].removeprefix("Bearer ")

    @classmethod
    def verdict(cls, verdict: Any, **fields: Any) -> dict[str, Any]:
        return cls.completion({"role": "assistant", "content": json.dumps(verdict)}, **fields)

    @classmethod
    def words(cls, text: str) -> dict[str, Any]:
        return cls.completion({"role": "assistant", "content": text})

    @staticmethod
    def completion(message: Any, finish_reason: str = "stop", **fields: Any) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "small",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280},
            **fields,
        }

    @classmethod
    def refusal(cls) -> dict[str, Any]:
        return cls.completion({"role": "assistant", "content": None, "refusal": "I can't help with that."})

    @classmethod
    def cut_off(cls) -> dict[str, Any]:
        return cls.completion({"role": "assistant", "content": '{"score": 0.9, "label": "pa'}, "length")

    @staticmethod
    def error(kind: str, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}
