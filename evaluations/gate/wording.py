"""A policy in sentences, for whoever has to know what a release must show and will not read YAML."""

from __future__ import annotations

from evaluations.grading.wording import listed, plural
from scenarios.documents.gate_policy import GatePolicy


def policy_sentences(policy: GatePolicy) -> list[str]:
    """What must hold, one sentence each, what blocks first."""
    told = [
        _mandatory(policy),
        f"{_at_most(policy.critical_failures_allowed, 'critical check')} may fail.",
        f"{_at_most(policy.regressions_allowed, 'scenario')} may newly fail against the baseline.",
    ]
    if (bar := policy.reliability) is not None:
        told.append(
            f"Each critical scenario must reach a pass^{bar.k} of {bar.at_least:g}: the chance that {bar.k} "
            "tries in a row all succeed."
        )
    for percent, what in (
        (policy.tools_covered, "the candidate’s tools"),
        (policy.irreversible_tools_covered, "its tools whose writes cannot be taken back"),
    ):
        if percent is not None:
            told.append(f"At least {percent:g}% of {what} must be shown by a scenario that passes.")
    if policy.calibrated_judges_only:
        told.append("The verdict of a judge that is not calibrated is no evidence.")
    told += [
        f"A warning: a scenario with fewer than {plural(policy.minimum_trials, 'graded trial')}.",
        f"A warning: a scenario that is more than {policy.latency_percent:g}% slower, by more than "
        f"{policy.latency_ignored_ms:g} ms.",
        f"A warning: a scenario that is more than {policy.cost_percent:g}% dearer.",
    ]
    return told


def _mandatory(policy: GatePolicy) -> str:
    mandatory = policy.mandatory
    share = "in every trial" if mandatory.pass_rate == 1 else f"in {mandatory.pass_rate:.0%} of its trials"
    if mandatory.everything:
        return f"Every scenario of the suite must pass {share}."
    parts = []
    if mandatory.scenarios:
        parts.append(listed(list(mandatory.scenarios), 10))
    if mandatory.severities:
        parts.append(f"every scenario of severity {listed(list(mandatory.severities))}")
    if mandatory.tags:
        parts.append(f"every scenario tagged {listed(list(mandatory.tags), 10)}")
    told = f"{'; '.join(parts)} must pass {share}."
    return told[:1].upper() + told[1:]


def _at_most(number: int, noun: str) -> str:
    return f"No {noun}" if number == 0 else f"At most {plural(number, noun)}"
