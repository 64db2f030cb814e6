"""An account's own tokens: made, shown once, revoked."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from agenttwin_site.kept_forms import kept_form
from agenttwin_site.paging import keyset_page
from reviews.errors import NotFoundError
from reviews.models import ApiToken
from reviews.services.tokens import revoke_token
from reviews.token_forms import TokenForm

LISTED = 50


@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The list and the form. A new token's secret is part of the answer to its POST and of no other page.

    Not a redirect: the secret would have to be kept until the next request, and it is kept nowhere.
    """
    if request.method == "POST":
        form = TokenForm(request.POST)
        made = form.create(request.user)
        if made is None:
            return _page(request, form, status=422)
        token, secret = made
        return _page(request, TokenForm(), made=token, secret=secret)
    kept = kept_form(request, action=request.path)
    initial: dict[str, Any] = {}
    if kept:
        initial = {name: kept.first(name) for name in ("name", "expires")}
        initial["scopes"] = kept.fields.get("scopes", [])
    return _page(request, TokenForm(initial=initial))


@require_POST
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """End one of one's own tokens. One that has ended already stays as it is."""
    if not ApiToken.objects.filter(pk=token_id, user=_account(request)).exists():
        raise Http404
    try:
        token = revoke_token(token_id=token_id, actor=request.user)
    except NotFoundError:
        raise Http404 from None
    messages.success(request, f"The token {token.name} was revoked. Nothing it is used for works any more.")
    return redirect("reviews:tokens")


def _page(
    request: HttpRequest,
    form: TokenForm,
    *,
    made: ApiToken | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    own = ApiToken.objects.filter(user=_account(request))
    page = keyset_page(own, keys=("-pk",), query=request.GET, size=LISTED)
    rows = [{"token": token, "state": token.state(now)} for token in page.rows]
    context = {"form": form, "page": page, "rows": rows, "made": made, "secret": secret}
    return render(request, "reviews/tokens.html", context, status=status)


def _account(request: HttpRequest) -> Any:
    return request.user
