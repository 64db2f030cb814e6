"""How much of an event is logged."""

from __future__ import annotations

import logging

from django.core.exceptions import PermissionDenied


def without_refusals_trace(record: logging.LogRecord) -> bool:
    """A page refused to somebody is a line, not a trace: nothing is wrong with the program."""
    if record.exc_info and isinstance(record.exc_info[1], PermissionDenied):
        record.exc_info = None
    return True
