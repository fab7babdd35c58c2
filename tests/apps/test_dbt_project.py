"""A real dbt project, built by dbt: seeds, models, tests, releases, questions, an exposure and docs.

dbt has environments of its own, one for each supported DuckDB: `make test-dbt`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import duckdb
import numpy as np
import pytest
from support.commands import run
from support.dbt_runs import Project, build
from support.places import ROOT

from sqlpriv.macros.catalog import macros
from sqlpriv.publishing import open_release, verify

pytest.importorskip("dbt.adapters.duckdb", reason="dbt is not installed here; `make test-dbt` runs this")

SOURCE = ROOT / "tests" / "apps" / "dbt_project"
PRIVATE = {"patients", "diagnoses", "stays", "town", "labels"}
PATIENT = re.compile(r"\bp\d{3}\b")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("dbt") / "hospital"
    shutil.copytree(SOURCE, folder)
    assert run(folder, "dbt", "init").returncode == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQLPRIV_LEDGER", str(folder / "ledger.db"))
        patch.setenv("DO_NOT_TRACK", "1")
        return build(folder)


@pytest.fixture(scope="module")
def warehouse(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse as any client sees it: no plugin, no function of ours, nothing of Python within reach."""
    with duckdb.connect(str(project.folder / "warehouse.duckdb"), read_only=True) as con:
        con.execute("SET python_enable_replacements = false; SET enable_external_access = false").fetchall()
        yield con


def test_the_whole_project_is_built(project: Project) -> None:
    status = project.status("built")
    assert {n for n, s in status.items() if s not in {"success", "pass"}} == {"board"}  # an exposure is not run
    assert {"open_stays", "monthly_stays", "by_sex", "by_chapter", "board", "coarse"} <= set(status)
    assert sum(s == "pass" for s in status.values()) >= 7


def test_a_test_says_what_its_macro_says(project: Project, warehouse: duckdb.DuckDBPyConnection) -> None:
    """Each of them fails, with as many classes as the macro finds, told by their sizes and measures."""
    qis = "['zip', 'decade']"
    risky, town = "'risky'", "'town'"
    expected = {
        "k": f"k_anonymity_classes({risky}, {qis}, 5)",
        "k_of_persons": f"k_anonymity_classes({risky}, {qis}, 'patient', 5)",
        "alpha": f"alpha_k_anonymity_classes({risky}, {qis}, 'diagnosis', 0.3)",
        "k_map": f"k_map_classes({risky}, {town}, {qis}, 15)",
        "presence": f"delta_presence_classes({risky}, {town}, {qis}, 0.3)",
        "distinct": f"l_diversity_classes({risky}, {qis}, 'diagnosis', 5)",
        "entropy": f"entropy_diversity_classes({risky}, {qis}, 'diagnosis', 4)",
        "recursive": f"recursive_diversity_classes({risky}, {qis}, 'diagnosis', 3, 0.7)",
        "negation": f"negation_diversity_classes({risky}, {qis}, 'diagnosis', 3, 0.4)",
        "t": f"t_closeness_classes({risky}, {qis}, 'diagnosis', 0.2)",
        "t_ordered": f"t_closeness_ordered_classes({risky}, {qis}, 'diagnosis', 0.1)",
        "t_hierarchical": f"t_closeness_hierarchical_classes({risky}, {qis}, 'diagnosis', 'kinds', 0.05)",
        "beta": f"beta_likeness_classes({risky}, {qis}, 'diagnosis', 1)",
        "enhanced": f"enhanced_beta_likeness_classes({risky}, {qis}, 'diagnosis', 0.5)",
        "delta": f"delta_disclosure_classes({risky}, {qis}, 'diagnosis', 0.5)",
        "ck": f"ck_safety_classes({risky}, {qis}, 'diagnosis', 1, 0.5)",
        "class1": f"epsilon_class1_classes({risky}, {qis}, 'diagnosis', 'prior', 0, 1.1)",
        "class2": f"epsilon_class2_classes({risky}, {qis}, 'diagnosis', 1000000, 0, NULL, 'patient', 1.1)",
        "class3": f"epsilon_class3_classes({risky}, {qis}, 'diagnosis', 'shape', 1, 1.1)",
        "class4": f"epsilon_class4_classes({risky}, {qis}, 'diagnosis', 0, 100)",
    }
    checks = {call.partition("(")[0] for call in expected.values()}
    assert checks | {"risk_classes"} == {name for name in macros() if name.endswith("_classes")}  # that one by `report`
    status = project.status("failed")
    for name, call in expected.items():
        found = warehouse.execute(f"SELECT size, value FROM priv.{call} ORDER BY ALL").fetchall()
        stored = warehouse.execute(f'FROM main_dbt_test__audit."{name}" ORDER BY ALL').fetchall()
        assert (status[name], project.results["failed"][name]["failures"]) == ("fail", len(found)), name
        assert np.array(stored, float) == pytest.approx(np.array(found, float)), name  # sums of threads, in any order
        assert found, name
    assert not {"k", "report", "risk", "journalist"} - {n for n, s in status.items() if s == "fail"}


