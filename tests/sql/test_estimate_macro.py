"""priv.estimate against its oracle, on the release file itself, through ATTACH, and what it refuses."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import oracles
import pytest
from support.query_releases import METHODS, made
from support.releases import Made

from sqlpriv.core.engine import translate
from sqlpriv.macros.catalog import create_statement, macro

TESTED = {"estimate"}
GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
Con = duckdb.DuckDBPyConnection
Row = Mapping[str, Any]
PREDICATES: dict[str, tuple[list[str], Callable[[Row], bool | None]]] = {
    "true": ([], lambda row: True),
    "score < 3 * age": (["age", "score"], lambda row: row["score"] < 3 * row["age"]),
    "nationality IS NULL OR age > 30": (
        ["nationality", "AGE"],
        lambda row: row["nationality"] is None or row["age"] > 30,
    ),
    "nationality <> 'AT'": (["nationality"], lambda row: row["nationality"] not in (None, "AT")),
    "age > 1000": (["age"], lambda row: False),
    "NULL": (["age"], lambda row: None),
}


@pytest.fixture(scope="module", params=METHODS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release with the macro in it, as publishing installs it."""
    written = made(request.param, tmp_path_factory.mktemp("macro") / "release.duckdb")
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute(f"ATTACH '{written.path}' AS made (STORAGE_VERSION 'v1.0.0'); USE made").fetchall()
        con.execute(create_statement(macro("estimate"))).fetchall()
    return written


@pytest.fixture(scope="module", params=["opened", "attached"])
def asked(request: pytest.FixtureRequest, release: Made) -> Iterator[Callable[[str, object], list[Any]]]:
    """A way to ask: the file itself, called like its schema, or the file attached under another name."""
    attached = request.param == "attached"
    con = duckdb.connect() if attached else duckdb.connect(str(release.path), read_only=True)
    if attached:
        con.execute(f"ATTACH '{release.path}' AS \"my release\" (READ_ONLY)").fetchall()
    call = '"my release".priv.estimate' if attached else "release.priv.estimate"
    name = "my release" if attached else "release"
    with con:
        yield lambda predicate, names: con.execute(f"FROM {call}(?, ?, ?)", [name, predicate, names]).fetchall()


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_estimate_is_the_oracles(asked: Callable[[str, object], list[Any]], release: Made, predicate: str) -> None:
    names, holds = PREDICATES[predicate]
    own = release.view_weights
    expected = oracles.estimate(
        [(dict(zip(release.names, row, strict=True)), (own.weight, own.variance, own.skew)) for row in release.view],
        {
            name: list(zip(values, release.shares[i] if release.shares else [None] * len(values), strict=True))
            for i, (name, values) in enumerate(zip(release.names, release.domains, strict=True))
        },
        {power: (w.weight, w.variance, w.skew) for power, w in release.domain_weights.items()},
        holds,
        (release.cross_estimate, release.cross_square),
    )
    found = asked(predicate, list(release.names) if release.shares else names)
    assert len(found) == 1
    # The count of all records of frapp has no variance; the root of what rounding leaves of it is about 1e-7.
    assert found[0] == pytest.approx(tuple(expected), rel=1e-6, abs=1e-5), (found, expected)


REFUSED = [
    ("age", ["age"], "the condition must be true or false"),
    ("age > 3; DROP TABLE x", ["age"], "the condition must be one expression"),
    ("true) OR (true", ["age"], "the parentheses of the condition do not match"),
    ("age > 3", ["age", "Age"], "an attribute is named twice"),
    ("age > 3", "age", "the attributes must be a list of column names"),
    ("age > 3", ["age", None], "the attributes must be a list of column names"),
    ("age > 3", ["score"], "there is no column 'age'"),
    ("income > 3", ["age"], "there is no column 'income'"),
    (None, ["age"], "the condition must be given as text"),
]


@pytest.mark.parametrize("release", ["alpha_beta"], indirect=True)
@pytest.mark.parametrize(("predicate", "names", "message"), REFUSED, ids=[r[2] for r in REFUSED])
def test_what_is_no_predicate_is_refused(
    asked: Callable[[str, object], list[Any]], predicate: str, names: object, message: str
) -> None:
    with pytest.raises(duckdb.Error) as error:
        asked(predicate, names)
    assert message in str(translate(error.value))


def test_shares_need_all_columns(tmp_path: Path) -> None:
    """The sum over a column that is not named is its size only where noise is uniform."""
    written = made("shares", tmp_path / "x.duckdb")
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA priv").fetchall()
        con.execute(create_statement(macro("estimate"))).fetchall()
        con.execute(f"ATTACH '{written.path}' AS r (READ_ONLY)").fetchall()
        with pytest.raises(duckdb.Error, match="list all columns as attributes"):
            con.execute("FROM priv.estimate('r', 'age > 3', ['age'])").fetchall()


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.duckdb.gz")), ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("predicate", ["age > 40", "true"])
def test_every_release_is_answered_or_says_what_to_use(file: Path, predicate: str, tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    noisy = file.name.startswith(("alpha_beta", "frapp", "noisy_counts"))
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA priv").fetchall()
        con.execute(create_statement(macro("estimate"))).fetchall()
        con.execute(f"ATTACH '{path}' AS r (READ_ONLY)").fetchall()
        asked = f"FROM priv.estimate('r', '{predicate}', {['age'] if 'age' in predicate else '[]::VARCHAR[]'})"
        if noisy:
            ((estimate, low, high),) = con.execute(asked).fetchall()
            assert low <= estimate <= high + 1e-9
            return
        with pytest.raises(duckdb.Error) as error:
            con.execute(asked).fetchall()
    assert str(translate(error.value)) == (
        "this release has no weights, which estimate needs; ask it with sqlpriv query, or, if its method is sdgs, read "
        "its rows as a table and use sdgs_estimate"
    )
