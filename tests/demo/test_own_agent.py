"""docs/own-agent.md does what it says: its files, written to a folder elsewhere, give its output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "own-agent.md").read_text()
# A file's name in backquotes, the last one before its block, and the block.
FILES = dict(re.findall(r"`([\w./-]+\.(?:yaml|py))`[^`]*\n```(?:yaml|python)\n(.*?)```", TEXT, re.DOTALL))
OUTPUT = re.search(r"```\n(booking-agent: .*?)```", TEXT, re.DOTALL)


def test_the_files_of_the_page_give_its_output(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    kept = {
        name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "CELERY_BROKER_URL")
    }
    environment = {
        **kept,
        "AGENTTWIN_DATA_DIR": str(tmp_path),
        "AGENTTWIN_IN_PROCESS_AGENTS": json.dumps({"booking-agent": "booking_agent.BookingAgent"}),
        "PYTHONPATH": str(folder),
    }

    def manage(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    assert manage("migrate", "--verbosity", "0") == (0, "")
    documents = ("--twin", "calendar/twin.yaml", "--scenario", "calendar/booking-timeout.yaml")
    status, rehearsed = manage("rehearse", *documents, "--calls", "calls.yaml")
    assert (status, re.search(r"FAIL +booked-once .*expected 1, got 2", rehearsed) is not None) == (1, True)
    assert manage("import_documents", "calendar/")[0] == 0
    status, compared = manage("compare", "booking-agent", "--baseline", "1.0.0", "--candidate", "1.1.0")
    assert OUTPUT is not None
    assert (status, compared.startswith(OUTPUT[1])) == (3, True), compared
