"""Facts that one room announces and another may record, so that no lower room imports a higher one."""

from django.dispatch import Signal

# Sent inside the transaction of a governance action, so that its record and its effect commit together.
# Arguments: action (str), actor (User or None), subject (str), before, after (JSON values), note (str).
governance = Signal()

# Sent inside the transaction that concludes a comparison. Argument: comparison.
comparison_concluded = Signal()
