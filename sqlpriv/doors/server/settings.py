"""How a server is set up."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass

from sqlpriv.doors.server.scram import Login


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


@dataclass(frozen=True)
class Settings:
    """Who may connect from where."""

    login: Login
    host: str = "127.0.0.1"
    port: int = 5433
    """0: any that is free."""
    tls: ssl.SSLContext | None = None
    end_point: bytes | None = None
    """The hash of the certificate, by which clients make sure that it is ours."""
    limits: Limits = Limits()


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
