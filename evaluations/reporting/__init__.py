"""Reports of a concluded comparison: read from the rows once (`report.py`), written in three formats."""
