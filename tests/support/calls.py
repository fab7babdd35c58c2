"""A call of every overload of every public macro, on a small table made for it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from sqlpriv.demo.examples import RELEASE
from sqlpriv.macros.catalog import macros

TABLES = f"""{RELEASE}
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
CREATE OR REPLACE TABLE own_nodes AS FROM (VALUES ('p1', 'chronic', 2), ('p4', 'Flu', 3.5)) AS v(id, node, at_most);
CREATE OR REPLACE TABLE stays AS
  FROM (VALUES (DATE '2024-03-17'), (DATE '2024-05-01'), (DATE '1999-12-31'), (NULL)) AS v(admitted);
CREATE OR REPLACE TABLE kinds AS FROM (VALUES ('Heart', 'chronic'), ('Cancer', 'chronic'), ('chronic', 'any'),
  ('Flu', 'any')) AS v(child, parent);
CREATE OR REPLACE TABLE labels AS FROM (VALUES (1, 'chronic'), (5, NULL), (99, 'acute')) AS v(visit, disease);
CREATE OR REPLACE TABLE hierarchy_disease AS FROM taxonomy;
CREATE OR REPLACE TABLE hierarchy_zip AS FROM (VALUES ('130**', '1****', '*'), ('1485*', '1****', '*'))
  AS v(zip, area, top);
CREATE OR REPLACE TABLE hierarchy_age AS FROM (VALUES ('< 30', '*'), ('30-40', '*')) AS v(age, top);
CREATE OR REPLACE TABLE general_visits AS FROM (VALUES (1, 'chronic', '130**', '*'), (2, 'acute', '1485*', '*'),
  (3, 'unknown', '130**', '*')) AS v(visit, disease, zip, age);
CREATE OR REPLACE TABLE minded AS SELECT DISTINCT patient, attribute, 1.5 AS weight
  FROM visits, (VALUES ('disease'), ('zip')) AS v(attribute);
CREATE OR REPLACE TABLE offered AS SELECT visit AS record, 1 AS copies, u / 2 AS loss, u AS utility
  FROM visits, range(3) AS r(u);