def test_the_tests_of_whole_tables_say_which_number_failed(warehouse: duckdb.DuckDBPyConnection) -> None:
    audit = "main_dbt_test__audit"
    measures = [m for (m,) in warehouse.execute(f"SELECT measure FROM {audit}.report ORDER BY measure").fetchall()]
    allowed = {
        "k",
        "distinct_l",
        "entropy_l",
        "alpha",
        "t",
        "t_ordered",
        "beta",
        "enhanced_beta",
        "delta",
        "prosecutor",
    }
    assert set(measures) <= allowed
    assert len(measures) >= 8
    for measure, classes, smallest, worst in warehouse.execute(f"FROM {audit}.report").fetchall():
        if measure == "k":
            called = "priv.k_anonymity_classes('risky', ['zip', 'decade'], 5)"
            expected = warehouse.execute(f"SELECT count(*), min(size), min(value) FROM {called}").fetchall()
            assert expected == [(classes, smallest, worst)]
    risks = dict(warehouse.execute(f"SELECT measure, value FROM {audit}.risk").fetchall())
    true = warehouse.execute("SELECT prosecutor, marketer FROM priv.risk('risky', ['zip', 'decade'])").fetchall()
    assert [(risks["prosecutor"], risks["marketer"])] == true
    assert "uniques" not in risks
    journalist = warehouse.execute(f"SELECT measure FROM {audit}.journalist").fetchall()
    assert journalist == [("journalist",)]


def test_stored_failures_hold_nobody_unless_it_is_asked_for(warehouse: duckdb.DuckDBPyConnection) -> None:
    """store_failures would else write the people who are easiest to find into the warehouse."""
    listed = warehouse.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() "
        "WHERE schema_name = 'main_dbt_test__audit' GROUP BY ALL"
    ).fetchall()
    tables = dict(listed)
    assert len(tables) >= 24
    assert tables.pop("k_with_values")[0] == "class"
    private = set(
        warehouse.execute("SELECT DISTINCT zip FROM patients UNION SELECT DISTINCT diagnosis FROM patients").fetchall()
    )
    for name, columns in tables.items():
        assert "class" not in columns, name
        cells = warehouse.execute(f'FROM main_dbt_test__audit."{name}"').fetchall()
        assert not {(str(cell),) for row in cells for cell in row} & private, name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unknown_kind", "sqlpriv: kind must be one of distinct, entropy, recursive, negation"),
        ("no_c", "sqlpriv: c must be a number"),
        ("no_number", "sqlpriv: t must be a number (YAML reads 1e6 as text: write 1.0e+6)"),
        ("no_columns", "sqlpriv: quasi_identifiers must be a column or a list of columns"),
        ("filtered", "these tests judge whole tables, so they take no `where`"),
        ("nobody", "sqlpriv: the table has no rows: there is nothing to check"),
        ("no_role", "sqlpriv: the model 'no_role' does not say what 'age' may reveal: give each column a role"),
        ("no_policy", "sqlpriv: the model 'no_policy' says nothing of how to release it"),
        ("too_much", "sqlpriv: no node meets the requirements"),
        ("wrong_key", "sqlpriv: the model 'wrong_key', release.gama: unknown key 'gama'"),
        ("no_query", "sqlpriv: DuckDB cannot run the SQL of the model (ConversionException)"),
        ("no_answer", "sqlpriv: max() at line 1, column 8 cannot be estimated"),
        ("open_stays", "with the same words in coexists_because, and its rows have changed since"),
    ],
)
def test_what_cannot_be_meant_or_met_fails_the_build(project: Project, name: str, message: str) -> None:
    assert project.status("failed")[name] == "error"
    assert message in project.message("failed", name)


