"""A server that is asked well and badly by several clients at once; `make test-soak` does it for ten minutes."""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.soak import soak

pytestmark = [pytest.mark.slow, pytest.mark.one_version]


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is looked up in /proc")
@pytest.mark.skipif(find_spec("pgserver") is None, reason="there is no PostgreSQL for this Python")
def test_nothing_wrong_is_answered_and_nothing_is_left() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        found = soak(8, 4, Path(folder))
    assert found.faults == []
    assert found.done["answered"] > 0
    assert found.done["refused"] > 0
