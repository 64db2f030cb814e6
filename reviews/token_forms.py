"""The form of a new token, for the account's own page and the admin."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.utils import timezone

from reviews.errors import InvalidInputError
from reviews.models import ApiToken, Scope
from reviews.services.tokens import NAME_CHARACTERS, create_token, expiry_from

_ENDS = (
    ("7d", "in 7 days"),
    ("30d", "in 30 days"),
    ("90d", "in 90 days"),
    ("365d", "in a year"),
    ("", "never"),
)


class TokenForm(forms.Form):
    """Name, scopes, end. `create` stores it and answers the secret, or None with the form's errors."""

    name = forms.CharField(
        max_length=NAME_CHARACTERS, help_text="Where it is used. It stands beside your name in the audit log."
    )
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple)
    expires = forms.ChoiceField(choices=_ENDS, required=False, initial="90d", label="It ends")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "expires"):
            field = self.fields[name]
            described = [f"id_{name}_help"] if field.help_text else []
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                field.widget.attrs["aria-describedby"] = " ".join(described)

    def owner(self, actor: Any) -> Any:
        """The account the token acts as."""
        return actor

    def create(self, actor: Any, now: datetime | None = None) -> tuple[ApiToken, str] | None:
        if not self.is_valid():
            return None
        values = self.cleaned_data
        try:
            return create_token(
                user=self.owner(actor),
                name=values["name"],
                scopes=values["scopes"],
                expires_at=expiry_from(values["expires"], now or timezone.now()),
                actor=actor,
            )
        except InvalidInputError as refusal:
            field = {"expires_at": "expires"}.get(refusal.field, refusal.field)
            self.add_error(field if field in self.fields else None, refusal.detail)
            return None


class AnyonesTokenForm(TokenForm):
    """For superusers, who may make a token for any active account."""

    user: Any = forms.ModelChoiceField(queryset=None, label="Acts as")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accounts = get_user_model()._default_manager.filter(is_active=True).order_by("username")
        self.fields["user"].queryset = accounts  # type: ignore[attr-defined]

    def owner(self, actor: Any) -> Any:
        return self.cleaned_data["user"]
