"""The description of the API (OpenAPI 3.1): helpers that document an operation with its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from agenttwin_site.api.lists import Strict


class ProblemShape(serializers.Serializer):
    path = serializers.CharField(help_text="The field or parameter, as `spec.tools` or `scenarios[0]`.")
    line = serializers.IntegerField(required=False, help_text="The line of a YAML document, from 1.")
    detail = serializers.CharField()


class ErrorShape(serializers.Serializer):
    """Every failure has this form."""

    code = serializers.CharField(help_text="Stable, for programs.")
    detail = serializers.CharField(help_text="One sentence, for people.")
    problems = ProblemShape(many=True, required=False)


_ERRORS: dict[int, tuple[str, dict[str, Any]]] = {
    400: (
        "The request cannot be used; every problem is told.",
        {
            "code": "invalid",
            "detail": "limit: A valid integer is required.",
            "problems": [{"path": "limit", "detail": "A valid integer is required."}],
        },
    ),
    401: (
        "No credential, or one that opens nothing (any more).",
        {"code": "not_authenticated", "detail": "Authentication credentials were not provided."},
    ),
    403: (
        "The token lacks the scope, or the account the permission; a session without its CSRF token.",
        {"code": "permission_denied", "detail": "This token lacks the scope run."},
    ),
    404: ("There is no such thing.", {"code": "not_found", "detail": "There is no comparison 12."}),
    405: (
        "The address does not know the method.",
        {"code": "method_not_allowed", "detail": 'Method "DELETE" not allowed.'},
    ),
    406: (
        "Only JSON can be answered.",
        {"code": "not_acceptable", "detail": "Could not satisfy the request Accept header."},
    ),
    409: (
        "It contradicts what is stored.",
        {
            "code": "idempotency_conflict",
            "detail": "key 'nightly-12' belongs to comparison 3, which was asked for with other content",
        },
    ),
    411: (
        "The body came without a length.",
        {"code": "length_required", "detail": "Send the body with a Content-Length."},
    ),
    413: ("The body is too large.", {"code": "too_large", "detail": "The body is larger than 8 MiB."}),
    415: (
        "The content type is not taken here.",
        {"code": "unsupported_media_type", "detail": 'Unsupported media type "text/html" in request.'},
    ),
    429: (
        "Too many requests of this token; Retry-After says when to come back.",
        {"code": "throttled", "detail": "Request was throttled. Expected available in 12 seconds."},
    ),
    503: (
        "The database does not answer; Retry-After says when to try again.",
        {
            "code": "unavailable",
            "detail": "The database does not answer at the moment.",
        },
    ),
}
READS = (400, 401, 403, 404, 405, 406, 429, 503)
WRITES = (400, 401, 403, 404, 405, 406, 409, 411, 413, 415, 429, 503)
OPEN_READS = (400, 405, 406, 503)


def operation(
    summary: str,
    *,
    answers: Mapping[Any, Any],
    tag: str,
    example: Any = None,
    query: type[Strict] | None = None,
    body: Any = None,
    body_example: Any = None,
    parameters: Sequence[OpenApiParameter] = (),
    description: str = "",
    errors: Sequence[int] = READS,
    auth: Any = None,
    name: str | None = None,
) -> Callable[[Any], Any]:
    """Documents a method of a view: what it answers by status, an example, and how it can fail.

    `answers` maps a status (or a status and a content type) to a serializer class or an OpenApiResponse;
    `example` is the body of the first.
    """
    first = next(iter(answers))
    told: dict[Any, Any] = {}
    for status, shape in answers.items():
        if isinstance(shape, OpenApiResponse) or isinstance(status, tuple):
            told[status] = shape
            continue
        shown = [OpenApiExample("Example", value=example)] if status == first and example is not None else []
        told[status] = OpenApiResponse(shape, description=summary, examples=shown)
    told |= {status: error_response(status) for status in errors if status not in told}
    examples = []
    if body_example is not None:
        examples.append(OpenApiExample("Request", value=body_example, request_only=True))
    return extend_schema(
        operation_id=name,
        summary=summary,
        description=description or summary,
        request=body,
        responses=told,
        parameters=[*([query] if query is not None else []), *parameters],
        examples=examples,
        tags=[tag],
        auth=auth,
    )


def error_response(status: int) -> OpenApiResponse:
    """The description of a failure with this status."""
    description, example = _ERRORS[status]
    return OpenApiResponse(
        ErrorShape, description=description, examples=[OpenApiExample(str(example["code"]), value=example)]
    )


_NAMES = {
    "twins": "demo-co-support",
    "scenarios": "refund-happy-path",
    "agents": "support-refund-agent",
    "criteria": "refund-handover",
    "datasets": "refund-regression-suite",
    "gate": "default",
}
_ADDRESSED: dict[str, tuple[str, dict[str, Any], Any]] = {
    "id": ("The number of the row.", {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}, 1),
    "sequence": ("The number of the entry.", {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}, 1),
    "number": ("The number of the version.", {"type": "integer", "minimum": 1, "maximum": 10**9 - 1}, 1),
    "version": ("The version as its manifest names it.", {"type": "string", "maxLength": 200}, "1.2.4"),
    "name": ("The name in its document.", {"type": "string", "maxLength": 200}, ""),
}


def describe_addresses(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hook of the generator: says what the parts of an address are, with one that the demo has."""
    for path, methods in result["paths"].items():
        room = path.removeprefix("/api/v1/").split("/")[0]
        for one in (one for method in methods.values() for one in method.get("parameters", ())):
            if one["in"] == "path":
                one["description"], one["schema"], example = _ADDRESSED[one["name"]]
                one["example"] = example or _NAMES[room]
    return result


class StrictShape(OpenApiSerializerExtension):
    """What refuses unknown fields says so."""

    target_class = "agenttwin_site.api.lists.Strict"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "reviews.api.credentials.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A token of /account/tokens/."}


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = "agenttwin_site.api.access.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of the pages; a write needs X-CSRFToken too.",
        }
