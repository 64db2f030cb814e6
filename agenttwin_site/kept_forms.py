"""What a person typed when the session ended: kept with the anonymous session, given back after login.

Only the fields of one form per page are kept, bounded in number and size, and never a password or the CSRF
token. The page shows them again; nothing is sent on the person's behalf. A form says whose it is
(`templates/shared/_typed_by.html`): whoever else logs in on that browser does not get to read it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.core.signing import BadSignature, Signer
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

_SESSION_KEY = "kept_forms"
_MAX_FORMS = 5
_MAX_FIELDS = 50
_MAX_CHARACTERS = 100_000
# An anonymous session that holds a kept form is forgotten after this time.
KEPT_SECONDS = 2 * 60 * 60
TYPED_BY = "typed_by"
_NEVER_KEPT = (
    TYPED_BY, "csrfmiddlewaretoken", "password", "old_password", "new_password1", "new_password2",
)  # fmt: skip
_signer = Signer(salt="agenttwin.typed-by")


@dataclass(frozen=True, slots=True)
class KeptForm:
    """`action` is the path the form was sent to, `fields` its values (lists, as in a QueryDict)."""

    action: str
    fields: dict[str, list[str]]

    def first(self, name: str) -> str:
        return (self.fields.get(name) or [""])[0]


def page_of(request: HttpRequest) -> str:
    """Address (path and query) of the page that shows what this request answers or was sent from.

    A plain GET is that page itself; htmx names its page, a form sends it as the Referer. Unknown: "/".
    """
    htmx = getattr(request, "htmx", None)
    if htmx:
        return _same_site(request, htmx.current_url or "") or "/"
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    return _same_site(request, request.headers.get("Referer", "")) or "/"


def typed_by(account: Any) -> str:
    """What the hidden field of a form holds: whose it is, signed."""
    return _signer.sign(str(account.pk)) if account.is_authenticated else ""


def keep_form(request: HttpRequest) -> bool:
    """Keep the fields of this POST in the session, under the path of the page it was sent from.

    False if the form does not say whose it is, or is not that of the account that is logged in by now.
    """
    owner = _owner(request.POST.get(TYPED_BY, ""))
    if owner is None or (request.user.is_authenticated and owner != str(request.user.pk)):
        return False
    fields: dict[str, list[str]] = {}
    room = _MAX_CHARACTERS
    for name, values in list(request.POST.lists())[:_MAX_FIELDS]:
        if name in _NEVER_KEPT or len(name) > 100:
            continue
        kept = [value[:room] for value in values[:_MAX_FIELDS]]
        room -= sum(len(value) for value in kept)
        fields[name] = kept
        if room <= 0:
            break
    # The answer to this request may look like a success (a redirect); `forget_form` must not take it for one.
    request.form_was_kept = True  # type: ignore[attr-defined]
    entry = {"action": request.path, "fields": fields, "owner": owner, "at": int(time.time())}
    forms = dict(request.session.get(_SESSION_KEY, {}))
    forms.pop(path := urlsplit(page_of(request)).path, None)
    forms[path] = entry
    request.session[_SESSION_KEY] = dict(list(forms.items())[-_MAX_FORMS:])
    if not request.session.get("_auth_user_id"):
        request.session.set_expiry(KEPT_SECONDS)
    return True


def kept_form(request: HttpRequest, *, action: str | None = None) -> KeptForm | None:
    """The form kept for this page (and this `action` path, if given), or None. Reading forgets nothing."""
    entry = _fresh(request).get(request.path)
    if (
        entry is None
        or entry["owner"] != str(request.user.pk)
        or (action is not None and entry["action"] != action)
    ):
        return None
    return KeptForm(action=entry["action"], fields=entry["fields"])


def forget_form(request: HttpRequest) -> None:
    """Drop what was kept for the action of this request: it was sent again and taken."""
    if getattr(request, "form_was_kept", False):
        return
    forms = _fresh(request)
    left = {path: entry for path, entry in forms.items() if entry["action"] != request.path}
    if len(left) != len(forms):
        request.session[_SESSION_KEY] = left


def leave_to_owner(request: HttpRequest) -> None:
    """After a login: drop what somebody else had typed."""
    forms = _fresh(request)
    own = {path: entry for path, entry in forms.items() if entry["owner"] == str(request.user.pk)}
    if len(own) != len(forms):
        request.session[_SESSION_KEY] = own


def has_kept_form(request: HttpRequest, page: str) -> bool:
    return urlsplit(page).path in _fresh(request)


def _fresh(request: HttpRequest) -> dict[str, Any]:
    limit = time.time() - KEPT_SECONDS
    kept = request.session.get(_SESSION_KEY, {})
    return {path: entry for path, entry in kept.items() if entry["at"] > limit and "owner" in entry}


def _owner(mark: str) -> str | None:
    try:
        return _signer.unsign(mark)
    except BadSignature:
        return None


def _same_site(request: HttpRequest, url: str) -> str | None:
    if not url or not url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()}):
        return None
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
