"""Forms of criteria and examples: shape only; what a rubric or a file may hold is the services' to say."""

from __future__ import annotations

from typing import Any

from django import forms

from evaluations.labelling import CRITERION_CHARACTERS, EXAMPLES_BYTES, RUBRIC_CHARACTERS, examples_kind


class _Described(forms.Form):
    """Fields that name their help and their error to screen readers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            described = [f"id_{name}_help"] if field.help_text else []
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                field.widget.attrs["aria-describedby"] = " ".join(described)


class CriterionForm(_Described):
    """A criterion's name and rubric."""

    name = forms.CharField(
        max_length=CRITERION_CHARACTERS,
        strip=False,
        help_text="What expectations give as their category, such as refund-handover.",
    )
    rubric = forms.CharField(
        max_length=RUBRIC_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What a judge is asked to find, word for word as in the expectations.",
    )

    def clean_rubric(self) -> str:
        """A browser sends its lines with CRLF; expectations have LF."""
        return str(self.cleaned_data["rubric"]).replace("\r\n", "\n")


_KINDS = (("yaml", "YAML or JSON: one document"), ("jsonl", "JSONL: one example a line"))


class ImportForm(_Described):
    """A file of examples, or its text."""

    file = forms.FileField(
        required=False,
        help_text="A name that ends in .jsonl holds one example a line, any other one document.",
        widget=forms.FileInput(attrs={"accept": ".yaml,.yml,.json,.jsonl,.ndjson"}),
    )
    text = forms.CharField(
        required=False, strip=False, label="Or its text", widget=forms.Textarea(attrs={"rows": 10})
    )
    kind = forms.ChoiceField(choices=_KINDS, required=False, label="The text is")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        has_text = bool(values.get("text", "").strip())
        if bool(values.get("file")) == has_text:
            given = "a file and a text were given" if has_text else "neither was given"
            raise forms.ValidationError(f"Give a file or a text: {given}.")
        return values

    def source(self) -> tuple[bytes, str, str]:
        """The text with its kind, and what to call it. One byte too many is enough to refuse it."""
        values = self.cleaned_data
        if (file := values.get("file")) is not None:
            return file.read(EXAMPLES_BYTES + 1), examples_kind(file.name), file.name[:200]
        text = values["text"].replace("\r\n", "\n")
        return text.encode("utf-8", "surrogatepass"), values.get("kind") or "yaml", ""
