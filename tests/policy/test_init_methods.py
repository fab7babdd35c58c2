"""`sqlpriv init --method`: a policy of any method that runs, whose domains are public or say where they come from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import run

from sqlpriv.demo import hospital
from sqlpriv.errors import InputError, PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.policy import draft
from sqlpriv.policy.draft import Draft
from sqlpriv.policy.propose_domains import FILL_IN, READ_OFF
from sqlpriv.publishing import plan, publish, read_policy

pytestmark = [pytest.mark.one_version, pytest.mark.usefixtures("few_macros")]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NOISY = ("alpha_beta", "frapp")
PLAIN = (
    "SELECT 17 + i % 70 AS age, i % 3 = 0 AS smoker, DATE '2024-01-05' + CAST(i % 300 AS INTEGER) AS seen, "
    "TIMESTAMP '2023-02-01 10:00:00' + i % 700 * INTERVAL 1 DAY AS came, i % 9 + 1 AS treatment_group "
    "FROM range(2000) AS r(i)"
)


def drafted(folder: Path, select: str, method: str | None = None) -> Draft:
    """What is proposed for the table of a database."""
    file = folder / "d.duckdb"
    if not file.exists():
        with duckdb.connect(str(file)) as con:
            con.execute(f"CREATE TABLE t AS {select}").fetchall()
    return draft.draft("t", file, folder, METHODS, method)


def column(folder: Path, expression: str, name: str = "c", method: str = "alpha_beta") -> tuple[dict[str, Any], str]:
    """What is proposed for a column by this expression of i, beside one that is published anyway; and why."""
    proposed = drafted(folder, f'SELECT {expression} AS "{name}", i % 7 AS z FROM range(1000) AS r(i)', method)
    return proposed.columns[0].given, proposed.columns[0].reason


def written(folder: Path, proposed: Draft) -> Path:
    draft.write(proposed, folder / "policy.toml")
    return folder / "policy.toml"


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    hospital.write(tmp_path, rows=12000)
    return tmp_path


@pytest.mark.parametrize(
    ("method", "published"),
    [("alpha_beta", {"smoker", "age", "seen", "treatment_group"}), ("frapp", {"smoker", "treatment_group"})],
)
def test_a_table_without_texts_gets_a_policy_that_runs_at_once(
    tmp_path: Path, method: str, published: set[str]
) -> None:
    path = written(tmp_path, drafted(tmp_path, PLAIN, method))
    policy = read_policy(path)
    assert policy.sensitive == ("treatment_group",)
    assert {c.name for c in policy.columns if c.role != "drop"} == published
    assert plan(path).passed
    assert publish(path).written.made.rows > 0


@pytest.mark.parametrize("method", NOISY)
def test_the_hospital_runs_once_its_lists_are_filled_in(demo: Path, method: str) -> None:
    data = str(demo / "hospital.parquet")
    path = written(demo, draft.draft(data, None, demo, METHODS, method))
    text = path.read_text(encoding="utf-8")
    with pytest.raises(PolicyError) as error:
        read_policy(path)
    line = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("sex = "))
    assert str(error.value).startswith(f"policy.toml, line {line}: 'sex' needs a domain: a list")
    filled = text.replace("domain = [], null", 'domain = ["German"], outside = "other", null')
    path.write_text(filled.replace("domain = []", 'domain = ["F", "M", "X"]'), encoding="utf-8")
    facts = plan(path)
    assert facts.passed
    assert read_policy(path).sensitive == ("diagnosis",)


def test_every_option_says_what_it_means(tmp_path: Path) -> None:
    for name, method in METHODS.items():
        proposed = drafted(tmp_path, PLAIN, name)
        assert proposed.release["method"] == name
        meant = {key.name: key.help for key in method.options}
        options = {key: comment for key, _, comment in proposed.options if key in meant}
        assert options == {key: meant[key] for key in options}
        flat = " ".join(proposed.to_toml().replace("\n# ", " ").split())
        assert all(f"# {comment}" in flat or comment in flat for comment in options.values())
    assert set(drafted(tmp_path, PLAIN, "alpha_beta").release) == {
        "method", "gamma", "attacker", "times", "duplicates", "output",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "given"),
    [
        ("17 + i % 70", {"domain": "range:0..99", "hierarchy": "ranges:10", "level": 1}),
        ("1 + i % 5", {"domain": "range:1..5"}),
        ("-3 + i % 20", {"domain": "range:-5..20"}),
        ("1987 + i % 38", {"domain": "range:1980..2029", "hierarchy": "ranges:5", "level": 1}),
        ("CAST(1 + i % 5 AS DOUBLE)", {"domain": "range:1..5"}),
        ("1000 + (i * 7919) % 90000", {"domain": "range:0..99999", "hierarchy": "ranges:10000", "level": 1}),
        ("DATE '2024-03-01' + CAST(i % 99 AS INTEGER)",
         {"domain": "range:2024-01-01..2024-12-31", "hierarchy": "dates:month", "level": 1}),
        ("TIMESTAMP '2019-03-01 12:00:00' + i * INTERVAL 2 DAY",
         {"domain": "range:2019-01-01..2024-12-31", "hierarchy": "dates:quarter", "level": 1}),
        ("DATE '1930-03-01' + CAST(i * 30 AS INTEGER)",
         {"domain": "range:1930-01-01..2012-12-31", "hierarchy": "dates:decade", "level": 1}),
        ("nullif(i % 5, 3)", {"domain": "range:0..4", "null": True}),
    ],
)  # fmt: skip
def test_what_is_read_off_the_table_is_rounded_outwards_and_says_so(
    tmp_path: Path, expression: str, given: dict[str, Any]
) -> None:
    found, why = column(tmp_path, expression)
    assert {key: value for key, value in found.items() if key != "role"} == given
    assert why.endswith(READ_OFF)


def test_the_domain_of_a_flag_is_its_type(tmp_path: Path) -> None:
    found, why = column(tmp_path, "i % 3 = 0")
    assert found["domain"] == [True, False]
    assert READ_OFF not in why


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("i % 90 + 0.5", "a domain has whole numbers: round the column in a view"),
        ("i * 7919 % 500 * 10000", "too many values for a domain"),
        ("TIMESTAMPTZ '2024-01-01 00:00:00+00' + i * INTERVAL 1 DAY", "its days depend on the time zone"),
        ("'v' || i % 400", 'too many for a list; by a public hierarchy it could be published: domain = "level:FILE'),
        ("5", "there is nothing to count"),
    ],
)
def test_what_has_no_small_domain_is_left_out_with_the_reason(tmp_path: Path, expression: str, why: str) -> None:
    found, reason = column(tmp_path, expression)
    assert found == {"role": "drop"}
    assert why in reason


def test_texts_are_left_to_the_owner_and_never_read_off(tmp_path: Path) -> None:
    proposed = drafted(tmp_path, "SELECT 'SECRET' || i % 9 AS word, i % 7 AS z FROM range(1000) AS r(i)", "alpha_beta")
    assert proposed.columns[0].given == {"role": "published", "domain": []}
    assert proposed.columns[0].reason == f"9 values; {FILL_IN}"
    assert proposed.notes[0] == "Fill in the domain of word: a list of values that may be public."
    assert "SECRET" not in proposed.to_toml() + proposed.facts().to_json()


def test_a_sensitive_column_of_two_values_cannot_be_covered(tmp_path: Path) -> None:
    found, why = column(tmp_path, "i % 3 = 0", "hiv")
    assert found == {"role": "drop"}
    assert "a linking attacker cannot be covered at gamma = 0.3 with fewer than 6 values; take another method" in why


def test_a_short_list_of_a_sensitive_column_cannot_be_covered(tmp_path: Path) -> None:
    found, why = column(tmp_path, "CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END", "diagnosis")
    assert found == {"role": "sensitive", "domain": []}
    assert why.endswith("a linking attacker cannot be covered at gamma = 0.3 with fewer than 6 values")


@pytest.mark.parametrize(("values", "role"), [(5, "drop"), (6, "sensitive")])
def test_as_many_values_as_a_plan_needs(tmp_path: Path, values: int, role: str) -> None:
    """The bound is the one by which `plan` judges: a value more, and the attacker is covered."""
    assert column(tmp_path, f"i % {values}", "income")[0]["role"] == role
    path = written(tmp_path, drafted(tmp_path, "", "alpha_beta"))
    text = path.read_text(encoding="utf-8").replace(
        '{ role = "drop" }', '{ role = "sensitive", domain = "range:0..4" }'
    )
    path.write_text(text, encoding="utf-8")
    if role == "sensitive":
        assert plan(path).passed
    else:
        with pytest.raises(PolicyError, match="a linking attacker believes in some value with"):
            plan(path)


def test_where_nothing_looks_sensitive_all_that_can_be_is_protected(tmp_path: Path) -> None:
    proposed = drafted(
        tmp_path, "SELECT i % 2 = 0 AS a, i % 20 AS b, i % 8 AS c FROM range(2000) AS r(i)", "alpha_beta"
    )
    assert [c.role for c in proposed.columns] == ["quasi-identifier", "published", "published"]
    assert "No column looks sensitive; if one is" in proposed.notes[0]
    assert plan(written(tmp_path, proposed)).passed


def test_columns_that_make_too_many_tuples_are_left_out(tmp_path: Path) -> None:
    columns = ", ".join(f"(i + {n}) % 20 AS c{n}" for n in range(6))
    proposed = drafted(tmp_path, f"SELECT {columns}, i % 10 AS salary FROM range(5000) AS r(i)", "alpha_beta")
    assert [c.role for c in proposed.columns] == ["quasi-identifier"] * 2 + ["drop"] * 4 + ["sensitive"]
    assert "left out: with its 21 values there would be 92,610 tuples for 5,000 rows" in proposed.columns[2].reason


def test_a_person_has_so_many_rows_at_most(tmp_path: Path) -> None:
    select = "SELECT i // 3 AS patient_id, i % 60 AS income, i % 2 = 0 AS flag FROM range(999) AS r(i)"
    proposed = drafted(tmp_path, select, "alpha_beta")
    assert proposed.columns[0].given == {"role": "person"}
    assert proposed.release["rows_each"] == 5
    assert "read off the table and rounded up: replace it by a public one" in " ".join(proposed.to_toml().split("\n# "))
    assert plan(written(tmp_path, proposed)).passed
    by_rows = drafted(tmp_path, select, "frapp")
    assert by_rows.columns[0].given == {"role": "identifier"}
    assert by_rows.columns[0].reason.endswith("a person's rows are hidden one by one, and not together")


LISTED = "SELECT 'v' || i % 9 AS kind, i % 7 AS z FROM range(1000) AS r(i)"


@pytest.mark.parametrize(
    ("extra", "is_found"),
    [
        ("CREATE TABLE kinds AS SELECT 'v' || i AS Kind FROM range(12) AS r(i)", True),
        ("CREATE TABLE kinds AS SELECT 'v' || i AS kind FROM range(8) AS r(i)", False),
        ("CREATE TABLE kinds AS SELECT 'v' || i % 10 AS kind FROM range(20) AS r(i)", False),
        ("CREATE VIEW kinds AS SELECT DISTINCT kind FROM t", False),
        ("CREATE SCHEMA s; CREATE TABLE s.kinds AS SELECT 'v' || i AS kind FROM range(12) AS r(i)", False),
        ("CREATE TABLE kinds AS SELECT 'v' || i AS kind FROM range(5000) AS r(i)", False),
    ],
)
def test_a_list_beside_the_table_is_taken_if_it_has_each_value_once(tmp_path: Path, extra: str, is_found: bool) -> None:
    drafted(tmp_path, LISTED)
    with duckdb.connect(str(tmp_path / "d.duckdb")) as con:
        con.execute(extra).fetchall()
    proposed = drafted(tmp_path, LISTED, "alpha_beta")
    assert proposed.columns[0].given["domain"] == ("table:kinds.Kind" if is_found else [])
    if is_found:
        assert "all its values are in kinds beside the data: make sure that it is public" in proposed.columns[0].reason
        assert plan(written(tmp_path, proposed)).passed


def test_a_list_is_named_from_the_folder_of_the_policy(demo: Path) -> None:
    (demo / "policies").mkdir()
    proposed = draft.draft(str(demo / "hospital.parquet"), None, demo / "policies", METHODS, "alpha_beta")
    given = {c.name: c.given for c in proposed.columns}
    assert given["diagnosis"]["domain"] == "table:../hospital_diagnosis.parquet.diagnosis"
    assert str(demo) not in proposed.to_toml()


def test_a_csv_file_of_codes_is_a_list(tmp_path: Path) -> None:
    rows = "".join(f"{n % 9:03},{n % 7}\n" for n in range(200))
    (tmp_path / "t.csv").write_text(f"zip,z\n{rows}", encoding="utf-8")
    (tmp_path / "zips.csv").write_text("zip\n" + "".join(f"{n:03}\n" for n in range(20)), encoding="utf-8")
    (tmp_path / "broken.parquet").write_text("zip\n", encoding="utf-8")
    proposed = draft.draft(str(tmp_path / "t.csv"), None, tmp_path, METHODS, "alpha_beta")
    assert proposed.columns[0].given["domain"] == "table:zips.csv.zip"
    assert plan(written(tmp_path, proposed)).passed


@pytest.mark.parametrize(
    ("columns", "method", "why"),
    [
        ("i % 8 AS income, i % 20 AS age", "alpha_beta", "few columns with small domains, 168 tuples for 2,000 rows"),
        (
            "'v' || i % 9 AS kind, i AS n",
            "generalize",
            "noise needs a public list of the values of 'kind', which is not",
        ),
        ("i % 2 = 0 AS hiv, i % 20 AS age", "generalize", "with noise 'hiv' would be left out"),
        ("i % 2 = 0 AS a, i % 3 AS b", "generalize", "no column has enough values to be hidden by noise"),
        (
            ", ".join(f"(i + {n}) % 20 AS c{n}" for n in range(5)),
            "generalize",
            "with noise 'c3', 'c4' would be left out",
        ),
    ],
)
def test_without_a_method_one_is_proposed_and_says_why(tmp_path: Path, columns: str, method: str, why: str) -> None:
    proposed = drafted(tmp_path, f"SELECT {columns} FROM range(2000) AS r(i)")
    assert proposed.release["method"] == method
    assert str(proposed.why).startswith(why)
    assert read_policy(written(tmp_path, proposed)).method == method


def test_what_was_asked_for_needs_no_reason(tmp_path: Path) -> None:
    for method in METHODS:
        assert drafted(tmp_path, PLAIN, method).why is None


def test_an_unknown_method_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no method 'noise'; there are generalize, alpha_beta, frapp"):
        drafted(tmp_path, PLAIN, "noise")


def test_the_command_says_what_is_next(demo: Path) -> None:
    done = run(demo, "init", "hospital.parquet", "--method", "alpha_beta")
    assert done.returncode == 0, done.stderr
    assert "Fill in what is empty, review the roles and domains, then: sqlpriv plan policy.toml" in done.stdout
    policy = tomllib.loads((demo / "policy.toml").read_text(encoding="utf-8"))
    assert policy["release"]["method"] == "alpha_beta"
    done = run(demo, "init", "hospital.parquet", "--output", "other.toml")
    assert "Proposed is generalize: noise needs a public list of the values of 'sex'" in " ".join(done.stdout.split())
    for name in METHODS:
        assert name in run(demo, "init", "--help").stdout


@pytest.mark.parametrize("method", list(METHODS))
def test_the_ledger_takes_what_init_writes(tmp_path: Path, method: str) -> None:
    written(tmp_path, drafted(tmp_path, PLAIN, method))
    done = run(tmp_path, "ledger", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "nothing has been released" in done.stdout


def test_a_section_of_another_method_says_whose_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, drafted(tmp_path, PLAIN, "alpha_beta"))
    path.write_text(path.read_text(encoding="utf-8") + "[require]\nk = 5\n", encoding="utf-8")
    with pytest.raises(
        PolicyError, match="section 'require' is for generalize; here are table, columns, public, release"
    ):
        read_policy(path)
    path = written(tmp_path, drafted(tmp_path, PLAIN, "generalize"))
    path.write_text(path.read_text(encoding="utf-8") + "[public]\nregions = 'r.csv'\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="section 'public' is for alpha_beta, frapp; here are"):
        read_policy(path)
