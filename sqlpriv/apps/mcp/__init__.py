"""Releases for agents: a server of the Model Context Protocol with three tools, describe, ask and explain.

An agent is an analyst who never tires of asking. It gets what any analyst gets: estimates between bounds, a refusal
with its reason, and never a row: every question goes through the one rewriter, which has no way around it. It opens
releases only, for reading; files and settings are out of its reach (release/open.py locks the connection). A question
that takes too long is interrupted, and an answer that is too long is cut and says so. A fault of ours is reported as
one sentence without the words of the engine, which may quote values.

    catalog    the open releases, which answer
    server     the tools; it alone imports the package `mcp` (the extra `mcp`)
"""
