"""Running the CI client as a build does: a process of its own, and a small server that answers as told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "agenttwin_ci.py"
TOKEN = "att_a-secret-that-nobody-may-see"
VERSIONS = ("--baseline", "1.2.4", "--candidate", "1.3.0")
_KEPT = ("PATH", "HOME", "LANG")


def environment(url: str, token: str = TOKEN, **more: str) -> dict[str, str]:
    """A build's environment; nothing of the CI system that runs these tests."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "AGENTTWIN_URL": url, "AGENTTWIN_TOKEN": token, **more}


def run(
    *arguments: str, env: dict[str, str], agent: str = "support-refund-agent", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`agenttwin_ci.py compare AGENT` with these arguments; not even its token may show in what it writes."""
    done = subprocess.run(
        [sys.executable, str(CLIENT), "compare", agent, *arguments],
        env=env, cwd=cwd, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert env.get("AGENTTWIN_TOKEN", "") == "" or env["AGENTTWIN_TOKEN"] not in done.stdout + done.stderr
    return done


@dataclass
class Answer:
    """What the small server says once. `cut`: it promises more bytes than it sends."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Small:
    """A server that gives its answers in turn, the last one again and again, and keeps what it was asked."""

    url: str
    answers: list[Answer]
    asked: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)


def comparison(state: str = "COMPLETED", **fields: Any) -> dict[str, Any]:
    """A comparison object of the API: nine unchanged cases, unless fields say otherwise."""
    summary = {"NEW_CRITICAL_FAILURE": 0, "REGRESSED": 0, "IMPROVED": 0, "UNCHANGED": 9, "INCOMPLETE": 0}
    whole = {
        "id": 7,
        "state": state,
        "reason": "",
        "summary": {**summary, **fields.pop("summary", {})},
        "pending": 0,
        "progress": {"cases": 18, "ended": 18},
        "blocks": None if state in ("QUEUED", "RUNNING") else False,
        "links": {"page": "http://example.invalid/comparisons/7/"},
    }
    return {**whole, **fields}


@contextmanager
def small_server(*answers: Answer) -> Iterator[Small]:
    """A `Small` on a port of its own."""
    small = Small("", list(answers))

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(length)
            small.asked.append(
                (self.command, self.path, dict(self.headers), json.loads(sent) if sent else None)
            )
            answer = small.answers.pop(0) if len(small.answers) > 1 else small.answers[0]
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) + (100 if answer.cut else 0)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    small.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield small
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
