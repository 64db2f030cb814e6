"""docs/http-agents.md does what it says: its server on the documents of own-agent.md gives that output."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
from pathlib import Path

from tests.docs.pages import DOCS, fenced
from tests.remote.installation import Installation, free_port, process

OWN_AGENT = (DOCS / "own-agent.md").read_text(encoding="utf-8")
DOCUMENTS = dict(re.findall(r"`(calendar/[\w./-]+\.yaml)`[^`]*\n```yaml\n(.*?)```", OWN_AGENT, re.DOTALL))
OUTPUT = re.search(r"```\n(booking-agent: .*?)```", OWN_AGENT, re.DOTALL)
(SERVER,) = fenced((DOCS / "http-agents.md").read_text(encoding="utf-8"), "python")


def test_the_server_of_the_page_is_compared_as_the_class_is(tmp_path: Path) -> None:
    for name, text in {**DOCUMENTS, "booking_server.py": SERVER}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    site = Installation(tmp_path)
    site.run("import_documents", str(tmp_path / "calendar"))
    port = free_port()
    command = [sys.executable, str(tmp_path / "booking_server.py"), str(port)]
    with site.served(), process(command, tmp_path / "agent.log", dict(os.environ), site.url + "/login/"):
        until = time.monotonic() + 30
        while not _listens(port):
            assert time.monotonic() < until
            time.sleep(0.05)
        printed = site.run(
            "compare", "booking-agent", "--baseline", "1.0.0", "--candidate", "1.1.0",
            status=3,
            AGENTTWIN_AGENT_ENDPOINTS=json.dumps({"booking-agent": f"http://127.0.0.1:{port}"}),
        )  # fmt: skip

    assert OUTPUT is not None
    # Nobody can look into a server: it is what its manifest says it is.
    expected = OUTPUT[1].replace("agent: deterministic-fake", "agent: llm")
    assert printed.startswith(expected), printed


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
