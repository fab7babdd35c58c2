"""A random search of lattice_cases as sqlpriv runs it: tables in DuckDB, a policy, the search."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from oracles.lattice import Require

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.policy.file import Column
from sqlpriv.policy.require import make_requirement
from sqlpriv.table.source import Source, TableReference
from support.lattice_cases import LatticeCase

Con = duckdb.DuckDBPyConnection


def write_case(con: Con, case: LatticeCase, schema: str) -> GeneralizePolicy:
    """Write the private table and all that its policy names into a schema, and return the policy."""
    _write(con, f"{schema}.private", case.columns, case.rows)
    for qi, paths in case.hierarchies.items():
        _write_wide(con, f'{schema}."hierarchy_{_plain(qi)}"', paths)
    requirements = tuple(_requirement(con, case, schema, i, r) for i, r in enumerate(case.requirements))
    columns = [Column(q, "quasi-identifier", {"hierarchy": f"table:hierarchy_{_plain(q)}"}) for q in case.qis]
    columns += [Column(s, "sensitive", {}) for s in case.sensitive]
    release = {
        "output": None,
        "coexists_because": None,
        "settled_beforehand": None,
        "objective": case.objective,
        "suppression": float(case.suppression),
        "keep_suppressed": False,
    }
    return GeneralizePolicy(
        table=TableReference(Path("/nowhere"), "private", "private.duckdb", {}),
        columns=tuple(columns),
        requirements=requirements,
        public={},
        method="generalize",
        release=release,
        written=frozenset(release),
    )


def source_of(calls: Calls, case: LatticeCase, schema: str, policy: GeneralizePolicy) -> Source:
    """The private table, opened."""
    table = f"{schema}.private"
    made = "SELECT table_name FROM duckdb_tables() WHERE starts_with(table_name, '__scratch_')"
    for (name,) in calls.con.execute(made).fetchall():  # of the case before
        calls.con.execute(f"DROP TABLE {name}").fetchall()
    types = {str(r[0]): str(r[1]) for r in calls.con.execute(f"DESCRIBE {table}").fetchall()}
    return Source(calls.con, calls, table, "private", tuple(case.columns), types=types, given=policy.table)


def _requirement(con: Con, case: LatticeCase, schema: str, i: int, given: Require) -> Requirement:
    arguments: dict[str, Any] = {}
    for name, value in given.arguments.items():
        table = f"{name}_{i}"
        if name == "prior":
            _write_weights(con, f"{schema}.{table}", "sigma", value)
            arguments["shape"] = f"table:{table}"
        elif name == "shape":
            _write_weights(con, f"{schema}.{table}", "share", value)
            arguments["shape"] = f"table:{table}"
        elif name == "predicates":
            rows = [(f"set {n}", None if v is None else str(v)) for n, one in enumerate(value) for v in one]
            _write(con, f"{schema}.{table}", {"name": "VARCHAR", "value": "VARCHAR"}, rows)
            arguments["predicates"] = f"table:{table}"
        elif name == "hierarchy":
            _write_wide(con, f"{schema}.{table}", value)
            arguments["hierarchy"] = f"table:{table}"
        elif name == "population":
            _write(con, f"{schema}.{table}", {q: case.columns[q] for q in case.qis}, value)
            arguments["population"] = f"table:{table}"
        else:
            arguments[name] = value
    return make_requirement(given.measure, given.sensitive, arguments, given.threshold)


def _write_wide(con: Con, table: str, paths: Mapping[Any, tuple[object, ...]]) -> None:
    rows = [tuple(None if label is None else str(label) for label in path) for path in paths.values()]
    _write(con, table, {f"level{i}": "VARCHAR" for i in range(len(rows[0]))}, rows)


def _write_weights(con: Con, table: str, word: str, weights: Mapping[Any, float]) -> None:
    rows = [(None if value is None else str(value), weight) for value, weight in weights.items()]
    _write(con, table, {"value": "VARCHAR", word: "DOUBLE"}, rows)


def _write(con: Con, table: str, columns: Mapping[str, str], rows: Any) -> None:
    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE {table} ({listed})").fetchall()
    if rows:
        one = f"({', '.join('?' for _ in columns)})"
        values = [cell for row in rows for cell in row]
        con.execute(f"INSERT INTO {table} VALUES {', '.join([one] * len(rows))}", values).fetchall()


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)
