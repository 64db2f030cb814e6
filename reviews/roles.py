"""The four roles and what each may do: one table, written into groups by a migration.

Pages, API and admin ask for permissions (`user.has_perm`), never for the name of a group. Services ask again,
so no path around a page exists.
"""

from typing import Any

from reviews.errors import NotAllowedError

VIEWER, REVIEWER, EDITOR, ADMIN = "viewer", "reviewer", "editor", "admin"

DECIDE = "reviews.add_review"
FLAG = "reviews.add_queueentry"
WORK_QUEUE = "reviews.change_queueentry"
MANAGE_QUEUE = "reviews.manage_queue"
SEE_TOKENS = "reviews.view_apitoken"
MANAGE_TOKENS = "reviews.change_apitoken"
SET_POLICY = "reviews.add_reviewpolicy"

_SEES = (
    "twins.view_twin",
    "twins.view_twinversion",
    "scenarios.view_scenario",
    "scenarios.view_scenarioversion",
    "scenarios.view_scenarioapproval",
    "scenarios.view_dataset",
    "scenarios.view_datasetversion",
    "evaluations.view_agent",
    "evaluations.view_agentversion",
    "evaluations.view_comparison",
    "evaluations.view_run",
    "evaluations.view_pairedcase",
    "evaluations.view_case",
    "evaluations.view_toolcall",
    "evaluations.view_expectationresult",
    "evaluations.view_statesnapshot",
    "evaluations.view_manualsession",
    "evaluations.view_criterion",
    "evaluations.view_example",
    "evaluations.view_calibration",
    "evaluations.view_judgeverdict",
    "evaluations.view_datasetuse",
    "evaluations.view_suitecheck",
    "evaluations.view_gatepolicy",
    "evaluations.view_gatedecision",
    "evaluations.view_gateoverride",
    "reviews.view_review",
    "reviews.view_queueentry",
    "reviews.view_auditentry",
    "reviews.view_reviewpolicy",
    "reviews.view_doublereview",
)
# Reading the cases of a holdout: who writes agents and scenarios is kept from them.
_HOLDOUTS = ("scenarios.view_holdout_details",)
_DECIDES = (DECIDE, FLAG, WORK_QUEUE, "evaluations.add_label")
# Asking the gate anew, after a review too; what it says can be overridden by admins alone.
_EVALUATES = ("evaluations.add_gatedecision",)
_EDITS = (
    "twins.add_twin",
    "twins.change_twin",
    "twins.add_twinversion",
    "scenarios.add_scenario",
    "scenarios.change_scenario",
    "scenarios.add_scenarioversion",
    "scenarios.add_scenarioapproval",
    "scenarios.add_dataset",
    "scenarios.change_dataset",
    "scenarios.add_datasetversion",
    "evaluations.add_agent",
    "evaluations.change_agent",
    "evaluations.add_agentversion",
    "evaluations.add_comparison",
    "evaluations.add_suitecheck",
    "evaluations.change_comparison",
    "evaluations.add_criterion",
    "evaluations.add_example",
    "evaluations.add_calibration",
    "evaluations.add_gatepolicy",
)
_MANAGES = (
    "evaluations.activate_gatepolicy",
    "evaluations.add_gateoverride",
    MANAGE_QUEUE,
    SEE_TOKENS,
    MANAGE_TOKENS,
    SET_POLICY,
    "auth.add_user",
    "auth.change_user",
    "auth.delete_user",
    "auth.view_user",
    "auth.view_group",
)

# A role names its permissions as app_label.codename. An editor does not review what it edits.
ROLES: dict[str, tuple[str, ...]] = {
    VIEWER: _SEES,
    REVIEWER: _SEES + _DECIDES + _HOLDOUTS + _EVALUATES,
    EDITOR: _SEES + _EDITS + _EVALUATES,
    ADMIN: _SEES + _DECIDES + _HOLDOUTS + _EDITS + _EVALUATES + _MANAGES,
}


def require(actor: Any, permission: str, doing: str) -> None:
    """Raise NotAllowedError unless the actor is an active account with this permission.

    `doing` completes the sentence "You need ... to".
    """
    if actor is None or not getattr(actor, "is_active", False) or not actor.has_perm(permission):
        raise NotAllowedError(f"You need a role with the permission {permission} to {doing}.", permission)
