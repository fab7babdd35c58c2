"""Hints in the terms of who asks: Python's keywords are flags on the command line, and nothing to other clients."""

from __future__ import annotations

_SPOKEN = (
    (" (domain_extremes=True)", " (--domain-extremes)", ""),
    ("by release.explain(query)", "with --explain", "where your client offers it"),
    (", as in release.sql(query, parameters=[...])", ", by --parameters", ""),
)
"""What a message says, on the command line, and to clients of the server and agents."""


def on_command_line(message: str) -> str:
    """The message for somebody at a terminal."""
    for written, flag, _ in _SPOKEN:
        message = message.replace(written, flag)
    return message


def for_clients(message: str) -> str:
    """The message for SQL clients and agents, who know neither flags nor Python."""
    for written, _, other in _SPOKEN:
        message = message.replace(written, other)
    return message
