"""A table called like one of our common table expressions would be read in its place; one like an alias must not."""

import re
from functools import cache
from itertools import cycle, islice

import duckdb
import pytest
from support.attempts import TABLE_PARAMS, Attempt, attempts, cases, our_relations, refused_by_us, same, usually

from sqlpriv.macros.catalog import texts

pytestmark = pytest.mark.one_version

RESERVED = "names that start with __priv_ are reserved"


@cache
def aliases() -> list[str]:
    """What stands after AS somewhere in sql/, and the parameters, which name relations inside helpers."""
    code = "\n".join(line for text in texts().values() for line in text.splitlines() if not line.startswith("--"))
    params = {p.strip() for ps in re.findall(r"MACRO \w+\(([^)]*)\)", code) for p in ps.split(",")}
    found = {*re.findall(r"\bAS ([a-z]\w*)", code), *params} - {""}
    return sorted(found)


@pytest.mark.some(25)
@pytest.mark.parametrize("attempt", cases(*TABLE_PARAMS))
def test_a_reserved_name_is_refused_wherever_a_table_is_named(
    shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    for param in attempt.tables:
        for name in ("__PRIV_Classes", 'main."__priv_histogram"'):
            assert refused_by_us(shared, attempt.sql(**{param: name})) == RESERVED


def test_every_name_of_a_relation_of_ours_is_reserved(shared: duckdb.DuckDBPyConnection) -> None:
    assert our_relations()
    for name in our_relations():
        assert refused_by_us(shared, f"FROM priv.k_anonymity('{name}', ['zip'])") == RESERVED


@pytest.mark.some(25)
@pytest.mark.parametrize("attempt", cases(*TABLE_PARAMS))
def test_tables_called_like_our_aliases_are_read(
    db: duckdb.DuckDBPyConnection, shared: duckdb.DuckDBPyConnection, attempt: Attempt
) -> None:
    """All tables of a call at once, other aliases for every macro."""
    start = attempts(*TABLE_PARAMS).index(attempt) * len(attempt.tables)
    names = dict(zip(attempt.tables, islice(cycle(aliases()), start, None), strict=False))
    for param, name in names.items():
        db.execute(f'CREATE TEMP TABLE "{name}" AS FROM {attempt.usual[param]}').fetchall()
    quoted = {param: f'"{name}"' for param, name in names.items()}
    assert same(attempt.ask(db, **quoted), usually(shared, attempt)), names


@pytest.mark.slow
def test_every_alias_of_ours_as_the_table(db: duckdb.DuckDBPyConnection) -> None:
    """On 10 rows of one class against 3 of the real table: reading anything else would show."""
    assert aliases()
    for name in aliases():
        db.execute(f'CREATE TEMP TABLE "{name}" AS SELECT 1 AS zip, i AS d FROM range(10) AS r(i)').fetchall()
        assert db.execute(f"""FROM priv.k_anonymity('"{name}"', ['zip'])""").fetchall() == [(10,)], name


def test_one_table_in_every_place(db: duckdb.DuckDBPyConnection) -> None:
    """The same table as data, population and original, called like the alias of the other."""
    db.execute("CREATE TEMP TABLE t AS SELECT record AS id, zip FROM people; CREATE TEMP VIEW p AS FROM t").fetchall()
    assert db.execute("FROM priv.k_map('t', 'p', ['zip'])").fetchall() == [(3,)]
    assert db.execute("FROM priv.delta_presence('p', 't', ['zip'])").fetchall() == [(1.0, 1.0)]
    assert db.execute("FROM priv.kl_divergence('t', 'p', ['zip'], 'id')").fetchall() == [(pytest.approx(0),)]


def test_a_view_may_use_tables_with_our_names(db: duckdb.DuckDBPyConnection) -> None:
    """A view is bound by itself: inside it our names are the user's tables."""
    for name in ("__priv_joint", "__priv_cells", "__priv_classes", "__priv_histogram"):
        db.execute(f"CREATE TEMP TABLE {name} AS FROM people WHERE record <= 4").fetchall()
        db.execute(f"CREATE OR REPLACE TEMP VIEW seen AS FROM {name}").fetchall()
        for qis in ("['zip']", "[['zip'], ['zip', 'age']]"):
            sql = f"SELECT DISTINCT worst_class_size FROM priv.report('seen', {qis}, 'disease')"
            assert db.execute(sql).fetchall() == [(4,)]


def test_common_table_expressions_of_the_user_are_tables_like_others(
    db: duckdb.DuckDBPyConnection,
) -> None:
    """They are seen from inside a macro, hide a table of their name, and are never mistaken for ours."""
    few = "(FROM people WHERE record <= 4)"
    ours = ", ".join(f"{name} AS {few}" for name in our_relations())

    def asked(table: str, before: str = "") -> list[tuple[object, ...]]:
        given = f"'{table}', ['zip']"
        sql = f"FROM priv.t_closeness({given}, 'disease'), priv.k_anonymity({given})"
        return db.execute(before + sql).fetchall()

    assert asked("mine", f"WITH mine AS {few} ") == [(0.0, 4)]
    assert asked("people", f"WITH people AS {few} ") == [(0.0, 4)]
    assert asked("people", f"WITH {ours} ") == asked("people")