def test_a_release_is_a_verified_file_and_a_view_of_its_rows(
    project: Project, warehouse: duckdb.DuckDBPyConnection
) -> None:
    file = project.folder / "releases" / "open_stays.duckdb"
    assert verify(file).passed
    with duckdb.connect(str(file), read_only=True) as con:
        published = con.execute("FROM sqlpriv_release.published ORDER BY ALL").fetchall()
    assert warehouse.execute("FROM open_stays ORDER BY ALL").fetchall() == published
    assert len(published) == 200  # those of the first month: the next was refused, and changed nothing
    [(comment,)] = warehouse.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'open_stays'").fetchall()
    assert comment.startswith("A release by sqlpriv. open_stays, by generalize: k>=5")


def test_the_next_month_is_the_next_view_also_with_a_full_refresh(
    project: Project, warehouse: duckdb.DuckDBPyConnection
) -> None:
    assert project.status("failed")["monthly_stays"] == "success"
    numbers = dict(warehouse.execute('FROM main__monthly_stays."parameters"').fetchall())
    assert (numbers["view"], numbers["views"]) == (2, 2)


def test_no_private_row_is_left_behind(project: Project, warehouse: duckdb.DuckDBPyConnection) -> None:
    """What a released model selects is no relation, under whatever name, and in no log or compiled file."""
    listed = warehouse.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND schema_name <> 'priv'"
    ).fetchall()
    assert {schema for schema, _ in listed} == {
        "main", "main__open_stays", "main__monthly_stays", "main_dbt_test__audit",
    }  # fmt: skip
    for schema, name in listed:
        of_owner = name in PRIVATE or name.startswith(("risky", "tiny", "hidden", "labelled", "coarse", "same_"))
        if schema == "main" and of_owner:
            continue
        cells = warehouse.execute(f'SELECT CAST(t AS VARCHAR) FROM "{schema}"."{name}" AS t').fetchall()
        assert not any(PATIENT.search(cell) for (cell,) in cells), (schema, name)
    texts = [p for p in project.folder.rglob("*") if p.is_file() and {"target", "logs"} & set(p.parts)]
    assert len(texts) > 50
    for path in texts:
        if path.suffix in {".sql", ".log", ".json"}:
            seen = set(PATIENT.findall(path.read_text())) - {"p007", "p050", "p200", "p210"}  # written in the models
            assert not seen, path


def test_answers_in_the_warehouse_are_those_of_the_release(
    project: Project, warehouse: duckdb.DuckDBPyConnection
) -> None:
    with open_release(project.folder / "releases" / "open_stays.duckdb") as opened:
        asked = opened.sql("SELECT sex, count(*) AS n FROM open_stays GROUP BY sex ORDER BY ALL")
        assert warehouse.execute("FROM by_sex ORDER BY ALL").fetchall() == asked.fetchall()
    with open_release(project.folder / "releases" / "monthly.duckdb") as opened:
        question = "SELECT chapter, count(*) AS n FROM monthly_stays JOIN chapters USING (diagnosis) GROUP BY chapter"
        asked = opened.sql(f"{question} ORDER BY ALL", confidence=0.9)
        assert asked.columns == ["chapter", "n", "n_low", "n_high"]
        assert warehouse.execute("FROM by_chapter ORDER BY ALL").fetchall() == asked.fetchall()


