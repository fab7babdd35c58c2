"""Releases for agents: a server of the Model Context Protocol with three tools, describe, ask and explain.

An agent is an analyst who never tires of asking. It gets what any analyst gets: estimates between bounds, a refusal
with its reason, and never a row: every question goes through the one rewriter, which has no way around it. It opens
releases only, for reading; files and settings are out of its reach (release/open.py locks the connection). A question
that takes too long is interrupted, an answer that is too long is cut, and said to be. What goes wrong inside us is told
as one sentence without what the engine says, which may quote values.

catalog.py holds the open releases and answers; server.py puts the tools in front of it, and alone knows the package
`mcp` (the extra `mcp`).
"""
