"""A wallet with an allowlist, a cap, a PIN and the customer's yes, and agents that keep to it or do not."""
