"""The suite itself: a test draws the same keys in every run."""

from __future__ import annotations

import hashlib
import os

import pytest

from sqlpriv.publishing.noise import read_key

pytestmark = pytest.mark.skipif("SQLPRIV_RANDOM" in os.environ, reason="keys come from the operating system")


def expected(name: str, number: int) -> bytes:
    return hashlib.shake_256(f"{name} {number}".encode()).digest(32)


@pytest.fixture(scope="module")
def drawn() -> bytes:
    return read_key(None)


def test_a_test_has_keys_of_its_own(request: pytest.FixtureRequest) -> None:
    found = [read_key(None) for _ in range(3)]
    assert found == [expected(request.node.nodeid, number) for number in (1, 2, 3)]


def test_a_fixture_that_outlives_a_test_has_keys_of_its_own(request: pytest.FixtureRequest, drawn: bytes) -> None:
    assert drawn == expected("tests/test_fixed_keys.py::drawn[0]", 1)
    assert read_key(None) == expected(request.node.nodeid, 1)
