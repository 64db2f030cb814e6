"""The refund demo: one twin, nine scenarios, four versions of a scripted support agent. See docs/demo.md."""
