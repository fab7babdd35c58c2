"""Texts of a query stay texts, and what is wrong with a query is said in a sentence of ours."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from support.query_releases import COLUMNS, REGIONS
from support.releases import alpha_beta, random_view, write_release

from sqlpriv.core.errors import InputError, UnsupportedSQLError
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease


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
    inner = " , (SELECT count(*) FROM release_file.sqlpriv_release.published) , "
    query = f"SELECT count(*) AS n, concat('__priv_0__', concat(count(*), '{inner}')) AS t FROM people"
    ((n, found),) = opened.sql(query, intervals=False).fetchall()
    assert found == f"__priv_0__{n}{inner}"


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "query",
    [
        f"SELECT count(*) FROM people WHERE {' OR '.join(f'age = {i}' for i in range(3000))}",
        f"SELECT {' + '.join(['count(*)'] * 3000)} FROM people",
        f"SELECT count(*) FROM people WHERE {'(' * 3000}true{')' * 3000}",
    ],
)
def test_a_query_that_is_too_deep_is_refused(opened: OpenRelease, query: str) -> None:
    with pytest.raises(UnsupportedSQLError, match="nested too deeply"):
        opened.sql(query)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(
            "age // 0 = 1", marks=pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1.5 makes NULL of it")
        ),
        "nationality LIKE 'A' ESCAPE 'ab'",
        "regexp_matches(nationality, '(')",
    ],
)
def test_what_duckdb_refuses_to_compute_is_a_fault_of_the_query(opened: OpenRelease, condition: str) -> None:
    with pytest.raises(InputError, match="refuses a value"):
        opened.sql(f"SELECT count(*) FROM people WHERE {condition}")


def test_a_text_where_a_number_should_be(opened: OpenRelease) -> None:
    with pytest.raises(InputError, match="TRY_CAST"):
        opened.sql("SELECT count(*) / nullif(count(*), 'a') FROM people")
