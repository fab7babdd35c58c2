"""All that a server needs, opened in order and closed again: releases, the shadow, the socket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlpriv.doors.server.answers import open_served
from sqlpriv.doors.server.binding import end_point
from sqlpriv.doors.server.channel import tls_context
from sqlpriv.doors.server.journal import Journal
from sqlpriv.doors.server.listener import Server, listening
from sqlpriv.doors.server.scram import login, read_password
from sqlpriv.doors.server.settings import Limits, Settings
from sqlpriv.doors.server.shadow import Shadow
from sqlpriv.errors import InputError

_LONGEST_NAME = 64


@contextmanager
def serving(
    releases: Sequence[Path],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    user: str = "analyst",
    password_file: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    limits: Limits | None = None,
    public: Mapping[str, Any] | None = None,
    domain_extremes: bool = False,
    journal: Journal | None = None,
) -> Iterator[Server]:
    """A server that is ready to run."""
    if (cert is None) != (key is None):
        raise InputError("a certificate needs its key: give --cert and --key together")
    is_taken = user in {"owner", "public"} or user.startswith("pg_")
    if is_taken or "?" in user or not 0 < len(user.encode()) < _LONGEST_NAME:
        raise InputError(f"nobody can be called {user!r} here; choose another --user")
    limits = limits or Limits()
    tls = tls_context(cert, key) if cert is not None and key is not None else None
    bound = None if cert is None else end_point(cert)
    settings = Settings(login(user, read_password(password_file)), host, port, tls, bound, limits)
    with listening(settings) as socket:
        served = open_served(releases, public or {}, limits.memory, limits.threads, domain_extremes)
        try:
            shadow = Shadow(served.tables, user, limits.connections, limits.seconds)
            try:
                yield Server(served, shadow, settings, journal or Journal(), socket)
            finally:
                shadow.stop()
        finally:
            served.close()
