"""Ways to reach an agent: one adapter per way, one registry (`registry.py`)."""
