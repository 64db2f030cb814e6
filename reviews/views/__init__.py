"""Pages of the reviews room: a case, the decisions on it, the queue, the audit log, one's own reviews."""
