"""Calls of every macro of the catalogue with arguments that work, to be spoilt one at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import pytest

from sqlpriv.demo.examples import RELEASE
from sqlpriv.macros.catalog import macros, texts
from sqlpriv.macros.language import is_helper

# Every cell of the private table that could be told apart from our own words holds this.
MARKER = "SECRET-42"
TABLES = f"""{RELEASE}
CREATE TABLE people AS FROM (VALUES
  (1, '{MARKER}-ann', '{MARKER}-130', 31, '{MARKER}-flu'),
  (2, '{MARKER}-ann', '{MARKER}-130', 31, '{MARKER}-cold'),
  (3, '{MARKER}-bob', '{MARKER}-130', 31, '{MARKER}-flu'),
  (4, '{MARKER}-cyd', '{MARKER}-130', 31, NULL),
  (5, '{MARKER}-dan', NULL, 44, '{MARKER}-flu'),
  (6, '{MARKER}-eve', NULL, 44, '{MARKER}-cold'),
  (7, '{MARKER}-eve', NULL, 44, '{MARKER}-cold'),
  (8, '{MARKER}-fay', '{MARKER}-148', NULL, NULL),
  (9, '{MARKER}-gus', '{MARKER}-148', NULL, '{MARKER}-flu'),
  (10, '{MARKER}-hal', '{MARKER}-148', NULL, '{MARKER}-cold')
) AS v(record, patient, zip, age, disease);
CREATE TABLE town AS SELECT record, concat(patient, copy) AS patient, zip, age
  FROM people, range(2) AS r(copy);
CREATE TABLE nobody AS FROM people WHERE false;
CREATE TABLE possible AS FROM (SELECT DISTINCT zip FROM people), (SELECT DISTINCT age FROM people);
CREATE TABLE elements AS SELECT record, zip, age FROM people;
CREATE TABLE shown AS FROM elements WHERE record < 5;
CREATE TABLE signed AS SELECT *, 1.0 AS "__weight" FROM shown;
CREATE TABLE prior AS FROM (VALUES
  ('{MARKER}-flu', 20), ('{MARKER}-cold', 30), (NULL, 5)) AS v(value, sigma);
CREATE TABLE shape AS FROM (VALUES
  ('{MARKER}-flu', 0.5), ('{MARKER}-cold', 0.25), (NULL, 0.25)) AS v(value, share);
CREATE TABLE sets AS FROM (VALUES
  ('any', '{MARKER}-flu'), ('any', '{MARKER}-cold'), ('flu', '{MARKER}-flu')) AS v(name, value);
CREATE TABLE own_sets AS FROM (VALUES
  ('{MARKER}-ann', 'any', '{MARKER}-flu'), ('{MARKER}-fay', 'none', NULL)) AS v(id, name, value);
CREATE TABLE own_nodes AS FROM (VALUES
  ('{MARKER}-ann', 'infection', 2.5), ('{MARKER}-fay', '*', 3), ('{MARKER}-bob', '{MARKER}-flu', 2)
) AS v(id, node, at_most);
CREATE TABLE tree AS FROM (VALUES
  ('{MARKER}-flu', 'infection', '*'), ('{MARKER}-cold', 'infection', '*'), (NULL, 'unknown', '*')
) AS v(disease, kind, top);
CREATE TABLE hierarchy_disease AS FROM tree;
CREATE TABLE hierarchy_zip AS SELECT DISTINCT zip, '*' AS top FROM people WHERE zip IS NOT NULL;
CREATE TABLE general AS SELECT * REPLACE (CASE WHEN disease IS NULL THEN 'unknown' ELSE 'infection' END AS disease)
  FROM people;
CREATE TABLE labels AS FROM (VALUES
  (1, '{MARKER}-any'), (3, NULL), (99, '{MARKER}-none')) AS v(record, disease);
CREATE TABLE edges AS FROM (VALUES
  ('{MARKER}-flu', '{MARKER}-infection'), ('{MARKER}-cold', '{MARKER}-infection')) AS v(child, parent);
CREATE TABLE minded AS SELECT DISTINCT patient, attribute, 1.5 AS weight
  FROM people, (VALUES ('disease'), ('zip')) AS v(attribute);
