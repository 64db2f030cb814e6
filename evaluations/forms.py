"""The form that starts a comparison: shape only; what may be compared is the service's to say."""

from __future__ import annotations

from uuid import uuid4

from django import forms

from evaluations.services.requests import MAX_TRIALS

_SEED_BOUND = 2**63 - 1
# Chosen instead of a baseline. No version is called so: versions are numbers.
ALONE = "none"


class StartForm(forms.Form):
    """Two versions of one agent, the dataset or the scenarios, the number of trials.

    `form_key` is made with the form and sent along: the same form sent twice starts one comparison.
    """

    agent = forms.CharField(widget=forms.HiddenInput, max_length=200)
    form_key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    baseline = forms.ChoiceField(help_text="What is in use now, if anything is.")
    candidate = forms.ChoiceField(help_text="What might replace it.")
    dataset = forms.ChoiceField(
        required=False, help_text="All its cases as they were frozen; nothing is ticked below then."
    )
    tags = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    scenarios = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    trials = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_TRIALS,
        help_text="How often each scenario is run. Empty: as often as the scenario says.",
    )
    seed = forms.IntegerField(
        initial=0,
        min_value=-_SEED_BOUND,
        max_value=_SEED_BOUND,
        help_text="The same seed gives the same faults.",
    )

    def __init__(
        self,
        *args: object,
        versions: list[str],
        scenario_names: list[str],
        tag_names: list[str],
        datasets: list[tuple[str, str]],
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["dataset"].choices = [("", "none"), *datasets]  # type: ignore[attr-defined]
        for name, choices in (
            ("baseline", versions),
            ("candidate", versions),
            ("scenarios", scenario_names),
            ("tags", tag_names),
        ):
            self.fields[name].choices = [(choice, choice) for choice in choices]  # type: ignore[attr-defined]
        self.fields["baseline"].choices += [(ALONE, "none: try the candidate alone")]  # type: ignore[attr-defined]
        for name, field in self.fields.items():
            described = [f"id_{name}_help"] if field.help_text else []
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                field.widget.attrs["aria-describedby"] = " ".join(described)
