"""`sqlpriv init --method`: a policy of any method that runs, whose domains are public or say where they come from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.commands import run
from support.drafts import drafted, written

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.demo import hospital
from sqlpriv.methods import METHODS
from sqlpriv.policy.propose_policy import propose_policy
from sqlpriv.publishing import plan, publish, read_policy

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NOISY = ("noisy_counts", "alpha_beta", "frapp")
PLAIN = (
    "SELECT 17 + i % 70 AS age, i % 3 = 0 AS smoker, DATE '2024-01-05' + CAST(i % 300 AS INTEGER) AS seen, "
    "TIMESTAMP '2023-02-01 10:00:00' + i % 700 * INTERVAL 1 DAY AS came, i % 9 + 1 AS treatment_group "
    "FROM range(2000) AS r(i)"
)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    hospital.write(tmp_path, rows=12000)
    return tmp_path


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("method", "published"),
    [("noisy_counts", {"smoker", "age", "seen", "treatment_group"}), ("frapp", {"smoker", "treatment_group"})],
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


@pytest.mark.some(1)
@pytest.mark.parametrize("method", NOISY)
def test_the_hospital_runs_once_its_lists_are_named(demo: Path, method: str) -> None:
    data = str(demo / "hospital.parquet")
    path = written(demo, propose_policy(data, None, demo, METHODS, method))
    text = path.read_text(encoding="utf-8")
    with pytest.raises(PolicyError) as error:
        read_policy(path)
    line = next(n for n, line in enumerate(text.splitlines(), 1) if line.startswith("sex = "))
    assert str(error.value).startswith(f"policy.toml, line {line}: decide what 'sex'")
    both = '{ role = "quasi-identifier", domain = ["F", "M", "X"] }'
    path.write_text(text.replace('sex = { role = "?" }', f"sex = {both}").replace('"?"', '"drop"'), encoding="utf-8")
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
    noisy = {"method", "gamma", "attacker", "times", "output"}
    assert set(drafted(tmp_path, PLAIN, "noisy_counts").release) == noisy
    assert set(drafted(tmp_path, PLAIN, "alpha_beta").release) == {*noisy, "duplicates"}


def test_where_nothing_looks_sensitive_all_that_can_be_is_protected(tmp_path: Path) -> None:
    proposed = drafted(
        tmp_path, "SELECT i % 2 = 0 AS a, i % 20 AS b, i % 8 AS c FROM range(2000) AS r(i)", "noisy_counts"
    )
    assert [c.role for c in proposed.columns] == ["quasi-identifier", "published", "published"]
    assert "No column looks sensitive; if one is" in proposed.notes[0]
    assert plan(written(tmp_path, proposed)).passed


def test_where_nothing_can_be_protected_the_owner_is_told(tmp_path: Path) -> None:
    proposed = drafted(tmp_path, "SELECT i % 2 = 0 AS a, i % 3 AS b FROM range(2000) AS r(i)", "noisy_counts")
    assert proposed.notes == ("No column has enough values to be hidden by noise from one who knows all else.",)


def test_the_one_column_that_can_be_protected_is_not_left_out(tmp_path: Path) -> None:
    select = "SELECT i % 2 = 0 AS a, i % 3 AS b, i % 5 AS c, i % 4 AS d, i % 9 AS e FROM range(400) AS r(i)"
    proposed = drafted(tmp_path, select, "frapp")
    assert {c.name: c.role for c in proposed.columns if c.role != "drop"} == {"a": "quasi-identifier", "e": "published"}
    assert plan(written(tmp_path, proposed)).content["possible"]


def test_columns_that_make_too_many_tuples_are_left_out(tmp_path: Path) -> None:
    columns = ", ".join(f"(i + {n}) % 20 AS c{n}" for n in range(6))
    proposed = drafted(tmp_path, f"SELECT {columns}, i % 10 AS salary FROM range(5000) AS r(i)", "noisy_counts")
    assert [c.role for c in proposed.columns] == ["quasi-identifier"] * 2 + ["drop"] * 4 + ["sensitive"]
    assert "left out: with its 21 values there would be 92,610 tuples for 5,000 rows" in proposed.columns[2].reason


def test_a_person_has_so_many_rows_at_most(tmp_path: Path) -> None:
    select = "SELECT i // 3 AS patient_id, i % 60 AS income, i % 2 = 0 AS flag FROM range(999) AS r(i)"
    proposed = drafted(tmp_path, select, "noisy_counts")
    assert proposed.columns[0].given == {"role": "person"}
    assert proposed.release["rows_each"] == 5
    assert "read off the table and rounded up: replace it by a public one" in " ".join(proposed.to_toml().split("\n# "))
    assert plan(written(tmp_path, proposed)).passed
    by_rows = drafted(tmp_path, select, "frapp")
    assert by_rows.columns[0].given == {"role": "identifier"}
    assert by_rows.columns[0].reason.endswith("a person's rows are hidden one by one, and not together")


@pytest.mark.parametrize(
    ("columns", "method", "why"),
    [
        ("i % 8 AS income, i % 20 AS age", "noisy_counts", "few columns with small domains, 168 tuples for 2,000 rows"),
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
    with pytest.raises(InputError, match=f"there is no method 'noise'; there are {', '.join(METHODS)}"):
        drafted(tmp_path, PLAIN, "noise")


def test_the_command_says_what_is_next(demo: Path) -> None:
    done = run(demo, "init", "hospital.parquet", "--method", "noisy_counts")
    assert done.returncode == 0, done.stderr
    assert "Decide on what is asked, review the roles and domains, then: sqlpriv plan policy.toml" in done.stdout
    policy = tomllib.loads((demo / "policy.toml").read_text(encoding="utf-8"))
    assert policy["release"]["method"] == "noisy_counts"
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
    path = written(tmp_path, drafted(tmp_path, PLAIN, "noisy_counts"))
    path.write_text(path.read_text(encoding="utf-8") + "[require]\nk = 5\n", encoding="utf-8")
    with pytest.raises(
        PolicyError,
        match=r"section 'require' is for generalize, .*; here are table, columns, public, views, ledger, release",
    ):
        read_policy(path)
    path = written(tmp_path, drafted(tmp_path, PLAIN, "generalize"))
    path.write_text(path.read_text(encoding="utf-8") + "[public]\nregions = 'r.csv'\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="section 'public' is for noisy_counts, alpha_beta, frapp; here are"):
        read_policy(path)


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["anatomy", "slicing"])
def test_a_policy_that_keeps_columns_apart_has_no_hierarchies(tmp_path: Path, method: str) -> None:
    path = written(tmp_path, drafted(tmp_path, PLAIN, method))
    assert "hierarchy" not in path.read_text(encoding="utf-8")
    assert [r.text for r in read_policy(path).requirements] == ["distinct_l(treatment_group)>=3"]
    assert plan(path).passed
