"""Names are names: SQL inside one is refused, runs nothing, changes nothing."""

import duckdb
import pytest
from support.attempts import (
    COLUMN_PARAMS,
    LIST_PARAMS,
    TABLE_PARAMS,
    Attempt,
    cases,
    everything,
    refusal,
    share,
)

pytestmark = pytest.mark.one_version

PAYLOADS = [
    "people; DROP TABLE people",
    "people'; DROP TABLE people; --",
    "people') AS __p; DROP TABLE people; --",
    "') --",
    "') UNION ALL SELECT * FROM town --",
    '" --',
    'zip", (SELECT 1) AS "x',
    'zip") AS class, count(*) AS size FROM town --',
    "people WHERE 1=0",
    "people WHERE true OR 1=1",
    "people AS p, town",
    "people, town",
    "people /* */",
    "people -- ",
    "(SELECT * FROM people)",
    "(FROM people LIMIT 1)",
    "query('FROM people')",
    "range(10)",
    "read_csv('/etc/hostname')",
    "read_text('*')",
    "$$people$$",
    "E'people'",
    "1 = 1",
    "NULL",
    "zip\nage",
    "zip\x1fage",
    "zip\x00age",
    "zip\\'age",
    "zip\u2019age",
    "disease' || 'x",
    "disease\x1f__priv_t",
]


@pytest.mark.some(8)
@pytest.mark.parametrize("attempt", cases(*TABLE_PARAMS, *LIST_PARAMS, *COLUMN_PARAMS))
def test_sql_in_a_name_is_nothing_but_an_error(shared: duckdb.DuckDBPyConnection, attempt: Attempt) -> None:
    for payload in share(attempt, PAYLOADS, 16):
        for param in {*attempt.tables, *(set(attempt.params) & {*LIST_PARAMS, *COLUMN_PARAMS})}:
            given = ["zip", payload] if param in LIST_PARAMS else payload
            refusal(shared, attempt.sql(**{param: given}))


@pytest.mark.slow
def test_every_payload_leaves_the_database_as_it_was(own: duckdb.DuckDBPyConnection) -> None:
    before = everything(own)
    for payload in PAYLOADS:
        for call, values in (
            ("k_anonymity(?, ['zip'])", [payload]),
            ("k_anonymity('people', ?)", [[payload]]),
            ("l_diversity('people', ['zip'], ?)", [payload]),
            ("l_diversity('people', ['zip'], 'disease', ?)", [payload]),
            ("report(?, ['zip'], 'disease')", [payload]),
            ("report('people', ?, 'disease')", [[["zip"], [payload]]]),
            ("report('people', ['zip'], ?)", [["disease", payload]]),
            ("report('people', ['zip'], 'disease', ?)", [payload]),
            ("epsilon_class1('people', ['zip'], 'disease', ?, 0)", [payload]),
            ("epsilon_class4('people', ['zip'], 'disease', 0, ?, 'patient')", [payload]),
            ("t_closeness_hierarchical('people', ['zip'], 'disease', ?)", [payload]),
            ("k_map('people', ?, ['zip'])", [payload]),
            ("prior_from_counts('people', ?)", [payload]),
            ("kl_divergence('people', 'people', ['zip'], ?)", [payload]),
        ):
            refusal(own, f"FROM priv.{call}", values)
    assert everything(own) == before


@pytest.mark.slow
def test_a_column_that_is_called_like_an_attack_is_just_a_column(db: duckdb.DuckDBPyConnection) -> None:
    """Whatever DuckDB takes for a name works, but the one separator of ours is refused."""
    for payload in PAYLOADS:
        if "\x00" in payload or "\x1f" in payload:
            continue
        name = '"' + payload.replace('"', '""') + '"'
        db.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT zip AS {name}, disease FROM people").fetchall()
        assert db.execute("FROM priv.k_anonymity('t', ?)", [[payload]]).fetchall() == [(3,)]
        swapped = db.execute("FROM priv.l_diversity('t', ['disease'], ?)", [payload]).fetchall()
        assert swapped == db.execute("FROM priv.l_diversity('people', ['disease'], 'zip')").fetchall()
        sql = "SELECT value FROM priv.report('t', ?, 'disease') WHERE model = 'k_anonymity'"
        assert db.execute(sql, [[[payload], [payload]]]).fetchall() == [(3.0,), (3.0,)]


def test_the_separator_inside_a_name_does_not_make_it_two(db: duckdb.DuckDBPyConnection) -> None:
    """`zip\x1fage` may not be read as zip and age: whoever misspells a name is told."""
    said = "holds a control character"
    db.execute('CREATE TEMP TABLE t AS SELECT *, 1 AS "zip\x1fage" FROM people').fetchall()
    for table in ("people", "t"):
        assert said in refusal(db, f"FROM priv.k_anonymity('{table}', ['zip\x1fage'])")
        assert said in refusal(db, f"FROM priv.report('{table}', ['zip\x1fage'], 'disease')")
        assert said in refusal(db, f"FROM priv.report('{table}', ['zip'], 'zip\x1fage')")
    assert said in refusal(db, "FROM priv.l_diversity('t', ['zip'], 'zip\x1fage')")


def test_a_qualified_name_is_not_a_way_around_the_guards(db: duckdb.DuckDBPyConnection) -> None:
    db.execute('CREATE TEMP TABLE "__priv_joint" AS FROM people').fetchall()
    for name in ('temp."__priv_joint"', "temp.main.__priv_joint", '"main"."__PRIV_JOINT"'):
        assert "reserved" in refusal(db, f"FROM priv.report('{name}', ['zip'], 'disease')")
