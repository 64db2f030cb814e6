"""The pure twin: a stand-in for an agent's tools that keeps state, records every call and can misbehave on purpose."""
