"""Two agents that write: one reminds of invoices, one tops a phone up and pays bills. See docs/demo.md."""
