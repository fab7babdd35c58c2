"""k, l, t, epsilon and beta of every type that DuckDB has go by what a reader reads, in a table and in its release."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest
from oracles.closeness import beta_likeness, t_closeness
from oracles.diversity import k_anonymity, l_diversity
from oracles.epsilon import epsilon_class2
from support.policies import generalize, policy_text, qi, role, write_policy

from sqlpriv.core.errors import PolicyError
from sqlpriv.publishing import plan

NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
           "UHUGEINT", "DECIMAL(9,2)", "BIGNUM")  # fmt: skip
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ")
MIXED = "UNION(n INTEGER, s VARCHAR)"
VALUES: dict[str, list[str]] = {
    **{kind: ["'1'", "'2'", "'3'"] for kind in NUMBERS},
    **{kind: ["'2024-02-29'", "'2024-03-01'", "'1999-12-31'"] for kind in TIMES},
    "TIME": ["'10:00:00'", "'10:00:00.5'", "'23:59:59'"],
    "TIMETZ": ["'10:00:00+00'", "'11:00:00+01'", "'10:00:00.5+00'"],
    "BOOLEAN": ["true", "false"],
    "FLOAT": ["'0.1'", "'0.2'", "'inf'"],
    "DOUBLE": ["0.1", "0.1 + 0.2", "0.3", "'nan'"],
    "VARCHAR": ["'1'", "'1.0'", "' 1'", "'ä'", "''"],
    "VARCHAR COLLATE NOCASE": ["'a'", "'A'", "'b'"],
    "BLOB": ["'a'::BLOB", "'\\x00'::BLOB", "'b'::BLOB"],
    "BIT": ["'101'", "'0101'", "'1'"],
    "UUID": ["'00000000-0000-0000-0000-00000000000a'", "'00000000-0000-0000-0000-00000000000b'"],
    "ENUM('z', 'a', 'unused')": ["'z'", "'a'"],
    "INTERVAL": ["INTERVAL '1 month'", "INTERVAL '30 days'", "INTERVAL '1 day'", "INTERVAL '24 hours'"],
    "INTEGER[]": ["[1]", "[1, 1]", "[]", "[NULL]"],
    "VARCHAR[]": ["['1, 2']", "['1', '2']", "['NULL']", "[NULL]"],
    "DOUBLE[2]": ["[0.0, 1]", "[1, 0.0]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': '1'}", "{'a': 1, 'b': NULL}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1}", "MAP {'b': 1}"],
    MIXED: ["1", "'1'", "2", "'2'", "'x'"],
    f"{MIXED}[]": [f"[1::{MIXED}]", f"['1'::{MIXED}]", f"[2::{MIXED}]"],
    "VARIANT": ["1::VARIANT", "'1'::VARIANT", "[1]::VARIANT", "['1']::VARIANT"],
}
READ = "coalesce(CAST({} AS VARCHAR) COLLATE \"binary\", '(none)')"
EQUAL = {"INTERVAL", "VARCHAR COLLATE NOCASE"}
"""Of these, sensitive values count as one where DuckDB compares them as equal, as docs/definitions.md says."""
CALLS = {
    "k": "k_anonymity('every_type.people', ['s'])",
    "l": "l_diversity('every_type.people', ['q'], 's')",
    "t": "t_closeness('every_type.people', ['q'], 's')",
    "beta": "beta_likeness('every_type.people', ['q'], 's')",
    "epsilon": "epsilon_class2('every_type.people', ['q'], 's', 30, 0)",
}


def created(con: duckdb.DuckDBPyConnection, kind: str) -> str:
    """A table with a column of a type, in two classes; the statement that makes it."""
    rng = random.Random(kind)
    chosen = [(c, rng.choice([*VALUES[kind], "NULL"])) for c in (0, 1) for _ in range(rng.randint(5, 8))]
    listed = ", ".join(f"({c}, {value})" for c, value in chosen)
    sql = f"CREATE TABLE people (q INTEGER, s {kind}); INSERT INTO people VALUES {listed}"
    con.execute("CREATE SCHEMA IF NOT EXISTS every_type; DROP TABLE IF EXISTS every_type.people").fetchall()
    try:
        con.execute(sql.replace(" people ", " every_type.people ")).fetchall()
    except duckdb.Error:
        pytest.skip("this version of DuckDB has no such type")
    return sql


def as_read(con: duckdb.DuckDBPyConnection, table: str, column: str = "s") -> list[dict[str, str]]:
    found = con.execute(f"SELECT CAST(q AS VARCHAR), {READ.format(column)} FROM {table}").fetchall()
    return [{"q": q, "s": s} for q, s in found]


def figures(read: list[dict[str, str]]) -> dict[str, float]:
    """The figures of rows of texts."""
    return {
        "k": k_anonymity(read, ["s"]),
        "l": l_diversity(read, ["q"], "s").distinct_l,
        "t": float(t_closeness(read, ["q"], "s")),
        "beta": float(beta_likeness(read, ["q"], "s")),
        "epsilon": float(epsilon_class2(read, ["q"], "s", 30, 0)),
    }


@pytest.mark.parametrize("kind", VALUES)
def test_figures_go_by_what_a_reader_reads(con: duckdb.DuckDBPyConnection, kind: str) -> None:
    created(con, kind)
    read = as_read(con, "every_type.people")
    found = {name: con.execute(f"FROM priv.{call}").fetchall()[0][0] for name, call in CALLS.items()}
    assert found["k"] == k_anonymity(read, ["s"])
    assert found["l"] <= l_diversity(read, ["q"], "s").distinct_l
    if kind not in EQUAL:
        assert found == pytest.approx(figures(read))


@pytest.mark.slow
def test_a_release_keeps_what_is_required_as_a_reader_reads_it(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Of every type a sensitive column, of which exactly that is required which a reader reads."""
    kinds = [kind for kind in VALUES if kind not in EQUAL | _kept_in_no_file(con)]
    rng = random.Random(3)
    cells = [[rng.choice([*VALUES[kind], "NULL"]) for _ in range(24)] for kind in kinds]
    listed = ", ".join(f"({row % 2}, {', '.join(column[row] for column in cells)})" for row in range(24))
    columns = {f"s{i}": kind for i, kind in enumerate(kinds)}
    types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    people = f"CREATE TABLE people (q INTEGER, {types}); INSERT INTO people VALUES {listed}"
    con.execute(f"CREATE SCHEMA every_type; {people.replace(' people ', ' every_type.people ')}").fetchall()
    wanted = {name: figures(as_read(con, "every_type.people", name)) for name in columns}
    con.execute("DROP SCHEMA every_type CASCADE").fetchall()
    text = policy_text({"q": qi(), **dict.fromkeys(columns, role("sensitive"))}, _required(wanted))
    result = generalize(write_policy(tmp_path, text, people))
    assert result.node == {"q": 0}
    con.execute(f"ATTACH '{result.output}' AS released (READ_ONLY)").fetchall()
    for name, found in wanted.items():
        assert figures(as_read(con, "released.people", name)) == pytest.approx(found), (name, kinds)
    con.execute("DETACH released").fetchall()
    for name in (f"s{kinds.index(kind)}" for kind in (MIXED, f"{MIXED}[]", "TIMETZ")):
        more = {**wanted, name: {**wanted[name], "l": wanted[name]["l"] + 1}}
        with pytest.raises(PolicyError):
            plan(write_policy(tmp_path, text.replace(_required(wanted), _required(more)), ""))


def _kept_in_no_file(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Types that this version of DuckDB does not have, or keeps in no file of the oldest storage version."""
    missing = {"VARIANT"} if duckdb.__version__.startswith("1.5") else set[str]()
    for kind in VALUES:
        try:
            con.execute(f"SELECT CAST(NULL AS {kind})").fetchall()
        except duckdb.Error:
            missing.add(kind)
    return missing


def _required(wanted: Mapping[str, Mapping[str, float]]) -> str:
    """What is required of every column: its own figures, but for the last digit."""
    lines = {
        "distinct_l": {name: f["l"] for name, f in wanted.items()},
        "t": {name: f["t"] + 1e-9 for name, f in wanted.items()},
        "beta": {name: f["beta"] + 1e-9 for name, f in wanted.items() if 0 < f["beta"] < math.inf},
    }
    listed = {key: ", ".join(f"{name} = {value!r}" for name, value in values.items()) for key, values in lines.items()}
    k = min(12, *(int(f["k"]) for f in wanted.values()))
    return "\n".join([f"k = {max(1, k)}", *(f"{key} = {{ {text} }}" for key, text in listed.items())])
