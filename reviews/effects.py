"""What a decision will change, in words for its reviewer. Pure: a computed effect in, text out."""

from evaluations.services.effective import Effect

_NAMED = 3

_CLASS_WORDS = {
    "NEW_CRITICAL_FAILURE": "a new critical failure",
    "REGRESSED": "a regression",
    "INCOMPLETE": "incomplete",
    "IMPROVED": "an improvement",
    "UNCHANGED": "unchanged",
}


def explain(effect: Effect) -> str:
    """One or two sentences: what becomes of the case, and of the verdict of the side."""
    return f"{_class_sentence(effect)} {_verdict_sentence(effect)}"


def _class_sentence(effect: Effect) -> str:
    before, after = effect.before.classification, effect.after.classification
    if after is None:
        return "This case has no class: its comparison was stopped before it was compared."
    because = _because(effect)
    tail = f": {because}." if because else "."
    if before == after:
        return f"This case stays {_CLASS_WORDS[after]}{tail}"
    was = f" (it was {_CLASS_WORDS[before]})" if before else ""
    return f"This case becomes {_CLASS_WORDS[after]}{was}{tail}"


def _because(effect: Effect) -> str:
    """Which checks decide the class then."""
    after = effect.after
    if after.classification == "NEW_CRITICAL_FAILURE":
        return _failing(effect, effect.critical_failing, "critical check", "fail")
    if after.classification == "REGRESSED":
        return _failing(effect, after.newly_failing, "check", "newly fail")
    if after.classification == "INCOMPLETE":
        return after.reason.rstrip(".")
    return ""


def _failing(effect: Effect, names: tuple[str, ...], noun: str, verb: str) -> str:
    # The baseline has checks of the same names; only one of the candidate is "this".
    is_own = effect.side == "CANDIDATE" and effect.after.status == "FAIL" and effect.expectation_id in names
    others = [name for name in names if not (is_own and name == effect.expectation_id)]
    listed = ", ".join(others[:_NAMED]) + (", …" if len(others) > _NAMED else "")
    number = len(others)
    if is_own and not others:
        return f"this {noun} {verb}s"
    if is_own:
        return f"this {noun} and {number} {'other' if number == 1 else 'others'} {verb} ({listed})"
    kind = "other " if effect.side == "CANDIDATE" else ""
    return f"{number} {kind}{noun}{'' if number == 1 else 's'} {verb}{'s' if number == 1 else ''} ({listed})"


def _verdict_sentence(effect: Effect) -> str:
    before, after = effect.before.verdict, effect.after.verdict
    side = effect.side.lower()
    if before == after:
        return f"The verdict on the {side} stays {after}."
    return f"The verdict on the {side} changes from {before} to {after}."
