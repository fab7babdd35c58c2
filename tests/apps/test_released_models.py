"""What dbt's materialization and `ask` do, without dbt: a model is released by every method, and asked where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.places import ROOT

import sqlpriv
from sqlpriv.apps.dbt.policies import model_policy
from sqlpriv.apps.dbt.questions import rewrite_question
from sqlpriv.apps.dbt.release import detach, publish_model
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError, SqlprivError, UnsupportedSQLError
from sqlpriv.methods import METHODS
from sqlpriv.publishing import open_release

pytestmark = pytest.mark.slow

PEOPLE = """CREATE TABLE people AS SELECT concat('SECRET-', i) AS patient, concat('041', i * 7 % 5, i * 3 % 7) AS zip,
20 + i * 11 % 50 AS age, ['F', 'M'][1 + i % 2] AS sex, ['flu', 'cold', 'gout', 'angina'][1 + i * 5 % 4] AS illness
FROM range(240) AS r(i)"""
QUERY = "SELECT * FROM people WHERE age < {}"
IDENTIFIER, SENSITIVE = {"role": "identifier"}, {"role": "sensitive"}
GENERALIZED = {
    "patient": IDENTIFIER,
    "zip": {"role": "quasi-identifier", "hierarchy": "mask:5"},
    "age": {"role": "quasi-identifier", "hierarchy": "ranges:10,50"},
    "sex": {"role": "quasi-identifier", "hierarchy": "suppression"},
    "illness": SENSITIVE,
}
APART = {
    **{name: {"role": "quasi-identifier"} for name in ("zip", "age", "sex")},
    "patient": IDENTIFIER,
    "illness": SENSITIVE,
}
NOISY = {
    "patient": IDENTIFIER,
    "zip": {"role": "drop"},
    "age": {"role": "drop"},
    "sex": {"role": "quasi-identifier", "domain": ["F", "M"]},
    "illness": {"role": "sensitive", "domain": ["flu", "cold", "gout", "angina", "asthma", "cancer"]},
}
K = {"require": {"k": 5}}
L = {"require": {"distinct_l": {"illness": 3}}}
NODE = {"zip": 5, "age": 2, "sex": 0}
NOISE = {"gamma": 0.8, "n_public": 300}
MODELS: Mapping[str, tuple[Mapping[str, Any], dict[str, Any]]] = {
    "generalize": (GENERALIZED, {"release": {}, **K}),
    "mondrian": (GENERALIZED, {"release": {}, **K}),
    "hilbert": (GENERALIZED, {"release": {}, **K}),
    "sdgs": (
        GENERALIZED,
        {"release": {"epsilon": 2, "k": 12, "beta": 0.4, "node": NODE, "node_is_public": "made up"}, "key_file": "key"},
    ),
    "noisy_counts": (NOISY, {"release": NOISE, "key_file": "key"}),
    "alpha_beta": (
        NOISY, {"release": {**NOISE, "duplicates": "slots", "slots": 200, "uncovered": "made up"}, "key_file": "key"},
    ),
    "frapp": (NOISY, {"release": NOISE, "key_file": "key"}),
    "anatomy": (APART, {"release": {}, **L, "key_file": "key"}),
    "slicing": (APART, {"release": {"groups": [["zip", "age", "sex"], ["illness"]]}, **L, "key_file": "key"}),
}  # fmt: skip


def test_the_models_are_of_methods_that_are_there() -> None:
    """A method that is added needs no model here: nothing in the door knows a method by its name."""
    assert set(MODELS) <= set(METHODS)
    assert len(MODELS) >= 8


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    monkeypatch.chdir(tmp_path)
    Path("key").write_text("a key of my own, long enough")
    with duckdb.connect("warehouse.duckdb") as con:
        con.execute(PEOPLE).fetchall()
        yield con


def policy_of(method: str, options: Mapping[str, Any] = {}, **sections: Any) -> dict[str, Any]:
    """The policy of the model with other options of its release."""
    given = MODELS[method][1]
    release = {"method": method, "accept": "the people are made up", **given["release"], **options}
    return {**given, "release": release, **sections}


def asked_for(method: str, **changes: Any) -> dict[str, Any]:
    """What the materialization hands over for a model."""
    columns, policy = MODELS[method][0], policy_of(method)
    place = {"name": "stays", "database": "warehouse", "schema": "main"}
    return {**place, "sql": QUERY.format(99), "policy": policy, "columns": columns, **changes}


def released(con: duckdb.DuckDBPyConnection, asked: dict[str, Any]) -> dict[str, Any]:
    """Publish, and copy the tables as the materialization does."""
    publish_model(con, asked, Path())
    con.execute(f'CREATE SCHEMA "{asked["schema"]}"').fetchall()
    for original, called in asked["tables"].items():
        table = f'"{asked["schema"]}".{called}'
        con.execute(f"CREATE TABLE {table} AS FROM {original}").fetchall()
        con.execute(f"COMMENT ON TABLE {table} IS '{asked['comment']}'").fetchall()
    detach(con, asked)
    return asked


def question(text: str, policy: object = None, builds: bool = True) -> dict[str, Any]:
    model = {"database": "warehouse", "schema": "main", "name": "stays", "policy": policy}
    return {"question": text, "confidence": 0.9, "releases": [model], "builds": builds}


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["anatomy", *(m for m in MODELS if m != "anatomy")])
def test_a_model_is_released_by_every_method_and_asked_where_it_is(
    warehouse: duckdb.DuckDBPyConnection, method: str
) -> None:
    told = released(warehouse, asked_for(method))
    assert f"stays, by {method}: " in told["messages"][0]
    assert len(told["messages"][0]) > 60
    asked = question('SELECT illness, count(*) AS n FROM "warehouse"."main"."stays" AS s GROUP BY illness')
    rewrite_question(asked, Path())
    found = warehouse.execute(f"SELECT * FROM ({asked['sql']}) ORDER BY ALL").fetchall()
    with open_release(Path("releases") / "stays.duckdb") as opened:
        query = "SELECT illness, count(*) AS n FROM stays AS s GROUP BY illness ORDER BY ALL"
        answers = opened.sql(query, confidence=0.9)
        assert found == answers.fetchall()
        assert answers.columns == ["illness", "n", "n_low", "n_high"]
    assert len(found) >= 3
    no_private_row_is_there(warehouse)


def no_private_row_is_there(con: duckdb.DuckDBPyConnection) -> None:
    """The table that the model reads was there before; beside it are the tables of the release, with no patient."""
    tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
    assert {schema for schema, _ in tables} == {"main", "main__stays"}
    assert [name for schema, name in tables if schema == "main"] == ["people"]
    for name in [name for schema, name in tables if schema == "main__stays"]:
        cells = con.execute(f'SELECT CAST(t AS VARCHAR) FROM main__stays."{name}" AS t').fetchall()
        assert not any("SECRET" in cell for (cell,) in cells), name


SLOTS = {**NOISE, "d": 0.02, "duplicates": "slots", "slots": 60, "adversary": "independent", "uncovered": "made up"}
AGAIN: Mapping[str, tuple[str, dict[str, Any]]] = {
    "generalize": ("generalize", {}),
    "noisy_counts": ("noisy_counts", {}),
    "alpha_beta": ("alpha_beta", SLOTS),
    "frapp": ("frapp", {}),
    "sdgs": ("sdgs", {}),
}


def entries() -> list[Any]:
    """What the ledger holds."""
    return list(sqlpriv.ledger().content)


@pytest.mark.slow
@pytest.mark.parametrize("case", AGAIN)
def test_an_unchanged_model_is_the_release_that_is_there(warehouse: duckdb.DuckDBPyConnection, case: str) -> None:
    """Whatever the coins and the order of rows; others are refused, and leave the release and its tables alone."""
    method, options = AGAIN[case]
    policy = policy_of(method, options)
    released(warehouse, asked_for(method, policy=policy))
    before, known = Path("releases/stays.duckdb").read_bytes(), entries()
    again = asked_for(method, policy=policy, sql=f"{QUERY.format(99)} ORDER BY patient DESC")
    publish_model(warehouse, again, Path())  # also over the schema of the first
    detach(warehouse, again)
    with pytest.raises(ReleaseError, match=r"'stays' was released on .* A second release made independently would"):
        publish_model(warehouse, asked_for(method, policy=policy, sql=QUERY.format(65)), Path())
    Path("key").write_text("another key, and as long as that")
    if METHODS[method].draws:
        with pytest.raises(ReleaseError, match="A second release made independently would expose people"):
            publish_model(warehouse, asked_for(method, policy=policy), Path())
    assert Path("releases/stays.duckdb").read_bytes() == before
    assert entries() == known
    assert len(known) == 1


@pytest.mark.slow
def test_a_build_of_the_same_rows_spends_nothing_of_a_budget(warehouse: duckdb.DuckDBPyConnection) -> None:
    policy = policy_of("frapp", ledger={"budget": {"epsilon": 50, "neighbours": "replace-one"}})
    for most, releases in ((99, 1), (99, 1), (65, 2), (65, 2)):
        asked = asked_for("frapp", policy=policy, sql=QUERY.format(most))
        publish_model(warehouse, asked, Path())
        detach(warehouse, asked)
        assert len(entries()) == releases


@pytest.mark.some(1)
@pytest.mark.parametrize("method", [m for m in MODELS if METHODS[m].draws])
def test_coins_without_a_key_are_refused_before_they_are_thrown(
    warehouse: duckdb.DuckDBPyConnection, method: str
) -> None:
    """The next build could not throw them again, and would be refused, or spend from a budget each time."""
    policy = {name: given for name, given in policy_of(method).items() if name != "key_file"}
    with pytest.raises(PolicyError, match=f"'stays' is released by {method}, which randomizes, and without a key"):
        publish_model(warehouse, asked_for(method, policy=policy), Path())
    assert not list(Path().rglob("releases/*"))


@pytest.mark.slow
def test_rows_that_changed_are_the_next_view_of_a_sequence_or_refused(warehouse: duckdb.DuckDBPyConnection) -> None:
    policy = policy_of("alpha_beta", {**SLOTS, "views": 2, "output": "releases/month.duckdb"})
    for most in (60, 65):
        asked = asked_for("alpha_beta", policy=policy, sql=QUERY.format(most))
        publish_model(warehouse, asked, Path())
        numbers = warehouse.execute(f"FROM {asked['catalog']}.sqlpriv_release.parameters WHERE name LIKE 'view%'")
        assert dict(numbers.fetchall()) == {"view": 1 if most == 60 else 2, "views": 2}
        detach(warehouse, asked)
    before = Path("releases/month.duckdb").read_bytes()
    with pytest.raises(ReleaseError, match="the last of the 2 views of this sequence; no more can be private"):
        publish_model(warehouse, asked_for("alpha_beta", policy=policy, sql=QUERY.format(68)), Path())
    with pytest.raises(ReleaseError, match=r"was released on .* as 'month.duckdb'"):
        publish_model(warehouse, asked_for("generalize"), Path())
    assert Path("releases/month.duckdb").read_bytes() == before


def test_a_nightly_build_over_changing_rows_keeps_the_release_where_it_is_asked_to(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """It warns; what is wrong with the policy, or cannot be met, still fails, and so does a word it does not know."""
    policy = {**policy_of("generalize"), "on_change": "keep"}
    released(warehouse, asked_for("generalize", policy=policy))
    before, known = Path("releases/stays.duckdb").read_bytes(), entries()
    again = asked_for("generalize", policy=policy, sql=QUERY.format(65))
    publish_model(warehouse, again, Path())
    detach(warehouse, again)
    assert again["messages"][0].startswith("stays, by generalize: ")
    assert again["messages"][1].startswith("warning: the release of stays stays as it was, and is not of today's rows")
    assert (Path("releases/stays.duckdb").read_bytes(), entries()) == (before, known)
    for changes, message in (({"require": {"k": 1000}}, "k"), ({"on_change": "replace"}, "there is on_change: keep")):
        asked = asked_for("generalize", policy={**policy, **changes}, sql=QUERY.format(65))
        with pytest.raises(SqlprivError, match=message):
            publish_model(warehouse, asked, Path())
    Path("releases/stays.duckdb").unlink()
    with pytest.raises(ReleaseError, match="'stays' was released on"):
        publish_model(warehouse, asked_for("generalize", policy=policy, sql=QUERY.format(65)), Path())


def test_numbers_and_keys_stand_where_yaml_has_them() -> None:
    """YAML reads 1e-06 as a text; a key inside release would be published with it."""
    given = {"release": {"method": "frapp", "gamma": 0.5}, "ledger": {"budget": {"epsilon": "5e+0", "delta": "1e-06"}}}
    policy = model_policy("stays", given, NOISY, list(NOISY), Path())
    assert policy.budget is not None
    assert (policy.budget.epsilon, policy.budget.delta) == (5.0, 1e-6)
    wrong = {"release": {"method": "frapp", "key_file": "key"}}
    with pytest.raises(PolicyError, match=r"has 'key_file' inside release; write it next to release, as in meta: "):
        model_policy("stays", wrong, NOISY, list(NOISY), Path())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": None}, r"the model 'stays' says nothing of how to release it; write in its config, as in meta:"),
        ({"policy": {"require": {"k": 2}}}, "says nothing of how to release it"),
        ({"policy": {"release": {"method": "generalize"}, "columns": {}}}, "has 'columns' in meta.sqlpriv"),
        (
            {"policy": {"release": {"method": "none"}}},
            r"the model 'stays', release.method: method must be one of gener",
        ),
        ({"policy": {"release": {"method": "generalize", "kk": 1}}}, r"release.kk: unknown key 'kk'; there are method"),
        ({"policy": {"release": {"method": "generalize"}, "requires": {}}}, "unknown section 'requires'"),
        ({"columns": {}}, "does not say what 'patient', 'zip', 'age', 'sex', 'illness' may reveal: give each column a"),
        ({"columns": {**GENERALIZED, "ZIP": {}}}, r"columns.ZIP"),
        ({"columns": {**GENERALIZED, "Sex": {"role": "unknown"}}}, r"columns.Sex.role: 'unknown' is no role"),
        ({"columns": {**GENERALIZED, "gone": {"role": "other"}}}, "gone"),
        (
            {"sql": "SELECT CAST(patient AS INTEGER) AS zip FROM people"},
            r"cannot run the SQL of the model \(Conversion",
        ),
        ({"sql": QUERY.format(0)}, "no rows"),
    ],
)
def test_what_must_not_be_released_leaves_nothing(
    warehouse: duckdb.DuckDBPyConnection, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SqlprivError, match=message) as caught:
        publish_model(warehouse, asked_for("generalize", **changes), Path())
    assert isinstance(caught.value, (PolicyError, InputError, ReleaseError))
    assert "SECRET" not in str(caught.value)
    assert not list(Path().rglob("releases/*"))
    assert warehouse.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall() == [
        ("warehouse",)
    ]


@pytest.mark.parametrize(
    "mine",
    [
        "TABLE main__stays.mine AS SELECT 1 AS one",
        "TABLE main__stays.about AS SELECT 1 AS one; CREATE TABLE main__stays.published AS SELECT 1 AS one",
        "VIEW Main__Stays.mine AS SELECT 1 AS one",
        "SEQUENCE main__stays.mine",
        "TYPE main__stays.mine AS ENUM ('one')",
        "MACRO main__stays.mine() AS 1",
    ],
)
def test_a_schema_of_somebody_else_is_left_alone(warehouse: duckdb.DuckDBPyConnection, mine: str) -> None:
    """The materialization drops the schema with all that is in it, so that nothing of others may be there."""
    schema = "Main__Stays" if "Main" in mine else "main__stays"
    warehouse.execute(f"CREATE SCHEMA {schema}; CREATE {mine}").fetchall()
    with pytest.raises(InputError, match="the schema 'main__stays' is where the tables of this release would go"):
        publish_model(warehouse, asked_for("generalize"), Path())
    assert not list(Path().rglob("releases/*"))


@pytest.mark.slow
def test_what_stands_among_the_tables_of_a_release_is_left_alone(warehouse: duckdb.DuckDBPyConnection) -> None:
    released(warehouse, asked_for("anatomy"))
    again = asked_for("anatomy")
    publish_model(warehouse, again, Path())  # over the schema of the first
    detach(warehouse, again)
    warehouse.execute("CREATE VIEW main__stays.mine AS SELECT 1 AS one").fetchall()
    with pytest.raises(InputError, match=r"no release: 'mine'; move that elsewhere, or give the model an alias$"):
        publish_model(warehouse, asked_for("anatomy"), Path())
    # As if it were built before tables had our comment: what to do is said, and does it.
    warehouse.execute("DROP VIEW main__stays.mine").fetchall()
    for table in again["tables"].values():
        warehouse.execute(f"COMMENT ON TABLE main__stays.{table} IS NULL").fetchall()
    with pytest.raises(InputError, match="if it was built by an earlier version of sqlpriv, see that nothing") as told:
        publish_model(warehouse, asked_for("anatomy"), Path())
    [statement] = re.findall(r"run (DROP SCHEMA \S+ CASCADE) once", str(told.value))
    warehouse.execute(statement).fetchall()
    publish_model(warehouse, asked_for("anatomy"), Path())


def test_the_materialization_marks_every_table_that_it_copies() -> None:
    """Else the next run would take its own tables for those of others."""
    materialization = ROOT / "sqlpriv/apps/dbt/package/macros/releases/private_release.sql"
    loop = materialization.read_text(encoding="utf-8").partition("{% for original")[2].partition("{% endfor")[0]
    assert "comment on table {{ place }}.{{ called }} is" in loop


def test_names_of_columns_are_compared_as_duckdb_does() -> None:
    policy = model_policy(
        "stays", {"release": {"method": "generalize"}, **K}, GENERALIZED, ["PATIENT", "Zip", "age"], Path()
    )
    assert (policy.table.name, policy.output) == ("stays", "releases/stays.duckdb")


@pytest.mark.slow
def test_a_question_that_cannot_be_answered_is_refused(warehouse: duckdb.DuckDBPyConnection) -> None:
    released(warehouse, asked_for("generalize"))
    with pytest.raises(UnsupportedSQLError, match=r"row|column"):
        rewrite_question(question("SELECT zip, illness FROM stays"), Path())
    with pytest.raises(InputError, match=r"reads no model that is released .*: there is stays"):
        rewrite_question(question("SELECT count(*) FROM people"), Path())
    with pytest.raises(InputError, match="reads no model that is released"):
        rewrite_question(question("SELECT count(*) FROM other.stays"), Path())


def test_a_release_that_is_not_there_is_an_error_of_the_sql_until_it_is_built(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    """So that docs can be made of a project that nobody has built; a model of it answers nothing."""
    early = question("SELECT count(*) FROM stays", builds=False)
    rewrite_question(early, Path())
    with pytest.raises(duckdb.Error, match="sqlpriv: stays is not released yet: run dbt build"):
        warehouse.execute(early["sql"]).fetchall()
    with pytest.raises(InputError, match="there is no release file"):
        rewrite_question(question("SELECT count(*) FROM stays"), Path())