CREATE TABLE offered AS SELECT record, 1 AS copies, u / 2 AS loss, u AS utility FROM people, range(3) AS r(u);
CREATE TABLE stays AS FROM (VALUES (DATE '2024-03-17'), (DATE '1999-12-31'), (NULL)) AS v(admitted);
"""
GOOD: Mapping[str, object] = {
    "tbl": "people",
    "population": "town",
    "original": "people",
    "prior": "prior",
    "shape": "shape",
    "predicates": "sets",
    "nodes": "own_nodes",
    "beliefs": "prior",
    "hierarchy": "tree",
    "qis": ["zip", "age"],
    "columns": ["zip", "age"],
    "most": 2,
    "fraction": 0.5,
    "buckets": ["zip", "age"],
    "sensitive": "disease",
    "person": "patient",
    "id": "patient",
    "threshold": 0.25,
    "sigma": 1000,
    "b": 1,
    "l": 2,
    "k": 2,
    "beta": 0.1,
    "epsilon": 1.0,
    "delta": 0.05,
    "n": 1000,
    "epsilons": [0.5, 1.0],
    "deltas": [0.0, 1e-6],
    "ks": [20, 10],
    "betas": [0.1, 0.05],
    "noisy": [0.25],
    "attribute": "disease",
    "widths": [5, 10],
    "origin": 0,
    "length": 14,
    "units": ["month", "year"],
    "bins": [2, 1],
    "edges": "edges",
    "levels": 1,
    "generalized": "labels",
    "condition": "record < 3",
    "node": {"disease": 1, "zip": 0},
    "hierarchies": {"disease": "tree"},
    "d": 0.01,
    "gamma": 0.2,
    "adversary": "exclusive",
    "choice": "default",
    "alpha": 0.4,
    "rows": 100,
    "domain": 1000,
    "hits": 10,
    "domain_hits": 200,
    "failure": 0.125,
    "views": 3,
    "slots": 5,
    "share": 0.0625,
    "rate": 1.5,
    "tuples": 1000,
    "gone": 10,
    "persist": 0.7,
    "d_max": 0.02,
    "share_max": 0.125,
    "stay": 0.5,
    "move": 0.0625,
    "p": 0.4,
    "q": 0.125,
    "a": 0.25,
    "factor": 16,
    "belief": 0.0625,
    "choices": 33,
    "times": 2,
    "public_share": 0.0625,
    "shares": [0.0625, 0.03125],
    "factors": [16.0, 8.0],
    "most_factor": 12.0,
    "ratios": [0.125, 0.25],
    "others": 30,
    "rows_each": 2,
    "excluded": 1,
    "worlds": 50,
    "groups": 2,
    "n_public": 100,
    "most_rows": 50,
    "least_beta": 0.05,
    "most_beta": 0.1,
    "weight": 2.0,
    "variance": 2.0,
    "skew": 2.0,
    "domain_weight": -0.5,
    "domain_variance": 0.75,
    "domain_skew": 0.75,
    "release": "template",  # as the file is called
    "predicate": "score < 3 * age",
    "mentioned": ["age", "score"],
    "attributes": ["zip", "age"],
    "key": "known to the attacks",
    "dictionary": "town",
    "other": "town",
    "dictionaries": {"town": 1},
    "links": [{"record": "zip", "entry": "zip"}, {"record": "age", "entry": "age"}],
    "phi": 2.0,
    "psi": 0.5,
    "chance": 1.0,
    "success": True,
    "weights": [{"attribute": "disease", "hierarchy": "tree", "weight": "2"}, {"attribute": "zip", "weight": "0.5"}],
    "form": "linear",
    "judge": "worst",
    "personal": "minded",
    "total": 3,
    "offers": "offered",
    "goal": "risk",
    "c": 1,
    "blocks": ["zip", "age"],
    "who": {"zip": f"{MARKER}-130", "age": "31"},
    "known": [{"not": f"{MARKER}-cold"}],
    "view": "shown",
    "value": "age",
    "confidence": 0.9,
    "implications": [{"if": [{"has": f"{MARKER}-cold"}], "then": [{"person": "Tom", "has": f"{MARKER}-cold"}]}],
}
_ASKED: Mapping[str, object] = {"domain": "elements", "groups": ["zip"]}
# Where a macro wants other arguments than the rest.
EXCEPTIONS: Mapping[str, Mapping[str, object]] = {
    **{
        f"{family}_{kind}": _ASKED
        for family in ("alpha_beta", "noisy_counts", "frapp")
        for kind in ("estimate", "estimates")
    },
    **{f"signed_noisy_counts_{kind}": {**_ASKED, "view": "signed"} for kind in ("estimate", "estimates")},
    **{f"sdgs_{kind}": {**_ASKED, "k": 1, "node": {"zip": 0}, "hierarchies": {}} for kind in ("estimate", "estimates")},
    "noisy_counts": {"domain": "possible"},
    "signed_noisy_counts": {"domain": "possible"},
    "sdgs": {"k": 1, "beta": 0.9},
    "gen_text": {"id": "record"},
    "kl_divergence": {"id": "record"},
    "gen": {"id": "record"},
    "hierarchy_ranges": {"attribute": "age"},
    "hierarchy_dates": {"tbl": "stays", "attribute": "admitted"},
    "loss": {"tbl": "general"},
    "alpha_beta": {"domain": "possible"},
    "frapp": {"domain": "possible"},
    "dictionary_order": {"dictionary": "people", "id": "record"},
    "optimal_disclosure": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}]},
    "personal_disclosure_offers": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}]},
    "personal_disclosure_choices": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}]},
    "disclosure_offers": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}]},
    "disclosure_choices": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}]},
    "independent_disclosure": {"weights": [{"attribute": "zip", "entry": "zip"}, {"attribute": "disease"}], "k": 0},
    "linkage": {"links": [{"record": "zip", "entry": "zip", "similarity": "0.8"}]},
}
TABLE_PARAMS = ("tbl", "population", "original", "prior", "shape", "predicates", "nodes", "beliefs", "hierarchy",
                "edges", "generalized", "dictionary", "other", "personal", "offers", "view")  # fmt: skip
LIST_PARAMS = ("qis", "columns", "buckets", "attributes")
COLUMN_PARAMS = ("sensitive", "person", "id", "attribute")
# The files of macros that make a table: a hierarchy, or the table they were given, with other cells or rows; or that
# compare it with a dictionary by links.
MAKERS = (
    "checks/guarding_nodes.sql",
    "operators/hierarchy.sql", "operators/hierarchy_faults.sql", "operators/hide_gen.sql",
    "operators/alpha_beta_view.sql", "operators/frapp_view.sql", "operators/noisy_counts_view.sql",
    "operators/sdgs_view.sql", "operators/anatomy_view.sql", "operators/suppress.sql",
    "estimates/view_estimates.sql", "estimates/sdgs_view.sql",
    "risk/identification.sql", "risk/sensitivity.sql", "risk/disclosure_risk.sql", "risk/linkage.sql",
    "risk/worlds.sql", "risk/optimal_disclosure.sql", "risk/average_disclosure.sql", "risk/independent_disclosure.sql",
)  # fmt: skip
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Attempt:
    """One overload of a macro."""

    name: str
    params: tuple[str, ...]
    is_table: bool
    usual: Mapping[str, object] = field(hash=False, compare=False)

    @property
    def tables(self) -> list[str]:
        """The parameters that name a table. A domain is one, or the number of its tuples."""
        return [p for p in self.params if p in TABLE_PARAMS or (p == "domain" and isinstance(self.usual[p], str))]

    def sql(self, **changes: object) -> str:
        """The call with the usual arguments, but for the changes."""
        given = {**self.usual, **{p: v for p, v in changes.items() if p in self.params}}
        return self.call(", ".join(literal(given[p]) for p in self.params))

    def call(self, arguments: str) -> str:
        """The statement that calls the macro with these arguments; SQL that it gives as text is run."""
        called = f"priv.{self.name}({arguments})"
        if self.name.endswith("_text"):
            return f"FROM query({called})"
        return f"FROM {called}" if self.is_table else f"SELECT {called}"

    def ask(self, con: duckdb.DuckDBPyConnection, **changes: object) -> Rows:
        return con.execute(self.sql(**changes)).fetchall()


def literal(value: object) -> str:
    """A Python value as the SQL that a user would write."""
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "MAP {" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    return repr(value)


@cache
def attempts(*params: str) -> list[Attempt]:
    """Every overload of every macro that takes one of these parameters; all without any.

    Of the companions only the longest: they read the table by the same text as their checks. `counted` is left out: it
    reads no table, but names one; tests/sql/test_counted.py attacks it through the checks.
    """
    found = [
        Attempt(macro.name, overload.params, macro.is_table, _usual(macro.name, overload.params))
        for macro in macros().values()
        if macro.name != "counted"
        for overload in macro.overloads[-1 if macro.name.endswith("_classes") else 0 :]
    ]
    return [a for a in found if not params or set(params) & set(a.params)]


_ANSWERS: dict[Attempt, Rows] = {}


def usually(con: duckdb.DuckDBPyConnection, attempt: Attempt) -> Rows:
    """The answer to the unspoilt call, asked once for all tests."""
    if attempt not in _ANSWERS:
        _ANSWERS[attempt] = attempt.ask(con)
    return _ANSWERS[attempt]


def cases(*params: str) -> list[Any]:
    """The same, to parametrize a test with."""
    return [pytest.param(a, id=f"{a.name}-{len(a.params)}") for a in attempts(*params)]


def checks(*params: str) -> list[Any]:
    """The cases that measure a table by the roles of its columns; those that make a table have tests of their own."""
    return [c for c in cases(*params) if macros()[c.values[0].name].file not in MAKERS and c.values[0].name != "loss"]


def _usual(name: str, params: tuple[str, ...]) -> Mapping[str, object]:
    """With an id column predicates may be each person's own."""
    usual = {**GOOD, **EXCEPTIONS.get(name, {})}
    if "predicates" in params and "id" in params:
        usual["predicates"] = "own_sets"
    return usual


