"""Judges: who reads an answer by a rubric. One small interface, one registry, one prompt file.

Pure but for what the providers' own clients do over HTTP; knows no rows and no settings. A judge that cannot
answer raises `JudgeError` and is never mistaken for one that did.
"""
