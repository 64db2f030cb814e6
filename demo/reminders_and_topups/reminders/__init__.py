"""One reminder and one queued mail for one customer, never two, and nothing else touched."""
