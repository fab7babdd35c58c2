"""One server for all tests that ask one: it takes a second to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.bi_corpus import exact_release
from support.releases import Made
from support.serving import Running, running


@pytest.fixture(scope="session")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release that answers exactly."""
    return exact_release(tmp_path_factory.mktemp("serve") / "visits-release.duckdb")


@pytest.fixture(scope="session")
def server(visits: Made) -> Iterator[Running]:
    """A server of it."""
    with running(visits.path) as found:
        yield found
