"""The API of this room: credentials, decisions, queue, audit log, and the aligned trajectory of a case."""
