"""Lists: parameters that are checked, and pages that begin after the last row of the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.failures import InvalidRequest, Problem
from agenttwin_site.paging import Page, is_cursor, keyset_page

LIMIT, MOST = 50, 200

_TYPED = "typed"
_KINDS: dict[type[serializers.Field], tuple[tuple[type, ...], str]] = {
    serializers.CharField: ((str,), "string"),
    serializers.IntegerField: ((int, float), "number"),
    serializers.BooleanField: ((bool,), "boolean"),
}


class Strict(serializers.Serializer):
    """Refuses what it does not know: a misspelt filter would otherwise show everything."""

    def to_internal_value(self, data: Any) -> Any:
        wrong = self._unknown(data) if hasattr(data, "keys") else {}
        if self.context.get(_TYPED) and isinstance(data, dict):
            wrong |= self._of_another_kind(data)
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as refused:
            raise serializers.ValidationError(_merged(refused.detail, wrong)) from None
        if wrong:
            raise serializers.ValidationError(wrong)
        return values

    def _unknown(self, data: Any) -> dict[str, Any]:
        known = ", ".join(self.fields) or "none"
        unknown = sorted(set(data) - set(self.fields))
        return {str(name)[:100]: [f"is not known here (known: {known})"] for name in unknown}

    def _of_another_kind(self, data: dict[str, Any]) -> dict[str, Any]:
        """What the framework would turn into a text, a number or a truth value: JSON has each of them."""
        wrong: dict[str, Any] = {}
        for name, field in self.fields.items():
            given = data.get(name)
            if not isinstance(field, serializers.ListField):
                if problem := _kind_problem(field, given):
                    wrong[name] = [problem]
            elif isinstance(given, list):
                problems = {place: _kind_problem(field.child, item) for place, item in enumerate(given)}
                if found := {place: [problem] for place, problem in problems.items() if problem}:
                    wrong[name] = found
        return wrong


def _kind_problem(field: Any, given: Any) -> str:
    for kind, (types, told) in _KINDS.items():
        if isinstance(field, kind) and given is not None and type(given) not in types:
            return f"must be a JSON {told}"
    return ""


def _merged(first: Any, second: dict[str, Any]) -> Any:
    """The problems of both, by field; a list's by place in it."""
    if not isinstance(first, dict):
        return first
    merged = {**first, **second}
    for name in first.keys() & second.keys():
        if isinstance(first[name], dict) and isinstance(second[name], dict):
            merged[name] = {**first[name], **second[name]}
    return merged


class NoQuery(Strict):
    """No parameters."""


class ListQuery(Strict):
    """What every list takes; a list adds its filters."""

    limit = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        help_text=f"Rows of a page; {LIMIT} if not said.",
    )
    after = serializers.CharField(
        max_length=200, required=False, help_text="Cursor of the page after; taken from `next`."
    )
    before = serializers.CharField(
        max_length=200, required=False, help_text="Cursor of the page before; taken from `previous`."
    )


def read_query(request: Any, kind: type[Strict]) -> dict[str, Any]:
    """The parameters of the address, all problems at once. Raises ValidationError."""
    sent = request.query_params
    lists = {name for name, field in kind().fields.items() if isinstance(field, serializers.ListField)}
    # As a plain mapping: the framework would take an empty value of a form for one that was not sent.
    query = kind(data={name: sent.getlist(name) if name in lists else sent[name] for name in sent})
    query.is_valid(raise_exception=True)
    return dict(query.validated_data)


def read_body(request: Any, kind: type[Strict]) -> dict[str, Any]:
    """The fields of a JSON body, all problems at once. Raises ValidationError."""
    body = kind(data=request.data, context={_TYPED: True})
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def page_of(request: Any, rows: QuerySet[Any], *, keys: Sequence[str], query: dict[str, Any]) -> Page:
    """One page of the rows: one query. `query` is what `read_query` gave for a ListQuery.

    Raises InvalidRequest for a cursor that was not taken from this list.
    """
    cursors = [name for name in ("after", "before") if name in query]
    problems = [
        Problem(name, "is no cursor of this list; take it from next or previous")
        for name in cursors
        if not is_cursor(query[name], keys=keys)
    ]
    if len(cursors) == 2:
        problems.append(Problem("before", "cannot be given together with after"))
    if problems:
        raise InvalidRequest(problems)
    return keyset_page(rows, keys=keys, query=request.query_params, size=query.get("limit", LIMIT))


def listed(request: Any, page: Page, results: Sequence[Any]) -> Response:
    """The answer of a list."""
    return Response(
        {
            "results": list(results),
            "next": _address(request, page.next_href),
            "previous": _address(request, page.previous_href),
        }
    )


def listing(
    request: Any,
    rows: QuerySet[Any],
    *,
    keys: Sequence[str],
    query: dict[str, Any],
    render: Callable[[Any], Any],
) -> Response:
    """`page_of` and `listed` for rows that are rendered one by one."""
    page = page_of(request, rows, keys=keys, query=query)
    return listed(request, page, [render(row) for row in page.rows])


def _address(request: Any, href: str) -> str | None:
    return request.build_absolute_uri(request.path + href) if href else None


def list_of(name: str, item: type[serializers.BaseSerializer]) -> type[serializers.Serializer]:
    """The description of a list's answer."""
    return type(
        name,
        (serializers.Serializer,),
        {
            "results": item(many=True),
            "next": serializers.URLField(allow_null=True, help_text="The page after this one."),
            "previous": serializers.URLField(allow_null=True, help_text="The page before this one."),
            "__doc__": "A page of a list.",
        },
    )
