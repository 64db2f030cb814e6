"""What a refusal of the API says. Parsers raise these while the framework's views are still being imported,
so nothing here imports a view: `errors` does, and maps every other exception onto them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

RETRY_AFTER_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the request. `path` is the field, written as in documents; "$" is the request itself."""

    path: str
    detail: str
    line: int | None = None

    def to_json(self) -> dict[str, Any]:
        line = {} if self.line is None else {"line": self.line}
        return {"path": self.path, **line, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong: `code` is stable, `detail` a sentence for a person."""

    status: int
    code: str
    detail: str
    problems: tuple[Problem, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        problems = {"problems": [_sendable(one.to_json()) for one in self.problems]} if self.problems else {}
        return {**_sendable({"code": self.code, "detail": self.detail}), **problems}


def _sendable(texts: Mapping[str, Any]) -> dict[str, Any]:
    """What was found may be told again, and a lone surrogate in it is no text that can be sent."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value
        for name, value in texts.items()
    }


class ApiError(Exception):
    """A refusal that only the API knows."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure


class InvalidRequest(ApiError):
    """400 for parameters and fields; every problem at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__(invalid(tuple(problems)))


class TooLarge(ApiError):
    def __init__(self, limit: int) -> None:
        detail = f"The body is larger than {limit // (1024 * 1024)} MiB."
        super().__init__(Failure(413, "too_large", detail))


def invalid(problems: tuple[Problem, ...]) -> Failure:
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Failure(400, "invalid", f"{first.path}: {first.detail}{more}", problems)


def not_found(detail: str) -> Failure:
    return Failure(404, "not_found", detail)
