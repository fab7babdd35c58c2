"""The command line, as a person or a script runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from support.commands import run

import sqlpriv
from sqlpriv.checks import requirements
from sqlpriv.core.errors import InputError
from sqlpriv.demo import examples
from sqlpriv.macros.catalog import script

MARKER = "SECRET-42"
DISEASE = ["check", "patients.csv", "--qi", "zip", "--sensitive", "disease"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """patients.csv, patients.parquet and a database with the example tables, odd names among them."""
    target = tmp_path_factory.mktemp("cli")
    con = duckdb.connect(str(target / "hospital.duckdb"))
    examples.create(con)
    con.execute(f"COPY patients TO '{target}/patients.csv'").fetchall()
    con.execute(f"COPY patients TO '{target}/patients.parquet'").fetchall()
    con.execute('CREATE SCHEMA "odd.one"; CREATE TABLE "odd.one"."my table" AS FROM patients').fetchall()
    con.execute("CREATE VIEW seen AS FROM patients; CREATE TABLE nobody AS FROM patients LIMIT 0").fetchall()
    con.execute(
        f"CREATE TABLE marked AS SELECT '{MARKER}' AS zip, '{MARKER}' AS disease, i AS id FROM range(3) AS r(i)"
    ).fetchall()
    con.execute(
        "CREATE TABLE visits AS SELECT 'p' AS patient, zip, disease FROM patients WHERE zip = '130**' "
    ).fetchall()
    con.close()
    return target


def test_the_installed_command(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sqlpriv.apps.cli.main",
        "check",
        "patients.csv",
        "--qi",
        "zip",
        "--require",
        "k>=5",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "FAILS  k>=5" in done.stdout
    assert "\x1b[" not in done.stdout


@pytest.mark.parametrize("data", ["patients.csv", "patients.parquet"])
def test_a_file_is_reported(folder: Path, data: str) -> None:
    done = run(folder, "check", data, "--qi", "zip,age", "--sensitive", "disease")
    assert done.returncode == 0, done.stderr
    assert f"{data}: 12 rows" in done.stdout
    assert "k_anonymity" in done.stdout
    assert "Smallest classes by zip, age: sizes 4, 4, 4" in done.stdout
    assert "\x1b[" not in done.stdout


@pytest.mark.parametrize("table", ["patients", "main.patients", "seen", '"odd.one"."my table"'])
def test_a_table_or_view_of_a_database(folder: Path, table: str) -> None:
    done = run(
        folder, "check", table, "--database", "hospital.duckdb", "--qi", "zip", "--sensitive", "disease", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert {r["model"]: r["value"] for r in json.loads(done.stdout)["report"]}["k_anonymity"] == 4


def test_the_database_is_left_as_it_was(folder: Path) -> None:
    before = (folder / "hospital.duckdb").read_bytes()
    run(folder, "check", "patients", "-d", "hospital.duckdb", "--qi", "zip", "--require", "k>=5")
    assert (folder / "hospital.duckdb").read_bytes() == before
    assert {p.name for p in folder.iterdir()} == {"hospital.duckdb", "patients.csv", "patients.parquet"}


@pytest.mark.some(8)
@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("k>=4", 0),
        ("k>=5", 1),
        ("distinct_l>=3", 0),
        ("entropy_l>=2.9", 1),
        ("posterior(l=3)<=0.67", 0),
        ("recursive_c(l=2)<1", 1),
        ("recursive_c(l=2)<1.01", 0),
        ("t<=0.25", 0),
        ("t_ordered<=0.01", 1),
        ("alpha<=0.5", 0),
        ("epsilon_class2(sigma=10)<=4", 0),
        ("epsilon_class2(sigma=100,b=2)<=4", 1),
        ("epsilon_class3(shape=uniform)<=2", 0),
        ("epsilon_class3(shape=table, b=1)<=5", 0),
        ("t_hierarchical(hierarchy=diseases)<=0.3", 0),
        ("disclosure(k=1)<0.9", 0),
        ("disclosure(k=3)<0.9", 1),
        ("uniques<=0", 0),
        ("prosecutor<=0.2", 1),
        ("marketer<=0.2", 0),
        ("beta<=0.5", 0),
        ("enhanced_beta<=0.5", 0),
        ("delta<0.7", 0),
    ],
)
def test_requirements(folder: Path, requirement: str, code: int) -> None:
    done = run(
        folder,
        "check",
        "patients",
        "-d",
        "hospital.duckdb",
        "--qi",
        "zip",
        "--sensitive",
        "disease",
        "--require",
        requirement,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("FAILS" if code else "holds") in done.stdout


def test_json_carries_the_version_and_no_values(folder: Path) -> None:
    done = run(
        folder,
        "check",
        "marked",
        "-d",
        "hospital.duckdb",
        "--qi",
        "zip",
        "--sensitive",
        "disease",
        "--require",
        "distinct_l>=2",
        "--json",
    )
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["version"] == sqlpriv.__version__
    assert found["passed"] is False
    assert found["requirements"][0]["value"] == 1
    assert {r["value"] for r in found["report"] if r["model"] == "epsilon_class4"} == {"inf"}
    assert found["worst_classes"] == [{"qis": ["zip"], "size": 3}]
    assert MARKER not in done.stdout + done.stderr


def test_values_are_shown_only_when_asked_for(folder: Path) -> None:
    arguments = ("check", "marked", "-d", "hospital.duckdb", "--qi", "zip", "--sensitive", "disease")
    assert MARKER not in run(folder, *arguments).stdout
    assert f"{{'zip': '{MARKER}'}}  disease: {{'{MARKER}': 3}}" in run(folder, *arguments, "--show-values").stdout
    refused = run(folder, *arguments, "--show-values", "--json")
    assert refused.returncode == 2
    assert MARKER not in refused.stdout + refused.stderr


def test_persons_are_counted_not_rows(folder: Path) -> None:
    arguments = (
        "check",
        "visits",
        "-d",
        "hospital.duckdb",
        "--qi",
        "zip",
        "--sensitive",
        "disease",
        "--require",
        "k>=2",
        "--require",
        "epsilon_class2(sigma=10)<=100",
    )
    assert "holds  k>=2" in run(folder, *arguments).stdout
    assert "FAILS  k>=2  (is 1; zip)" in run(folder, *arguments, "--person", "patient").stdout


def test_several_combinations_and_sensitive_columns(folder: Path) -> None:
    done = run(
        folder,
        "check",
        "patients.csv",
        "--qi",
        "zip",
        "--or-qi",
        "age",
        "--sensitive",
        "disease",
        "--require",
        "k>=5",
        "--json",
    )
    verdicts = [(r["qis"], r["value"], r["passed"]) for r in json.loads(done.stdout)["requirements"]]
    assert verdicts == [(["zip"], 4, False), (["age"], 4, False)]
    both = run(folder, "check", "patients.csv", "--qi", "zip", "--sensitive", "disease,age", "--json")
    assert {r["sensitive"] for r in json.loads(both.stdout)["report"]} == {"disease", "age"}


def test_columns_named_one_by_one_are_one_combination(folder: Path) -> None:
    """Or a check of zip and age together would silently become two weaker ones."""
    together = json.loads(run(folder, "check", "patients.csv", "--qi", "zip,age", "--json").stdout)
    apart = json.loads(run(folder, "check", "patients.csv", "--qi", "zip", "--qi", "age", "--json").stdout)
    assert apart == together
    assert apart["report"][0]["qis"] == ["zip", "age"]


def test_lists_given_again_are_refused_with_both_readings(folder: Path) -> None:
    done = run(folder, "check", "patients.csv", "--qi", "zip,age", "--qi", "zip,disease")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--qi zip,age,disease" in done.stderr
    assert "--qi zip,age --or-qi zip,disease" in done.stderr


def test_a_csv_file_that_is_not_what_duckdb_expects(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("zip;name\n1;J\xf6rg\n1;b,c\n".encode("latin-1"))
    done = run(tmp_path, "check", "latin.csv", "--qi", "zip")
    assert done.returncode == 2
    assert "--encoding latin-1" in done.stderr
    found = run(tmp_path, "check", "latin.csv", "--qi", "zip,name", "--encoding", "latin-1", "--show-values")
    assert found.returncode == 0, found.stderr
    assert "J\xf6rg" in found.stdout
    (tmp_path / "bare.csv").write_text("1|2\n1|2\n")
    arguments = ("check", "bare.csv", "--qi", "column0", "--delimiter", "|", "--no-header", "--json")
    assert json.loads(run(tmp_path, *arguments).stdout)["rows"] == 2


def test_a_database_in_the_place_of_a_file_is_told_how_to_be_named(folder: Path) -> None:
    done = run(folder, "check", "hospital.duckdb", "--qi", "zip")
    assert done.returncode == 2
    assert "name one of its tables, and the file with --database hospital.duckdb" in done.stderr


def test_without_a_sensitive_column_there_is_k_and_risk(folder: Path) -> None:
    done = run(folder, "check", "patients.csv", "--qi", "zip,age", "--require", "k>=4", "--json")
    assert done.returncode == 0, done.stderr
    assert [r["model"] for r in json.loads(done.stdout)["report"]] == ["k_anonymity", "risk", "risk", "risk"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "no.csv", "--qi", "zip"], "there is no file 'no.csv'"),
        (["check", "patients.csv", "--qi", "zipp,agge"], "has no column 'zipp', 'agge'; it has zip, age, disease"),
        (["check", "patients.csv", "--qi", "zip", "--sensitive", "ill"], "has no column 'ill'"),
        (["check", "patients.csv", "--qi", "zip", "--person", "who"], "has no column 'who'"),
        ([*DISEASE, "--sensitive", "zip"], "the sensitive column is among the quasi-identifiers"),
        (["check", "patients.csv", "--qi", ","], "is no list of column names"),
        (["check", "nobody", "-d", "hospital.duckdb", "--qi", "zip"], "the table has no rows"),
        (
            ["check", "nobody", "-d", "hospital.duckdb", "--qi", "zip", "--sensitive", "disease"],
            "the table has no rows",
        ),
        (["check", "nothere", "-d", "hospital.duckdb", "--qi", "zip"], "has no table 'nothere'; it has "),
        (["check", "patients", "-d", "no.duckdb", "--qi", "zip"], "there is no database file 'no.duckdb'"),
        (["check", "patients", "-d", "patients.csv", "--qi", "zip"], "cannot open patients.csv"),
        (["check", "patients.csv", "--qi", "zip", "--require", "k<=5"], "does not protect anybody: write k>=5"),
        (["check", "patients.csv", "--qi", "zip", "--require", "kk>=5"], "unknown measure 'kk'"),
        (["check", "patients.csv", "--qi", "zip", "--require", "k is 5"], "cannot read the requirement"),
        (["check", "patients.csv", "--qi", "zip", "--require", "t<=0.2"], "needs a sensitive column"),
        ([*DISEASE, "--require", "posterior(l=1)<=1"], "l must be a whole number of at least 2"),
        ([*DISEASE, "--require", "epsilon_class1<=2"], "needs prior"),
        ([*DISEASE, "--require", "epsilon_class1(prior=p)<=2"], "there is no table 'p'"),
        (["docs", "k_anonimity"], "there is no macro 'k_anonimity'"),
        (["sql", "SELECT 1"], "no call of a priv macro"),
        (["sql"], "sql takes a query that calls macros, or --all"),
        (["sql", "SELECT 1", "--all"], "sql takes a query that calls macros, or --all"),
        (
            ["sql", "FROM priv.ck_safety('t', ['a'], 's', 1)", "--dialect", "spark"],
            "priv.ck_safety cannot be written for spark",
        ),
        (["install", "patients.csv"], "cannot open patients.csv: it is not a DuckDB database"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder: Path, arguments: list[str], message: str) -> None:
    before = sorted(p.name for p in folder.iterdir())
    done = run(folder, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("sqlpriv: ")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
    assert sorted(p.name for p in folder.iterdir()) == before


def test_a_file_that_another_process_holds_is_named_with_its_holder(folder: Path) -> None:
    script = "import duckdb, sys; c = duckdb.connect('hospital.duckdb'); print('open', flush=True); sys.stdin.read()"
    holder = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        done = run(folder, "check", "patients", "-d", "hospital.duckdb", "--qi", "zip")
        assert done.returncode == 2
        assert "cannot open hospital.duckdb: another process holds it" in done.stderr
        assert str(holder.pid) in done.stderr
    finally:
        holder.communicate()


@pytest.mark.slow
def test_docs_sql_install_version_and_help(folder: Path, tmp_path: Path) -> None:
    assert "priv.t_closeness(tbl, qis, sensitive [, person]) -> t" in run(folder, "docs", "t_closeness").stdout
    assert "priv.sdgs_delta(k, beta, epsilon)" in run(folder, "docs").stdout
    assert "GROUP BY" in run(folder, "sql", "FROM priv.k_anonymity('t', ['a'])", "--dialect", "trino").stdout
    hierarchical = "FROM priv.t_closeness_hierarchical('patients', ['zip'], 'disease', 'diseases')"
    assert '"kind"' in run(folder, "sql", hierarchical, "-d", "hospital.duckdb").stdout
    assert run(folder, "sql", "--all").stdout == script()
    assert "is in new.duckdb" in run(tmp_path, "install", "new.duckdb").stdout
    assert run(folder, "--version").stdout.strip() == sqlpriv.__version__
    for command in ("check", "sql", "docs", "install", "demo"):
        assert "Usage" in run(folder, command, "--help").stdout


@pytest.mark.slow
def test_the_demo_ends_with_what_to_do_next(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", "--folder", "d")
    assert done.returncode == 0, done.stderr
    assert "FAILS  k>=5" in done.stdout
    assert "holds what it says" in done.stdout
    assert "truth" in done.stdout
    assert "What to type next" in done.stdout
    assert (tmp_path / "d" / "hospital-noise.duckdb").is_file()


def test_colours_and_progress_only_on_a_terminal(folder: Path) -> None:
    """Under a pseudo terminal the same command is coloured."""
    import pty  # not on Windows

    arguments = [
        sys.executable,
        "-m",
        "sqlpriv.apps.cli.main",
        "check",
        "patients.csv",
        "--qi",
        "zip",
        "--require",
        "k>=5",
    ]
    ours, theirs = pty.openpty()
    environment = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm"}
    process = subprocess.Popen(arguments, cwd=folder, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    process.wait()
    os.close(ours)
    assert b"\x1b[" in seen
    assert process.returncode == 1


def test_completion_knows_the_macros(folder: Path) -> None:
    environment = {
        **os.environ,
        "_SQLPRIV_COMPLETE": "complete_bash",
        "COMP_WORDS": "sqlpriv docs t_clo",
        "COMP_CWORD": "2",
    }
    code = "import sys; sys.argv = ['sqlpriv']; from sqlpriv.apps.cli.main import app; app(prog_name='sqlpriv')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert "t_closeness_ordered" in done.stdout


def test_requirement_edges() -> None:
    at_least = requirements.parse(" k >= 5 ")
    assert at_least.holds(5)
    assert not at_least.holds(4)
    entropy = requirements.parse("entropy_l>=3")
    assert entropy.holds(2.9999999999999996)
    assert requirements.parse("delta<0.7").holds(0.69)
    assert not requirements.parse("delta<0.7").holds(0.7)
    assert not requirements.parse("t<=0.2").holds(float("inf"))
    for wrong in ("c<=3", "delta<=1", "k=5", "k>=five", "posterior(m=3)<=1", "posterior(3)<=1", "t_hierarchical<=1"):
        with pytest.raises(InputError):
            requirements.parse(wrong)


def test_views_are_stacked_in_plain_sql(folder: Path) -> None:
    steps = [
        ("hidden", "FROM priv.hide('ages', 'age', 'id <> 3')"),
        ("hidden_twice", "FROM priv.hide('hidden', 'age', 'age < 50')"),
        ("general", "FROM priv.generalize('hidden_twice', MAP {'age': 1}, MAP {'age': 'age_ranges'})"),
    ]
    for name, sql in steps:
        done = run(folder, "view", "add", "hospital.duckdb", name, sql)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{name} is a view in hospital.duckdb\n"
    with duckdb.connect(str(folder / "hospital.duckdb"), read_only=True) as con:
        assert con.execute("FROM general ORDER BY id").fetchall() == [(1, "30-39"), (2, "30-39"), (3, None), (4, None)]
        assert "priv." not in str(con.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall())
    again = run(folder, "view", "add", "hospital.duckdb", *steps[0])
    assert again.returncode == 2
    assert "say that it may be replaced" in again.stderr
    assert run(folder, "view", "add", "hospital.duckdb", *steps[0], "--replace").returncode == 0


def test_a_view_needs_a_database_that_is_there(folder: Path) -> None:
    done = run(folder, "view", "add", "none.duckdb", "v", "SELECT 1")
    assert done.returncode == 2
    assert "there is no database file" in done.stderr
    assert not (folder / "none.duckdb").exists()
    assert "cannot open patients.csv" in run(folder, "view", "add", "patients.csv", "v", "SELECT 1").stderr
