"""Words and shapes in which stored evidence is shown. Pure: values in, values out; no rows, no requests."""
