"""What can go wrong when comparisons are started, run and stopped, each with a stable code."""

from __future__ import annotations

from collections.abc import Sequence


class EvaluationError(Exception):
    """Base of this room's errors: ``code`` is stable, the text is one sentence for a person."""

    code = "evaluation_error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class RequestError(EvaluationError):
    """The request names something that does not exist or asks for the impossible: every problem at once."""

    code = "invalid_request"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class ConflictError(EvaluationError):
    """Another request was already made under this idempotency key."""

    code = "idempotency_conflict"


class NotRunnableError(EvaluationError):
    """The request is sound, but this installation cannot run it."""

    code = "not_runnable"


class AlreadyEndedError(EvaluationError):
    """A comparison that has ended cannot be cancelled."""

    code = "already_ended"


class NotEndedError(EvaluationError):
    """What is asked for is only known when the comparison has ended."""

    code = "not_ended"


class NotRerunnableError(EvaluationError):
    """These trials may not be run again: every reason at once."""

    code = "not_rerunnable"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class LabelConflictError(EvaluationError):
    """The person labelled the example before, otherwise: a label is not changed."""

    code = "already_labelled"


class NotBlindError(EvaluationError):
    """The person chose to see the labels of this rubric, and so gives none any more."""

    code = "not_blind"


class LabelSettledError(EvaluationError):
    """Somebody else has labelled the example too, or a calibration used it: the label stays."""

    code = "label_settled"


class NotAllowedError(EvaluationError):
    """The account may not do this."""

    code = "permission_denied"


class NotInForceError(EvaluationError):
    """The override has ended or was withdrawn."""

    code = "not_in_force"


class ClaimLostError(EvaluationError):
    """The lease ran out and somebody else took the case: nothing of this attempt is stored."""

    code = "claim_lost"


def database_problem(problem: Exception) -> str:
    """What a command says, on one line, when the database fails it."""
    text = " ".join(str(problem).split())
    hint = "; has it been migrated?" if "no such table" in text or "does not exist" in text else ""
    return f"the database cannot be used ({text}){hint}"
