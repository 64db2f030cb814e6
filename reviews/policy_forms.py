"""The form that sets the review policy."""

from __future__ import annotations

from typing import Any

from django import forms

from reviews.errors import InvalidInputError, StalePolicyError
from reviews.services import set_policy
from reviews.texts import NOTE_MAX_LENGTH, NOTE_MIN_LENGTH
from reviews.two_reviewers import ASKED_FOR, Policy, plain


class PolicyForm(forms.Form):
    """`seen_number` is the policy the page showed; what was set meanwhile refuses the form."""

    two_reviewers = forms.MultipleChoiceField(
        label="Two reviewers, apart from each other, decide",
        choices=list(ASKED_FOR.items()),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    sample_percent = forms.DecimalField(
        label="Passing verdicts of judges to look at, percent",
        min_value=0,
        max_value=100,
        decimal_places=2,
        help_text="Drawn from each comparison that ends, the same ones however often it is asked.",
        widget=forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"}),
    )
    confidence_below = forms.DecimalField(
        label="Look at verdicts of judges less sure than",
        min_value=0,
        max_value=1,
        decimal_places=2,
        help_text="0 to 1, as the judge says of itself.",
        widget=forms.NumberInput(attrs={"inputmode": "decimal", "step": "any"}),
    )
    note = forms.CharField(
        label="Why",
        min_length=NOTE_MIN_LENGTH,
        max_length=NOTE_MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=f"It stays with the policy. At least {NOTE_MIN_LENGTH} characters.",
    )
    seen_number = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("sample_percent", "confidence_below", "note"):
            field = self.fields[name]
            described = [f"id_{name}_help"]
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            field.widget.attrs["aria-describedby"] = " ".join(described)

    @staticmethod
    def values_of(policy: Policy) -> dict[str, Any]:
        """What the form shows of a policy."""
        return {
            "two_reviewers": [name for name in ASKED_FOR if name in policy.two_reviewers],
            "sample_percent": plain(policy.sample_percent),
            "confidence_below": plain(policy.confidence_below),
            "seen_number": policy.number,
        }

    def put_in_force(self, actor: Any) -> tuple[Policy, bool] | None:
        """The policy and whether it is new; None with the form's errors, nothing set."""
        if not self.is_valid():
            return None
        try:
            return set_policy(**self.cleaned_data, actor=actor)
        except InvalidInputError as refusal:
            self.add_error(refusal.field, refusal.detail)
        except StalePolicyError as refusal:
            self.add_error(None, refusal.detail)
            # What is in force now is on the page that answers; the same form sent again is meant.
            sent: Any = self.data
            self.data = sent.copy()
            self.data["seen_number"] = str(refusal.current)  # type: ignore[index]
        return None