def test_nothing_that_is_built_needs_python(project: Project, warehouse: duckdb.DuckDBPyConnection) -> None:
    """Every relation is read by a connection that has nothing of ours, and no SQL calls a macro that would need it."""
    for node in ("by_sex", "by_chapter", "hidden", "hidden_twice", "labelled", "coarse"):
        assert "priv." not in project.compiled(node).lower().replace("sqlpriv.", ""), node
        assert "sqlpriv_rewrite" not in project.compiled(node)
        assert warehouse.execute(f"SELECT count(*) FROM {node}").fetchall()[0][0] > 0
    views = warehouse.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    assert {"open_stays", "monthly_stays", "by_sex"} <= {name for name, _ in views}
    for name, sql in views:
        assert not re.search(r"\bpriv\.|release_file|read_\w+\(|\.duckdb", sql), name


def test_operators_give_other_warehouses_the_rows_that_duckdb_gets(warehouse: duckdb.DuckDBPyConnection) -> None:
    for name in ("hide", "gen", "gen_all", "generalize", "generalize_top"):
        assert warehouse.execute(f"SELECT count(*) FROM same_{name}").fetchall() == [(0,)], name
    hidden = "SELECT count(*), count(diagnosis) FROM hidden_twice"
    true = "SELECT count(*), count(*) FILTER (decade < 60 AND sex = 'F' AND zip <> '04103') FROM stays"
    assert warehouse.execute(hidden).fetchall() == warehouse.execute(true).fetchall()
    assert warehouse.execute("SELECT DISTINCT zip FROM coarse ORDER BY ALL").fetchall() == [
        ("041**",),
        ("042**",),
        (None,),
    ]


def test_a_build_tells_ci_whether_it_failed(project: Project) -> None:
    """dbt's exit code is 0 where it succeeds, and 1 where a test failed or a release was refused."""
    assert json.loads((project.folder / "succeeded.json").read_text()) == {
        "deps": True, "built": True, "documented": True, "failed": False,
    }  # fmt: skip


def test_docs_know_the_releases_and_who_reads_them(project: Project) -> None:
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text())
    assert set(catalog["nodes"]["model.hospital.open_stays"]["columns"]) == {"zip", "age", "sex", "diagnosis"}
    manifest = json.loads((project.folder / "target" / "manifest.json").read_text())
    [exposure] = manifest["exposures"].values()
    assert "model.hospital.by_sex" in exposure["depends_on"]["nodes"]
    assert "model.hospital.monthly_stays" in manifest["nodes"]["model.hospital.by_chapter"]["depends_on"]["nodes"]


def test_releases_of_others_are_asked_in_sql(project: Project) -> None:
    """A release that a profile names is attached, and any thread of dbt asks it by the function that rewrites."""
    from argparse import Namespace

    from dbt.flags import set_from_args
    from dbt_common.exceptions import DbtRuntimeError

    from sqlpriv.dbt import Plugin

    set_from_args(Namespace(PROJECT_DIR=str(project.folder)), {})
    plugin = Plugin("anything", {"releases": ["releases/open_stays.duckdb"]})
    with duckdb.connect(str(project.folder / "theirs.duckdb")) as con:
        plugin.configure_connection(con)
        with con.cursor() as cursor:
            plugin.configure_cursor(cursor)
            asked = cursor.execute(
                "SELECT n, n_low <= n AND n <= n_high FROM priv.ask('SELECT count(*) AS n FROM open_stays')"
            )
            assert asked.fetchall() == [(200, True)]
    with duckdb.connect() as con, pytest.raises(DbtRuntimeError, match="sqlpriv: there is no release file"):
        Plugin("anything", {"releases": ["releases/of_nobody.duckdb"]}).configure_connection(con)


def test_a_copy_of_the_package_that_was_forgotten_is_noticed() -> None:
    from types import SimpleNamespace

    from dbt_common.exceptions import DbtRuntimeError

    from sqlpriv.dbt import Plugin

    plugin = Plugin("anything", {})
    with duckdb.connect() as con:
        plugin.configure_cursor(con)
        asked = SimpleNamespace(config={"package": "0.0.1", "threshold": 1}, location=SimpleNamespace(format="limit"))
        with pytest.raises(
            DbtRuntimeError, match=r"package is that of sqlpriv 0\.0\.1, .* run `sqlpriv dbt init` again"
        ):
            plugin.store(asked)
