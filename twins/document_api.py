"""What the API does with every document that is kept in versions: twins, scenarios and agents alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from agenttwin_site.api.lists import ListQuery, Strict, read_query
from agenttwin_site.api.parsing import DocumentText
from agenttwin_site.api.views import created

# A path segment that is a number a column can hold.
NUMBER = "[0-9]{1,9}"
# Names have no slash; what else they may be, the documents say.
NAME = "[^/]{1,200}"


# How the description tells of a document as a body.
DOCUMENT_BODY: Any = {"application/yaml": OpenApiTypes.STR, "application/json": OpenApiTypes.OBJECT}


class SaveQuery(Strict):
    validate_only = serializers.BooleanField(
        required=False, default=False, help_text="Only say whether it would be saved; nothing is stored."
    )
    based_on = serializers.CharField(
        required=False,
        max_length=200,
        help_text="The version the text was edited from; another one being current is a conflict (409).",
    )


class NamedListQuery(ListQuery):
    q = serializers.CharField(required=False, max_length=200, help_text="A part of the name.")


class DocumentLinks(serializers.Serializer):
    self = serializers.URLField()
    versions = serializers.URLField()
    page = serializers.URLField(allow_null=True)


class ValidatedShape(serializers.Serializer):
    """The document can be saved. One that cannot is answered with 400 and every problem."""

    valid = serializers.ChoiceField(choices=[True])
    is_new = serializers.BooleanField(
        help_text="Whether it would make a version; false: it is stored already."
    )
    name = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 of its canonical JSON.")


def saved_or_valid(name: str, shape: type[serializers.Serializer]) -> Any:
    """The description of 200: what is stored already, or with `validate_only` that it is valid."""
    return PolymorphicProxySerializer(
        component_name=name, serializers=[shape, ValidatedShape], resource_type_field_name=None
    )


def save_document(
    request: Any,
    *,
    save: Callable[..., tuple[Any, bool]],
    parent: str,
    add_permission: str,
    render: Callable[[Any], dict[str, Any]],
    based_on: Callable[[str], Any],
) -> Response:
    """Save the document of the body with the service `save`, or only try it (`validate_only`).

    The trial is a save that is rolled back, so it can find nothing else than the save would.
    """
    query = read_query(request, SaveQuery)
    sent = request.data
    if not isinstance(sent, DocumentText):
        # No body at all: the reader says that the document is empty.
        sent = DocumentText(b"", "yaml")
    asked = based_on(query["based_on"]) if "based_on" in query else None
    with transaction.atomic():
        version, is_new = save(text=_as_text(sent.text), kind=sent.kind, based_on=asked, actor=request.user)
        head = getattr(version, parent)
        is_first = is_new and head.versions.count() == 1
        if is_first and not request.user.has_perm(add_permission):
            raise PermissionDenied(f"You need a role with the permission {add_permission} for a new name.")
        if query["validate_only"]:
            transaction.set_rollback(True)
            return Response({"valid": True, "is_new": is_new, "name": head.name, "digest": version.digest})
        return created(render(version), is_new=is_new)


def person(account: Any) -> str | None:
    return None if account is None else account.get_username()


def _as_text(body: bytes) -> str:
    """As text for the reader; bytes that are no UTF-8 become lone surrogates, which it refuses."""
    return body.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
