"""A call of every overload of every public macro, on a small table made for it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from sqlpriv.catalog import macros

TABLES = """
CREATE OR REPLACE TABLE visits AS FROM (VALUES
  (1, 'p1', '130**', '< 30', 'Heart'), (2, 'p2', '130**', '< 30', 'Heart'), (3, 'p3', '130**', '< 30', 'Flu'),
  (4, 'p3', '130**', '< 30', 'Cancer'), (5, 'p4', '1485*', NULL, 'Cancer'), (6, 'p5', '1485*', NULL, 'Heart'),
  (7, 'p6', '1485*', NULL, NULL), (8, 'p7', '1485*', NULL, 'Flu'), (9, 'p8', '130**', '30-40', 'Cancer'),
  (10, 'p9', '130**', '30-40', 'Flu'), (11, 'p10', '130**', '30-40', 'Heart')) AS v(visit, patient, zip, age, disease);
CREATE OR REPLACE TABLE residents AS
  SELECT * FROM visits UNION ALL SELECT visit + 100, patient || 'x', zip, age, disease FROM visits;
CREATE OR REPLACE TABLE taxonomy AS FROM (VALUES ('Heart', 'chronic', '*'), ('Cancer', 'chronic', '*'),
  ('Flu', 'acute', '*'), (NULL, 'unknown', '*')) AS v(disease, kind, root);
CREATE OR REPLACE TABLE seen AS
  FROM (VALUES ('Heart', 20), ('Cancer', 5), ('Flu', 70.5), (NULL, 1)) AS v(value, sigma);
CREATE OR REPLACE TABLE shares AS
  FROM (VALUES ('Heart', 0.25), ('Cancer', 0.125), ('Flu', 0.5), (NULL, 0.125)) AS v(value, share);
CREATE OR REPLACE TABLE sets AS
  FROM (VALUES ('chronic', 'Heart'), ('chronic', 'Cancer'), ('other', 'Flu')) AS v(name, value);
CREATE OR REPLACE TABLE own_sets AS
  FROM (VALUES ('p1', 'mine', 'Heart'), ('p4', 'mine', 'Flu'), ('p4', 'mine', 'Heart')) AS v(id, name, value);
"""

ARGUMENTS = {
    "tbl": "'visits'",
    "qis": "['zip', 'age']",
    "buckets": "['zip', 'age']",
    "sensitive": "'disease'",
    "person": "'patient'",
    "threshold": "1.2",
    "hierarchy": "'taxonomy'",
    "prior": "'seen'",
    "shape": "'shares'",
    "sigma": "1000",
    "b": "1",
    "l": "2",
    "k": "2",
    "predicates": "'sets'",
    "id": "'patient'",
    "population": "'residents'",
    "original": "'visits'",
    "beta": "0.1",
    "epsilon": "1.5",
    "delta": "0.02",
    "n": "1000",
    "epsilons": "[0.5, 1.0]",
    "deltas": "[0.0, 0.001]",
}


def create_tables(con: duckdb.DuckDBPyConnection) -> None:
    """The tables that the calls read."""
    con.execute(TABLES).fetchall()


def calls() -> Iterator[tuple[str, str]]:
    """A name for the test and the query, for every overload."""
    for macro in macros().values():
        for overload in macro.overloads:
            arguments = [_argument(macro.name, overload.params, p) for p in overload.params]
            call = f"priv.{macro.name}({', '.join(arguments)})"
            query = f"SELECT * FROM {call}" if macro.is_table else f"SELECT {call}"
            yield f"{macro.name}/{len(overload.params)}", query


def _argument(macro: str, params: tuple[str, ...], param: str) -> str:
    if param == "id" and macro == "kl_divergence":
        return "'visit'"
    if param == "predicates" and "id" in params:
        return "'own_sets'"
    return ARGUMENTS[param]
