"""How a server is set up: who may connect from where, how much clients may ask for, and the log."""

from __future__ import annotations

import ipaddress
import json
import ssl
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from threading import Lock
from typing import Any, TextIO

from sqlpriv.apps.server.scram import Verifier
from sqlpriv.apps.supervisor import Overseer


@dataclass(frozen=True)
class Limits:
    """How much clients may ask for."""

    connections: int = 32
    seconds: float = 60.0
    """How long a statement may take."""
    login_seconds: float = 15.0
    largest: int = 1 << 20
    """The bytes of the largest message that is read."""
    memory: str = "2GB"
    """What DuckDB may use, for all releases together."""
    threads: int | None = None
    """DuckDB's, for each release."""


class Log:
    """A line of JSON for each event, from all threads. It holds no literal, parameter or unknown name of a query."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr
        self._lock = Lock()

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "event": event, **facts}, ensure_ascii=False)
        with self._lock:
            try:
                print(line, file=self._file, flush=True)
            except (OSError, ValueError):  # a log that is full or closed must not end the server
                return


@dataclass(frozen=True)
class Settings:
    """Who may connect from where, and under which limits."""

    verifier: Verifier
    host: str = "127.0.0.1"
    port: int = 5433
    """0: any that is free."""
    tls: ssl.SSLContext | None = None
    limits: Limits = Limits()
    log: Log = field(default_factory=Log)
    overseer: Overseer | None = None
    """The process above this one, if it starts this one again."""


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
