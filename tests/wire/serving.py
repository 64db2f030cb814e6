"""The site's ASGI application as the tests serve it: with the tests' adapter, and dying when told to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tests.wire.documents  # noqa: F401 - registers the adapter
from agenttwin_site.asgi import application

__all__ = ["application"]


def _dies_after(service: Callable[..., Any], order: Path) -> Callable[..., Any]:
    """The service; but once it has committed and `order` exists, the process ends as under SIGKILL."""

    def served(*arguments: Any) -> Any:
        answered = service(*arguments)
        if order.exists():
            order.unlink()
            os._exit(9)
        return answered

    return served


if os.environ.get("DIE_AFTER_COMMIT"):
    from twins.wire import services

    services.call = _dies_after(services.call, Path(os.environ["DIE_AFTER_COMMIT"]))
