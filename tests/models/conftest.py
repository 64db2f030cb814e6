"""Tests of rows that commit may empty the database again."""

from tests.triggers import flush_lifts_triggers

__all__ = ["flush_lifts_triggers"]
