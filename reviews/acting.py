"""Who acts at the moment, for records of changes that Django itself makes to accounts and groups.

Services are told their actor. Signals of `django.contrib.auth` are not, so each request says it once here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

SESSION = "session"
COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Acting:
    """`actor` is a user, or a callable that finds one late: after a login the request's user is another.

    `via` may be found late too: a request says only while it is answered that it came with a token.
    """

    actor: Any
    via: str | Callable[[], str]


_acting: ContextVar[Acting | None] = ContextVar("agenttwin_acting", default=None)


@contextmanager
def acting(actor: Any, via: str | Callable[[], str]) -> Iterator[None]:
    """Within the block, changes of accounts and groups are recorded as this actor's."""
    token = _acting.set(Acting(actor, via))
    try:
        yield
    finally:
        _acting.reset(token)


def current_actor() -> Any:
    """The account that acts, or None outside a request."""
    state = _acting.get()
    if state is None:
        return None
    return state.actor() if callable(state.actor) else state.actor


def current_via() -> str:
    state = _acting.get()
    if state is None:
        return COMMAND
    return state.via() if callable(state.via) else state.via
