"""Every failure of the API in one form: `{code, detail, problems?: [{path, line?, detail}]}`.

The one place where exceptions become statuses. `exception_handler` serves the views; `failure_response` what
fails outside of them (an address that does not exist, a session that cannot be read).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import set_rollback

from agenttwin_site.api.failures import RETRY_AFTER_SECONDS, ApiError, Failure, Problem, invalid, not_found
from evaluations import errors as evaluation_errors
from reviews import errors as review_errors
from scenarios import errors as scenario_errors
from twins import errors as twin_errors
from twins.documents.problems import DocumentError
from twins.engine.paths import format_path

logger = logging.getLogger(__name__)

UNAVAILABLE = "The database does not answer at the moment. Try again in a few seconds."

# Domain errors by class; a subclass without a row of its own has the status of its base.
STATUSES: dict[type[Exception], int] = {
    DocumentError: 400,
    twin_errors.TwinError: 400,
    twin_errors.StaleEditError: 409,
    scenario_errors.ScenarioError: 400,
    scenario_errors.UnknownDatasetError: 404,
    scenario_errors.UnknownSubjectError: 404,
    scenario_errors.HoldoutHiddenError: 403,
    scenario_errors.NotGeneratedError: 409,
    scenario_errors.DatasetTamperedError: 409,
    evaluation_errors.EvaluationError: 400,
    evaluation_errors.ConflictError: 409,
    evaluation_errors.AlreadyEndedError: 409,
    evaluation_errors.LabelConflictError: 409,
    evaluation_errors.NotBlindError: 409,
    evaluation_errors.LabelSettledError: 409,
    evaluation_errors.ClaimLostError: 409,
    evaluation_errors.NotEndedError: 409,
    evaluation_errors.NotAllowedError: 403,
    evaluation_errors.NotInForceError: 409,
    evaluation_errors.NotRerunnableError: 409,
    review_errors.ReviewError: 400,
    review_errors.NotAllowedError: 403,
    review_errors.NotFoundError: 404,
    review_errors.NotReviewableError: 409,
    review_errors.ReviewConflict: 409,
    review_errors.FormTokenError: 409,
    review_errors.NotInForceError: 409,
    review_errors.EntryTakenError: 409,
    review_errors.EntryClosedError: 409,
    review_errors.EntryUndecidedError: 409,
    review_errors.EntryNotForYouError: 409,
    review_errors.AlreadyDecidedError: 409,
    review_errors.StalePolicyError: 409,
    review_errors.TokenRefusedError: 401,
    review_errors.AuditLogError: 500,
}
# Fields of forms and of services that the API calls otherwise.
_FIELD_NAMES = {"seen_review_id": "seen_review", "assignee": "assigned_to", "form_token": "Idempotency-Key"}
# How a refused request for a comparison tells which part it means.
_MEANT = (
    (re.compile(r"(agent|baseline|candidate|trials|seed|name|rubric|label|example): "), None),
    (re.compile(r"(reason|ticket|expires_at|decision): "), None),
    (re.compile(r"(?:key|form_token): "), "Idempotency-Key"),
    (re.compile(r"unknown policy "), "policy"),
    (re.compile(r"(?:unknown )?dataset "), "dataset"),
    (re.compile(r"unknown agent "), "agent"),
    (re.compile(r"tag(?:: | )"), "tags"),
    (re.compile(r"(?:unknown )?scenario(?:: | )|no scenario "), "scenarios"),
)
_CODES = {
    status.HTTP_413_REQUEST_ENTITY_TOO_LARGE: "too_large",
    status.HTTP_415_UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
}


def exception_handler(problem: Exception, context: Mapping[str, Any]) -> Response | None:
    """The answer for an exception of a view; None for a fault of ours, which Django then reports."""
    failure = failure_of(problem)
    if failure is None:
        return None
    set_rollback()
    if failure.status == 503:
        logger.warning("the database does not answer: %s", problem)
    return Response(failure.to_json(), status=failure.status, headers=dict(failure.headers))


def failure_response(failure: Failure) -> HttpResponse:
    """The same where no view was reached."""
    return JsonResponse(failure.to_json(), status=failure.status, headers=dict(failure.headers))


def is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/")


def failure_of(problem: BaseException | None) -> Failure | None:
    """What an exception means to a client; None where it is a fault of ours."""
    if isinstance(problem, ApiError):
        return problem.failure
    if isinstance(problem, exceptions.APIException):
        return _of_framework(problem)
    if isinstance(problem, Http404):
        return not_found(str(problem) or "There is nothing at this address.")
    if isinstance(problem, PermissionDenied):
        return Failure(403, "permission_denied", str(problem) or "You may not do this.")
    if isinstance(problem, RequestDataTooBig):
        return Failure(413, "too_large", "The body is larger than this server takes.")
    if isinstance(problem, SuspiciousOperation):
        return Failure(400, "bad_request", "The request cannot be used.")
    if isinstance(problem, OperationalError | InterfaceError):
        return Failure(503, "unavailable", UNAVAILABLE, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
    return _of_domain(problem)


def _of_domain(problem: BaseException | None) -> Failure | None:
    found = next((STATUSES[kind] for kind in type(problem).__mro__ if kind in STATUSES), None)
    if found is None or problem is None:
        return None
    if isinstance(problem, DocumentError):
        count = len(problem.problems)
        detail = f"The document has {count} problem{'' if count == 1 else 's'}."
        told = tuple(Problem(one.path, one.detail, one.line) for one in problem.problems)
        return Failure(found, "invalid_document", detail, told)
    detail = str(getattr(problem, "detail", problem))
    return Failure(found, str(getattr(problem, "code", "error")), detail, tuple(_problems_of(problem)))


def _problems_of(problem: BaseException) -> Iterator[Problem]:
    if isinstance(problem, evaluation_errors.RequestError):
        yield from (Problem(*_meant(text)) for text in problem.problems)
    elif isinstance(problem, evaluation_errors.NotRerunnableError):
        yield from (Problem("cases", text) for text in problem.problems)
    elif isinstance(problem, review_errors.InvalidInputError):
        yield Problem(_FIELD_NAMES.get(problem.field, problem.field), problem.detail)
    elif isinstance(problem, review_errors.ReviewConflict):
        yield Problem("seen_review", f"The latest review of this result is {problem.latest_id}.")


def _meant(text: str) -> tuple[str, str]:
    for pattern, path in _MEANT:
        if found := pattern.match(text):
            return path or found[1], text
    return "$", text


def _of_framework(problem: exceptions.APIException) -> Failure:
    headers = {}
    if challenge := getattr(problem, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(problem, "wait", None):
        headers["Retry-After"] = str(max(1, int(wait)))
    if isinstance(problem, exceptions.ValidationError):
        return invalid(tuple(_flattened(problem.detail, ())))
    codes = problem.get_codes()
    code = codes if isinstance(codes, str) else "error"
    code = _CODES.get(problem.status_code, code)
    return Failure(problem.status_code, code, str(problem.detail), headers=headers)


def _flattened(detail: Any, segments: tuple[str | int, ...]) -> Iterator[Problem]:
    """The nested errors of the framework's serializers as one list."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _flattened(inner, segments if name == "non_field_errors" else (*segments, name))
    elif isinstance(detail, list):
        for position, inner in enumerate(detail):
            is_nested = isinstance(inner, dict | list)
            if is_nested and not inner:
                continue
            yield from _flattened(inner, (*segments, position) if is_nested else segments)
    else:
        yield Problem(format_path(segments) if segments else "$", str(detail))
