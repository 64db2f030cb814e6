"""What all addresses below /api/ share: who may, how failures are told, pages of lists, the description.

Each room brings its own addresses (`ROOM/api`); this package knows how a request becomes an answer.
"""