CREATE OR REPLACE TABLE elements AS SELECT visit, zip, age FROM visits;
CREATE OR REPLACE TABLE shown AS FROM elements WHERE visit < 7;
CREATE OR REPLACE TABLE signed AS SELECT *, 1.0 AS "__weight" FROM shown;
CREATE OR REPLACE TABLE possible AS FROM (SELECT DISTINCT zip FROM visits), (SELECT DISTINCT disease FROM visits);
"""

ARGUMENTS = {
    "tbl": "'visits'",
    "qis": "['zip', 'age']",
    "buckets": "['zip', 'age']",
    "sensitive": "'disease'",
    "person": "'patient'",
    "threshold": "1.2",
    "copies": "'n'",
    "hierarchy": "'taxonomy'",
    "prior": "'seen'",
    "shape": "'shares'",
    "sigma": "1000",
    "fraction": "0.1",
    "columns": "['zip', 'age']",
    "most": "2",
    "b": "1",
    "l": "2",
    "k": "2",
    "predicates": "'sets'",
    "nodes": "'own_nodes'",
    "beliefs": "'seen'",
    "id": "'patient'",
    "population": "'residents'",
    "original": "'visits'",
    "beta": "0.1",
    "epsilon": "1.5",
    "delta": "0.02",
    "n": "1000",
    "epsilons": "[0.5, 1.0]",
    "deltas": "[0.0, 0.001]",
    "ks": "[20, 10]",
    "betas": "[0.1, 0.05]",
    "noisy": "[0.25]",
    "attribute": "'disease'",
    "widths": "[2, 4]",
    "origin": "1",
    "length": "8",
    "units": "['month', 'decade']",
    "bins": "[2, 1]",
    "edges": "'kinds'",
    "levels": "2",
    "generalized": "'labels'",
    "condition": "'visit > 3 AND age IS NULL'",
    "node": "MAP {'disease': 1, 'zip': 0, 'age': 1}",
    "hierarchies": "MAP {'disease': 'taxonomy'}",
    "d": "0.01",
    "gamma": "0.2",
    "adversary": "'exclusive'",
    "choice": "'default'",
    "alpha": "0.4",
    "rows": "100",
    "domain": "1000",
    "hits": "10",
    "domain_hits": "200",
    "failure": "0.125",
    "views": "3",
    "slots": "5",
    "persist": "0.7",
    "d_max": "0.02",
    "share_max": "0.125",
    "share": "0.0625",
    "rate": "1.5",
    "tuples": "1000",
    "gone": "10",
    "stay": "0.5",
    "move": "0.0625",
    "p": "0.4",
    "q": "0.125",
    "a": "0.25",
    "factor": "16",
    "belief": "0.0625",
    "choices": "33",
    "times": "2",
    "public_share": "0.0625",
    "shares": "[0.0625, 0.03125]",
    "factors": "[16, 8]",
    "most_factor": "12",
    "ratios": "[0.125, 0.25]",
    "others": "30",
    "rows_each": "2",
    "n_public": "100",
    "most_rows": "50",
    "least_beta": "0.05",
    "most_beta": "0.1",
    "weight": "2.0",
    "variance": "2.0",
    "skew": "2.0",
    "domain_weight": "-0.5",
    "domain_variance": "0.75",
    "domain_skew": "0.75",
    "release": "current_database()",
    "predicate": "'score < 3 * age'",
    "mentioned": "['age', 'score']",
    "attributes": "['zip', 'disease']",
    "key": "'nobody else knows it'",
    "dictionary": "'residents'",
    "other": "'residents'",
    "dictionaries": "MAP {'residents': 0.25, 'visits': 0.75}",
    "links": "[{record: 'zip', entry: 'zip', hierarchy: 'hierarchy_zip'}, {record: 'age', entry: 'age'}]",
    "phi": "'visit + 1'",
    "psi": "0.5",
    "chance": "'visit + 1'",
    "success": "'visit > 1'",
    "weights": "[{attribute: 'disease', weight: 2, hierarchy: 'taxonomy'}, {attribute: 'zip', weight: 0.5}]",
    "form": "'multiplicative'",
    "judge": "'worst'",
    "personal": "'minded'",
    "total": "'infinity'",
    "offers": "'offered'",
    "goal": "'both'",
    "c": "0.125",
    "blocks": "['zip', 'age']",
    "who": "{zip: '130**', age: '< 30'}",
    "known": "[{'not': 'Heart'}]",
    "implications": "[{'if': [{person: 'Tom', has: 'Flu'}], 'then': [{has: 'Heart'}, {has: 'Flu'}]}]",
    "excluded": "1",
    "worlds": "50",
    "groups": "2",
    "view": "'shown'",
    "value": "'visit - 5'",
    "confidence": "0.9",
}
_FAMILIES = ("alpha_beta", "noisy_counts", "signed_noisy_counts", "frapp", "sdgs")
_ESTIMATES = [f"{family}_{kind}" for family in _FAMILIES for kind in ("estimate", "estimates")]
# Where a macro wants other arguments than the rest.
EXCEPTIONS = {
    ("kl_divergence", "id"): "'visit'",
    ("gen", "id"): "'visit'",
    ("hierarchy_ranges", "attribute"): "'visit'",
    ("hierarchy_dates", "tbl"): "'stays'",
    ("hierarchy_dates", "attribute"): "'admitted'",
    ("loss", "tbl"): "'general_visits'",
    ("alpha_beta", "domain"): "'possible'",
    ("frapp", "domain"): "'possible'",
    ("noisy_counts", "domain"): "'possible'",
    ("signed_noisy_counts", "domain"): "'possible'",
    ("gen_text", "id"): "'visit'",
    ("sdgs", "k"): "1",
    ("sdgs", "beta"): "0.9",
    **{(name, "domain"): "'elements'" for name in _ESTIMATES},
    **{(name, "groups"): "['zip']" for name in _ESTIMATES},
    **{(name, "view"): "'signed'" for name in _ESTIMATES if name.startswith("signed")},
    **{(name, "k"): "1" for name in _ESTIMATES},
    **{(name, "node"): "MAP {'zip': 0}" for name in _ESTIMATES},
    ("dictionary_order", "dictionary"): "'visits'",
    ("dictionary_order", "id"): "'visit'",
    ("optimal_disclosure", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', weight: 2}]",
    ("average_disclosure", "goal"): "'utility'",
    ("disclosure_offers", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', weight: 2}]",
    ("disclosure_choices", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', weight: 2}]",
    ("personal_disclosure_offers", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', psi: 1}]",
    ("personal_disclosure_choices", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', psi: 1}]",
    ("independent_disclosure", "weights"): "[{attribute: 'zip', entry: 'zip'}, {attribute: 'disease', weight: 2}]",
    ("independent_disclosure", "k"): "1",
    ("linkage", "links"): "[{record: 'zip', entry: 'zip', similarity: 0.8}, {record: 'disease', entry: 'disease'}]",
    ("hierarchy_weights", "weight"): "0.75",
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
    if param == "predicates" and "id" in params:
        return "'own_sets'"
    return EXCEPTIONS.get((macro, param), ARGUMENTS[param])
