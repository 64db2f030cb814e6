"""What a gate can say, and what that means to a build."""

PASS, WARN, BLOCK = "PASS", "WARN", "BLOCK"
OUTCOMES = (PASS, WARN, BLOCK)
#: How a decision reads while an override of it is in force; the decision itself never changes.
OVERRIDDEN = "OVERRIDDEN"

COULD_NOT_DECIDE = 4
#: Wrong arguments are COULD_NOT_DECIDE as well: 2 is a warning, and a misspelt option must not read as one.
EXIT_STATUS = {PASS: 0, OVERRIDDEN: 0, WARN: 2, BLOCK: 3}


def worst(outcomes: list[str]) -> str:
    """The worst of these; PASS when there is none."""
    return max(outcomes, key=OUTCOMES.index, default=PASS)
