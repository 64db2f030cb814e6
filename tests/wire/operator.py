"""A process inside an installation that opens and closes sessions when told to.

``python -m tests.wire.operator``: one JSON command a line on stdin, one JSON answer a line on stdout.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    import django

    django.setup()
    from django.db import connection

    import tests.wire.documents as documents
    from twins.services import save_twin

    version, _ = save_twin(document=documents.twin())
    for line in sys.stdin:
        command = json.loads(line)
        answer = _COMMANDS[command.pop("do")](version.pk, **command)
        connection.close()  # a test may cut every connection of the database between two commands
        print(json.dumps(answer), flush=True)


def _open(version_id: int, *, lifetime: int = 600, spec: dict[str, Any]) -> dict[str, Any]:
    from twins.wire.services import open_session
    from twins.wire.specs import SessionSpec

    plain = SessionSpec(twin_version_id=version_id).to_json()
    whole = SessionSpec.from_json({**plain, **spec})
    session, token = open_session(spec=whole, label="a test", lifetime_seconds=lifetime)
    return {
        "id": session.pk,
        "token": token,
        "tools": session.tools_base_url,
        "mcp": session.mcp_url,
    }


def _close(version_id: int, *, session: int) -> dict[str, Any]:
    from twins.wire.services import close_session

    closed = close_session(session)
    return {
        "records": [record.to_json() for record in closed.records],
        "state": closed.state.root,
        "limit_reached": closed.limit_reached,
        "twin_error": closed.twin_error,
        "disturbed": closed.disturbed,
    }


_COMMANDS = {"open": _open, "close": _close}

if __name__ == "__main__":
    main()
