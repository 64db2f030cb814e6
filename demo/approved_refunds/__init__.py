"""Approved refunds: one twin, seven cases, four versions of a scripted agent. See docs/demo.md."""
