"""Keys of releases and ledgers that are the same in every run, lest an interval that may miss fails one run in twenty.

A key is drawn from the operating system where none is given. Here the n-th key of a test, or of a fixture that
outlives one, is the digest of its name and n: whatever ran before it, in whichever process. `SQLPRIV_RANDOM` (`make
test-deep`) leaves the keys to the operating system.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sqlpriv.publishing import noise
from sqlpriv.release.ledger import store


class FixedKeys:
    """Stands for the module `os` in the modules that draw keys."""

    def __init__(self) -> None:
        self._name, self._drawn = "before any test", 0

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keys of the test or fixture with this name."""
        before = self._name, self._drawn
        self._name, self._drawn = name, 0
        yield
        self._name, self._drawn = before

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def urandom(self, size: int) -> bytes:
        """The next key."""
        self._drawn += 1
        return hashlib.shake_256(f"{self._name} {self._drawn}".encode()).digest(size)


class FixedKeysPlugin:
    """Tells the keys which test is running."""

    def __init__(self) -> None:
        self._keys = FixedKeys()
        for module in (noise, store):
            module.os = self._keys  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._keys.of(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        with self._keys.of(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"):
            return (yield)


def register(config: pytest.Config) -> None:
    """To be called when pytest is configured."""
    if not os.environ.get("SQLPRIV_RANDOM"):
        config.pluginmanager.register(FixedKeysPlugin(), "fixed-keys")
