"""What can go wrong with scenarios and datasets, beside a document that is wrong (`DocumentError`)."""

from __future__ import annotations


class ScenarioError(Exception):
    """Base of this room's errors: ``code`` is stable, the text is one sentence for a person."""

    code = "scenario_error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class UnknownDatasetError(ScenarioError):
    """No dataset has this name, or it has no such version; the text says what there is."""

    code = "unknown_dataset"


class UnknownSubjectError(ScenarioError):
    """No twin or scenario has this name."""

    code = "unknown_subject"


class NotGeneratedError(ScenarioError):
    """Only what a program wrote is approved."""

    code = "not_generated"


class ApprovalError(ScenarioError):
    """An approval without a reason."""

    code = "invalid_note"


class HoldoutHiddenError(ScenarioError):
    """Somebody who may not look into holdouts would change one."""

    code = "holdout_hidden"


class DatasetTamperedError(ScenarioError):
    """What is stored of a frozen dataset is not what it was frozen with: it measures nothing."""

    code = "dataset_tampered"
