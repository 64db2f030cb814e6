"""What an auditor asks for, parsed once from an address."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils.dateparse import parse_date

from reviews.texts import clean_text

_TEXT_FIELDS = ("actor", "action", "subject_type", "subject_id", "via", "text")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Empty fields ask for nothing. `since` and `until` are whole days in UTC, both included."""

    actor: str = ""
    action: str = ""
    subject_type: str = ""
    subject_id: str = ""
    via: str = ""
    text: str = ""
    since_text: str = ""
    until_text: str = ""
    # Conditions that could not be read; they filter nothing, so the page must show them.
    problems: tuple[str, ...] = ()

    @classmethod
    def from_query(cls, query: Mapping[str, Any]) -> "AuditFilter":
        """Read `actor`, `action`, `subject_type`, `subject_id`, `via`, `text`, `since`, `until`."""
        values = {name: clean_text(query.get(name))[:200] for name in _TEXT_FIELDS}
        days = {name: clean_text(query.get(name))[:20] for name in ("since", "until")}
        problems = tuple(
            f"{name}: “{value}” is not a day such as 2026-01-31"
            for name, value in days.items()
            if value and not _day(value)
        )
        return cls(**values, since_text=days["since"], until_text=days["until"], problems=problems)

    @property
    def since(self) -> datetime | None:
        return _day(self.since_text)

    @property
    def before(self) -> datetime | None:
        """The first moment after `until`."""
        day = _day(self.until_text)
        return day + timedelta(days=1) if day else None

    @property
    def is_empty(self) -> bool:
        return not self.to_query()

    def to_query(self) -> str:
        """The filter as the query part of an address, without what asks for nothing."""
        values = {name: getattr(self, name) for name in _TEXT_FIELDS}
        values |= {"since": self.since_text, "until": self.until_text}
        return urlencode({name: value for name, value in values.items() if value})


def _day(text: str) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    # The last day of the calendar has no day after it.
    return datetime.combine(day, time.min, UTC) if day and day.year < 9999 else None
