"""Columns and tables that are called like ours, or oddly, change nothing of what is disclosed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.policies import toml_text, write_policy

from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.publishing import planned, publish, read_policy, verify

PLAIN = ("zip", "age", "ill", "ward")
HOSTILE = ("number", "a0", "label", "C")
ODD = ('o"x', "c.loss", "zip code", "1")


def written_policy(folder: Path, names: tuple[str, ...], dictionary: str, entry: str) -> Path:
    zip_code, age, ill, ward = ('"' + name.replace('"', '""') + '"' for name in names)
    tables = f"""
        CREATE TABLE people AS SELECT '130' || i % 4 AS {zip_code}, CAST(20 + i * 7 % 30 AS INTEGER) AS {age},
          'ill' || i % 3 AS {ill}, i % 5 AS {ward} FROM range(40) AS r(i);
        CREATE TABLE "{dictionary}" AS SELECT '130' || i % 4 AS "{entry}", 20 + i * 3 % 30 AS e1 FROM range(90) AS r(i);
    """
    columns = [
        f'{toml_text(names[0])} = {{ role = "quasi-identifier", hierarchy = "mask:4", weight = 0.5, '
        f"entry = {toml_text(entry)} }}",
        f'{toml_text(names[1])} = {{ role = "quasi-identifier", hierarchy = "ranges:5,10", '
        'weight = 1, entry = "e1 + 0" }',
        f'{toml_text(names[2])} = {{ role = "sensitive", weight = 2 }}',
        f'{toml_text(names[3])} = {{ role = "other" }}',
    ]
    text = "\n".join([
        "[table]", 'database = "private.duckdb"', 'source = "people"', "[columns]", *columns, "[release]",
        'method = "disclose"', 'goal = "utility"', "c = 0.05", f"dictionary = {toml_text(f'table:{dictionary}')}",
        'output = "people-release.duckdb"', "[ledger]", 'path = "ledger.db"',
    ])  # fmt: skip
    return write_policy(folder, text, tables)


@pytest.mark.slow
def test_names_like_ours_change_nothing(tmp_path: Path) -> None:
    found = []
    for place, (names, dictionary, entry) in enumerate(
        [(PLAIN, "book", "zip"), (HOSTILE, "disclose_records", "record"), (ODD, "a book", "copies")]
    ):
        folder = tmp_path / str(place)
        folder.mkdir()
        policy = written_policy(folder, names, dictionary, entry)
        with planned(read_policy(policy)) as plan:
            assert isinstance(plan, DisclosePlan)
            chosen = plan.chosen
            thresholds = [number for t in plan.thresholds for number in (t.c, t.risk, t.utility)]
        shares = [share for column in chosen.shares.values() for share in column]
        found.append([chosen.risk, chosen.worst, chosen.utility, chosen.classes, *shares, *thresholds])
        assert publish(policy).facts.content["risk"] == pytest.approx(chosen.risk)
        assert verify(folder / "people-release.duckdb", policy).passed
    # Threads add up in an order of their own, so the last digit of a mean is not theirs to promise.
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-12)
    assert 0 < found[0][0] < found[0][1] <= 0.05


def test_a_reserved_name_is_refused(tmp_path: Path) -> None:
    policy = written_policy(tmp_path, ("__priv_v1", *PLAIN[1:]), "book", "zip")
    with pytest.raises(Exception, match="names that start with __priv_ are reserved"):
        publish(policy)


@pytest.mark.slow
def test_the_release_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    digests = set()
    for place, order in enumerate(("i", "-i")):
        folder = tmp_path / str(place)
        folder.mkdir()
        policy = written_policy(folder, PLAIN, "book", "zip")
        with duckdb.connect(str(folder / "private.duckdb")) as con:
            con.execute("CREATE TABLE t AS SELECT *, row_number() OVER () AS i FROM people").fetchall()
            con.execute(f"CREATE OR REPLACE TABLE people AS SELECT * EXCLUDE (i) FROM t ORDER BY {order}").fetchall()
            con.execute("DROP TABLE t").fetchall()
        policy.write_text(policy.read_text().replace("c = 0.05", 'c = 0.05\nper = "average"'))
        publish(policy)
        with duckdb.connect(str(folder / "people-release.duckdb"), read_only=True) as con:
            asked = "SELECT value FROM sqlpriv_release.about WHERE name = 'digest'"
            digests.add(con.execute(asked).fetchall()[0][0])
    assert len(digests) == 1
