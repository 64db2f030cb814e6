"""A twin that an agent calls over HTTP or MCP: sessions, their records, the two endpoints.

A session is one case whose agent is elsewhere. It must not know who opens it or what is graded.
"""
