"""The API of this room: agents, comparisons and their cases."""