def share(attempt: Attempt, items: Sequence[Any], of: int) -> Sequence[Any]:
    """Every `of`-th of the items, others for the next macro: all with all would take minutes."""
    return items[attempts().index(attempt) % of :: of]


def refusal(con: duckdb.DuckDBPyConnection, sql: str, values: object = None) -> str:
    """What the database says when it refuses, without the place; no cell of a table may be in it."""
    with pytest.raises(duckdb.Error) as caught:
        con.execute(sql, values).fetchall() if values else con.execute(sql).fetchall()
    said = str(caught.value).split("\n\nLINE ")[0]
    assert MARKER not in said, sql
    return said


def refused_by_us(con: duckdb.DuckDBPyConnection, sql: str, values: object = None) -> str:
    """The same for a refusal of ours: what stands after its mark."""
    said = refusal(con, sql, values)
    assert said.startswith("Invalid Input Error: sqlpriv: "), (sql, said)
    return said.removeprefix("Invalid Input Error: sqlpriv: ")


def everything(con: duckdb.DuckDBPyConnection) -> dict[str, object]:
    """All tables with their rows, and the names of all other objects: what an attack may not change."""
    tables = con.execute("SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
    names = [".".join('"' + str(p).replace('"', '""') + '"' for p in t) for t in tables]
    found: dict[str, object] = {n: con.execute(f"FROM {n} ORDER BY ALL").fetchall() for n in names}
    found["views"] = con.execute("SELECT view_name FROM duckdb_views() ORDER BY ALL").fetchall()
    found["macros"] = con.execute(
        "SELECT function_name, count(*) FROM duckdb_functions() WHERE NOT internal GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return found


def same(left: Iterable[tuple[Any, ...]], right: Iterable[tuple[Any, ...]]) -> bool:
    """Equal row by row, doubles up to their last digits."""
    pairs = list(zip(left, right, strict=True))
    return all(_equal(x, y) for a, b in pairs for x, y in zip(a, b, strict=True))


def _equal(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == pytest.approx(right, rel=1e-9, abs=1e-12)
    return left == right


@cache
def our_names() -> list[str]:
    """Every name and keyword that occurs in sql/, also inside its texts, but for the reserved ones."""
    found = {name.lower() for name in _names() if not is_helper(name)}
    return sorted(name for name in found if not name.startswith("__priv_"))


@cache
def our_relations() -> list[str]:
    """The reserved names, as those of our common table expressions."""
    return sorted({name for name in _names() if name.startswith("__priv_")})


def _names() -> Iterable[str]:
    for text in texts().values():
        code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        yield from re.findall(r"[A-Za-z_]\w*", code)
