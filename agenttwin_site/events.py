"""Facts that one room announces and another may record, so that no lower room imports a higher one."""

from django.dispatch import Signal

# Sent inside the transaction of a governance action, so that its record and its effect commit together.
# Arguments: action (str), actor (User or None), subject (str), before, after (JSON values), note (str).
governance = Signal()

# Sent inside the transaction that concludes a comparison. Argument: comparison.
comparison_concluded = Signal()

# Sent inside the transaction that queues trials to be run again. Arguments: comparison, pairs (those that no
# longer count), actor, via.
trials_replaced = Signal()

# Sent inside the transaction in which a person lets a generated scenario count. Argument: version.
scenario_approved = Signal()
