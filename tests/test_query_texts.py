"""Texts of a query stay texts: nothing that is written inside quotes reaches the engine as SQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from releases import alpha_beta, random_view, write_release
from test_query import COLUMNS, REGIONS

from sqlpriv.open_release import OpenRelease, open_release


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenRelease]:
    path = tmp_path_factory.mktemp("texts") / "people.duckdb"
    write_release(path, COLUMNS, random_view(COLUMNS, 30, 1), alpha_beta(0.4, 0.02), public=REGIONS)
    with open_release(path) as found:
        yield found


@pytest.mark.parametrize("text", ["__priv_0__", "__priv_1__", "__priv_s", '"__priv_s"."e0"'])
def test_a_text_that_looks_like_a_name_of_ours(opened: OpenRelease, text: str) -> None:
    query = f"SELECT count(*) AS n, concat('{text}', count(*), '{text}', sum(age)) AS t, sum(age) AS s FROM people"
    ((n, found, s),) = opened.sql(query, intervals=False).fetchall()
    assert found == f"{text}{n}{text}{s}"


def test_a_text_cannot_leave_its_quotes(opened: OpenRelease) -> None:
    inner = " , (SELECT count(*) FROM release_file.release.published) , "
    query = f"SELECT count(*) AS n, concat('__priv_0__', concat(count(*), '{inner}')) AS t FROM people"
    ((n, found),) = opened.sql(query, intervals=False).fetchall()
    assert found == f"__priv_0__{n}{inner}"
