"""What is equal to DuckDB and different to a reader makes different classes, in every check."""

from __future__ import annotations

import duckdb
import pytest

TWINS = {
    "a collation": ("VARCHAR COLLATE NOCASE", "'a'", "'A'"),
    "accents": ("VARCHAR COLLATE NOACCENT", "'a'", "'ä'"),
    "a month": ("INTERVAL", "INTERVAL '1 month'", "INTERVAL '30 days'"),
    "a day": ("INTERVAL", "INTERVAL '1 day'", "INTERVAL '24 hours'"),
    "zeros": ("DOUBLE", "0.0", "CAST('-0.0' AS DOUBLE)"),
    "small zeros": ("FLOAT", "0.0", "CAST('-0.0' AS FLOAT)"),
    "NaN": ("DOUBLE", "CAST('nan' AS DOUBLE)", "-CAST('nan' AS DOUBLE)"),
    "zeros in lists": ("DOUBLE[]", "[0.0]", "[CAST('-0.0' AS DOUBLE)]"),
    "zeros in structs": ("STRUCT(a DOUBLE, b INTEGER)", "{'a': 0.0, 'b': 1}", "{'a': CAST('-0.0' AS DOUBLE), 'b': 1}"),
    "months in structs": ("STRUCT(a INTERVAL)", "{'a': INTERVAL '1 month'}", "{'a': INTERVAL '30 days'}"),
}
CHECKS = {
    "SELECT k FROM priv.k_anonymity('t', ['q'])": 1,
    "SELECT k FROM priv.k_anonymity('t', ['q'], 'p')": 1,
    "SELECT count(*) FROM priv.k_anonymity_classes('t', ['q'], 2)": 2,
    "SELECT k FROM priv.k_map('t', 't', ['q'])": 1,
    "SELECT delta_max FROM priv.delta_presence('t', 'population', ['q'])": 1,
    "SELECT uniques FROM priv.risk('t', ['q'])": 2,
    "SELECT distinct_l FROM priv.l_diversity('t', ['q'], 'd')": 1,
    "SELECT distinct_l FROM priv.l_diversity('t', ['q'], 'd', 'p')": 1,
    "SELECT alpha FROM priv.alpha_k_anonymity('t', ['q'], 'd')": 1,
    "SELECT t FROM priv.t_closeness('t', ['q'], 'd')": 0.5,
    "SELECT t FROM priv.t_closeness_ordered('t', ['q'], 'd')": 0.5,
    "SELECT epsilon = 'inf' FROM priv.epsilon_class2('t', ['q'], 'd', 1000, 0)": True,
    "SELECT disclosure FROM priv.ck_safety('t', ['q'], 'd', 1)": 1,
    "SELECT value FROM priv.report('t', ['q'], 'd') WHERE model = 'k_anonymity'": 1,
    "SELECT value FROM priv.report('t', ['q'], 'd', 'p') WHERE model = 'k_anonymity'": 1,
    "SELECT max(value) FROM priv.report('t', [['q'], ['q', 'same']], ['d']) WHERE model = 'k_anonymity'": 1,
    "SELECT max(value) FROM priv.report('t', [['q'], ['q', 'same']], ['d'], 'p') WHERE model = 'k_anonymity'": 1,
}


@pytest.mark.some(4)
@pytest.mark.parametrize("twins", TWINS)
def test_what_a_reader_tells_apart_is_two_classes(db: duckdb.DuckDBPyConnection, twins: str) -> None:
    kind, one, other = TWINS[twins]
    db.execute(f"CREATE TEMP TABLE t(q {kind}, d INTEGER, p INTEGER, same INTEGER)").fetchall()
    db.execute(f"INSERT INTO t VALUES ({one}, 1, 1, 0), ({other}, 2, 2, 0)").fetchall()
    db.execute("CREATE TEMP TABLE population AS SELECT q FROM t").fetchall()
    found = {sql: db.execute(sql).fetchall()[0][0] for sql in CHECKS}
    assert found == {sql: pytest.approx(expected) for sql, expected in CHECKS.items()}


def test_a_class_is_shown_with_its_own_values(db: duckdb.DuckDBPyConnection) -> None:
    """What tells classes apart inside a check stays there."""
    db.execute("CREATE TEMP TABLE t AS SELECT unnest([INTERVAL '1 month', INTERVAL '30 days']) AS q").fetchall()
    rows = db.execute("SELECT CAST(class AS VARCHAR), size FROM priv.k_anonymity_classes('t', ['q'], 2)").fetchall()
    assert sorted(rows) == [("{'q': 1 month}", 1), ("{'q': 30 days}", 1)]


def test_other_types_pay_nothing_for_it(db: duckdb.DuckDBPyConnection) -> None:
    """Whether texts are looked at is settled while the query is planned: no other plan has a second scan."""
    db.execute("CREATE TEMP TABLE plain AS SELECT 1 AS a, 'x' AS b, DATE '2024-01-01' AS c").fetchall()
    asked = "EXPLAIN FROM priv.k_anonymity('plain', ['a', 'b', 'c'])"
    plan = db.execute(asked).fetchall()[0][1].lower()
    assert (plan.count("plain"), plan.count("filter")) == (1, 0)
