"""Log lines that say what they belong to (a request, a case), and how much of an event is logged.

`bound` names them for everything that is logged inside it, whoever logs. With ``AGENTTWIN_LOG_FORMAT=json`` a
line is one JSON object; otherwise it is text with the ids at its end.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from django.core.exceptions import PermissionDenied

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_ids: ContextVar[Mapping[str, Any]] = ContextVar("agenttwin_log_ids", default=_NOTHING)

# What every record has; anything else was given with `extra` and belongs into the line.
_ORDINARY: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "ids", "taskName"}


@contextmanager
def bound(**ids: Any) -> Iterator[None]:
    """Everything logged in this context, and in tasks and threads made of it, carries these ids."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


class AddIds(logging.Filter):
    """Puts the ids of the moment on the record; another thread may write it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.ids = _ids.get()
        return True


class TextFormatter(logging.Formatter):
    """``2026-11-29 20:00:00,000 WARNING name message [request_id=… case_id=…]``"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        line = super().formatMessage(record)
        ids = " ".join(f"{name}={value}" for name, value in getattr(record, "ids", {}).items())
        return f"{line} [{ids}]" if ids else line


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, the ids, and the scalars given with `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "ids", {}),
        }
        for name, value in vars(record).items():
            if name not in _ORDINARY and isinstance(value, str | int | float | bool):
                line.setdefault(name, value)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


FORMATTERS: Final = {"TEXT": TextFormatter, "JSON": JsonFormatter}


def without_refusals_trace(record: logging.LogRecord) -> bool:
    """A page refused to somebody is a line, not a trace: nothing is wrong with the program."""
    if record.exc_info and isinstance(record.exc_info[1], PermissionDenied):
        record.exc_info = None
    return True
