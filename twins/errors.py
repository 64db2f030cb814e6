"""What can go wrong with a twin, beside a document that is wrong in itself (`DocumentError`)."""

from __future__ import annotations


class TwinError(Exception):
    """Base of this room's errors: ``code`` is stable, the text is one sentence for a person."""

    code = "twin_error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class StaleEditError(TwinError):
    """Somebody saved a newer version while this one was being edited; nothing was stored.

    ``current`` names the version that is current now: a number, or an agent's own version.
    """

    code = "stale_edit"

    def __init__(self, name: str, based_on: int | str | None, current: int | str | None) -> None:
        self.name = name
        self.based_on = based_on
        self.current = current
        if based_on is None:
            super().__init__(
                f"{name} exists already, at version {current}: open it to make a new version of it"
            )
        else:
            super().__init__(
                f"{name} was edited from version {based_on}, but version {current} is current now: "
                "compare the two, then save again"
            )


class UnusableTwinError(TwinError, ValueError):
    """A stored twin cannot be used by this process, such as one whose adapter is registered elsewhere.

    Also a ValueError: whoever loads several documents at once treats what cannot be used alike.
    """

    code = "unusable_twin"
