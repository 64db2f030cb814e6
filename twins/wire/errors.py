"""Why a request to a session is not a call of its twin. None of these is recorded or judged."""

from __future__ import annotations

from twins.errors import TwinError


class NotAdmittedError(TwinError):
    """No such session, another token than its own, or a session that takes no more calls."""

    code = "UNAUTHORIZED"


class SessionClosedError(NotAdmittedError):
    """The token was right until the session was closed, ran out of time or reached its limit of calls."""

    code = "SESSION_CLOSED"


class TwinBrokenError(TwinError):
    """The twin itself raised. The session is over, and no agent is judged by it."""

    code = "TWIN_BROKEN"


class OutageError(TwinError):
    """The database does not answer. Trying again later helps."""

    code = "OUTAGE"


class WireFailureError(TwinError):
    """A fault of ours that is none of the above; the log has it."""

    code = "INTERNAL_ERROR"


class SessionGoneError(TwinError):
    """The session was closed before, so what it recorded is no longer kept."""

    code = "session_gone"


class HostRefusedError(TwinError):
    """The request is for a host, or from a browser page, that this site does not serve."""

    code = "HOST_REFUSED"


class SlowRequestError(TwinError):
    """The body of a request did not arrive."""

    code = "REQUEST_TIMEOUT"
