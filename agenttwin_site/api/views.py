"""The base of all views of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.response import Response
from rest_framework.views import APIView

from agenttwin_site.api.access import PUBLIC, Access, HasAccess, SessionAuthentication
from agenttwin_site.api.failures import ApiError, not_found
from agenttwin_site.api.parsing import refuse_unmeasured
from reviews.api.credentials import TokenAuthentication


class ApiView(APIView):
    """`access` says for each method who may; a method without an entry is not there.

    Credentials are checked first, then the rate, then the permission: what is refused counts as well.
    """

    access: ClassVar[Mapping[str, Access]] = {}
    # Named here, so that no change of the framework's settings can open an address.
    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes = (HasAccess,)
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    def access_of(self, method: str | None) -> Access:
        return self.access.get("GET" if method == "HEAD" else str(method), PUBLIC)

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        if not hasattr(self, request.method.lower()) or request.method.lower() not in self.http_method_names:
            raise MethodNotAllowed(request.method)
        refuse_unmeasured(request)
        super().initial(request, *args, **kwargs)

    def check_permissions(self, request: Any) -> None:
        self.check_throttles(request)
        super().check_permissions(request)

    # The framework asks once more after the permissions; the request was counted already.
    def check_throttles(self, request: Any) -> None:
        if not getattr(self, "_is_counted", False):
            self._is_counted = True
            super().check_throttles(request)


class NoSuchAddress(ApiView):
    """Answers for every other address below /api/, so that a client gets JSON and never a redirect."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete", "options", "trace"]
    schema = None

    def initial(self, request: Any, *args: Any, **kwargs: Any) -> None:
        hint = "" if request.path.endswith("/") else " Addresses end with a slash."
        raise ApiError(not_found(f"There is nothing at this address.{hint}"))


def via_of(request: Any) -> dict[str, Any]:
    """The keywords that tell a service of the reviews room through which token something is done."""
    token = request.auth
    return {} if token is None else {"via": token.name}


def absolute(request: Any, path: str) -> str:
    """The whole address of a path of this site; where the request came in is worked out once."""
    inner = request._request
    if (base := getattr(inner, "api_base", None)) is None:
        base = inner.api_base = inner.build_absolute_uri("/")[:-1]
    return f"{base}{path}"


def created(body: Any, *, is_new: bool) -> Response:
    """201 for what was made, 200 for what was there."""
    return Response(body, status=201 if is_new else 200)
