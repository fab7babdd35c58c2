"""`sqlpriv init`: the proposal errs on the safe side, and the file it writes holds no value of anybody."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import Done, run

from sqlpriv.demo import hospital
from sqlpriv.policy.propose_roles import Proposal, propose
from sqlpriv.table.profile import profile

pytestmark = pytest.mark.one_version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ODD_NAMES = ["a.b", "with space", 'say "hi"', "it's", "größe", "日本", "back\\slash", "line\nbreak", "[x]", "#", "\x7f"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital as a file, and a database with odder tables."""
    target = tmp_path_factory.mktemp("init")
    hospital.write(target, rows=2000)
    with duckdb.connect(str(target / "data.duckdb")) as con:
        hospital.create(con, rows=2000)
        names = ", ".join(f"i % 7 AS {_quoted(name)}" for name in ODD_NAMES)
        con.execute(f'CREATE TABLE "odd one" AS SELECT {names} FROM range(100) AS r(i)').fetchall()
        con.execute("CREATE TABLE nobody AS FROM hospital LIMIT 0").fetchall()
    return target


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _init(folder: Path, tmp_path: Path, *arguments: str) -> tuple[Done, dict[str, Any]]:
    file = tmp_path / "policy.toml"
    done = run(folder, "init", *arguments, "--output", str(file))
    assert done.returncode == 0, done.stderr
    return done, tomllib.loads(file.read_text(encoding="utf-8"))


def _proposed(select: str) -> dict[str, Proposal]:
    with duckdb.connect() as con:
        return {p.name: p for p in propose(profile(con, f"({select})"))}


def _roles(select: str) -> dict[str, str]:
    return {name: p.role for name, p in _proposed(select).items()}


def test_the_hospital_gets_a_sensible_policy(folder: Path, tmp_path: Path) -> None:
    done, policy = _init(folder, tmp_path, "hospital.parquet")
    assert policy["columns"] == {
        "patient_id": {"role": "person"},
        "zip": {"role": "quasi-identifier", "hierarchy": "mask:5"},
        "birth_date": {"role": "quasi-identifier", "hierarchy": "dates:month,quarter,year,decade"},
        "sex": {"role": "quasi-identifier", "hierarchy": "suppression"},
        "nationality": {"role": "quasi-identifier", "hierarchy": "suppression"},
        "admission_date": {"role": "quasi-identifier", "hierarchy": "dates:month,quarter"},
        "diagnosis": {"role": "sensitive"},
        "length_of_stay": {"role": "quasi-identifier", "hierarchy": "ranges:5,10,20"},
    }
    assert policy["require"] == {"k": 5, "distinct_l": {"diagnosis": 3}}
    assert policy["release"] == {
        "method": "generalize",
        "objective": "loss",
        "suppression": 0.05,
        "output": "hospital-release.duckdb",
    }
    assert "sqlpriv publish" in done.stdout
    assert "quasi-identifier" in done.stdout


def test_no_cell_gets_into_the_file_or_onto_the_screen(tmp_path: Path) -> None:
    """Numbers that no count can be equal to, texts, an ENUM whose type lists its values, and dates far away."""
    with duckdb.connect(str(tmp_path / "d.duckdb")) as con:
        con.execute(
            "CREATE TABLE t AS SELECT 'SECRET' || i % 9 AS word, 770001 + i % 100 AS amount, 0.77 + i AS exact, "
            "DATE '1777-07-07' + CAST(i AS INTEGER) AS day, CAST('SECRET' AS ENUM('SECRET', 'SECRET2')) AS kind, "
            "'SECRET' AS diagnosis, 7700 + i % 2 AS zip, 'SECRET' || i || '@x.org' AS mail, "
            "{'a': 'SECRET'} AS nested FROM range(500) AS r(i)"
        ).fetchall()
    for extra in ([], ["--json", "--force"]):
        done, _ = _init(tmp_path, tmp_path, "t", "--database", "d.duckdb", *extra)
        said = done.stdout + done.stderr + (tmp_path / "policy.toml").read_text(encoding="utf-8")
        for cell in ("SECRET", "770", "0.77", "1777", "7700", "7701"):
            assert cell not in said


def test_the_source_is_named_from_the_folder_of_the_policy(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "people.csv").write_text("age,sex\n31,f\n44,m\n", encoding="utf-8")
    assert run(tmp_path, "init", "people.csv", "--output", "policies/p.toml").returncode == 0
    text = (tmp_path / "policies" / "p.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["table"] == {"source": "../people.csv"}
    assert str(tmp_path) not in text


def test_a_table_of_a_database_and_its_odd_names(folder: Path, tmp_path: Path) -> None:
    _, policy = _init(folder, tmp_path, '"odd one"', "--database", "data.duckdb")
    assert list(policy["columns"]) == ODD_NAMES
    assert policy["table"]["source"] == '"odd one"'
    assert (tmp_path / policy["table"]["database"]).resolve() == (folder / "data.duckdb").resolve()
    assert policy["release"]["output"] == "odd-one-release.duckdb"


def test_a_wide_table_is_proposed_whole_and_in_order() -> None:
    names = [f"c{n}" for n in range(60)]
    proposed = _proposed(f"SELECT {', '.join(f'i % {n + 2} AS c{n}' for n in range(60))} FROM range(200) AS r(i)")
    assert list(proposed) == names


def test_the_release_is_not_written_over_its_own_database(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t-release.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT i % 3 AS a FROM range(9) AS r(i)").fetchall()
    _, policy = _init(tmp_path, tmp_path, "t", "--database", "t-release.duckdb")
    assert policy["release"]["output"] == "t-release-2.duckdb"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_delimiter_is_written_down(tmp_path: Path, delimiter: str) -> None:
    lines = [delimiter.join(["age", "sex", "town"])] + [delimiter.join([str(20 + i), "f", f"t{i}"]) for i in range(30)]
    (tmp_path / "p.csv").write_text("\n".join(lines), encoding="utf-8")
    _, policy = _init(tmp_path, tmp_path, "p.csv")
    assert policy["table"] == {"source": "p.csv", "delimiter": delimiter}
    assert list(policy["columns"]) == ["age", "sex", "town"]


def test_a_postal_code_keeps_its_leading_zero(tmp_path: Path) -> None:
    """DuckDB looks at the first rows only, and would read the last zip as the number 1234."""
    (tmp_path / "p.csv").write_text("zip,age\n" + "98765,30\n" * 30000 + "01234,30\n", encoding="utf-8")
    _, policy = _init(tmp_path, tmp_path, "p.csv")
    assert policy["table"] == {"source": "p.csv", "types": {"zip": "VARCHAR"}}
    assert policy["columns"]["zip"] == {"role": "quasi-identifier", "hierarchy": "mask:5"}


def test_json_says_the_same_as_the_file(folder: Path, tmp_path: Path) -> None:
    done, policy = _init(folder, tmp_path, "hospital.parquet", "--json")
    said = json.loads(done.stdout)
    roles = {c["name"]: (c["role"], c["hierarchy"]) for c in said["columns"]}
    assert roles == {name: (c["role"], c.get("hierarchy")) for name, c in policy["columns"].items()}
    assert (said["table"], said["require"], said["release"]) == (policy["table"], policy["require"], policy["release"])


def test_an_existing_policy_is_kept(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("mine", encoding="utf-8")
    done = run(folder, "init", "hospital.parquet", "--output", str(file))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert file.read_text(encoding="utf-8") == "mine"
    assert run(folder, "init", "hospital.parquet", "--output", str(file), "--force").returncode == 0
    assert tomllib.loads(file.read_text(encoding="utf-8"))["require"]["k"] == 5
    assert [p.name for p in tmp_path.iterdir()] == ["policy.toml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody", "--database", "data.duckdb"], "has no rows"),
        (["missing", "--database", "data.duckdb"], "has no table 'missing'"),
        (["missing.csv"], "there is no file"),
        (["hospital.parquet", "--output", "hospital.parquet", "--force"], "is the data itself"),
        (["hospital", "--database", "data.duckdb", "--output", "data.duckdb", "--force"], "is the data itself"),
        (["hospital.parquet", "--output", "no/such/policy.toml"], "there is no folder"),
        (["hospital.parquet", "--output", "."], "is a folder"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(folder: Path, arguments: list[str], said: str) -> None:
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    done = run(folder, "init", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_what_names_a_person_is_never_published() -> None:
    roles = _roles(
        "SELECT 'P' || i AS code, i AS n, md5('t' || i)::UUID AS token, 'u' || i % 9 || '@x.org' AS contact, "
        "'030 ' || (1000000 + i % 500) AS reach, '123-45-' || (1000 + i) AS number, 5550000000 + 7 * i AS long, "
        "'A' || i % 50 AS surname, 'A' || i % 50 AS \"First Name\", i AS account_id FROM range(1000) AS r(i)"
    )
    assert set(roles.values()) == {"identifier"}


def test_a_value_of_its_own_in_nearly_every_row_makes_an_identifier() -> None:
    """Patient numbers with gaps, whatever they are called; measurements are for the owner, ages what they are."""
    proposed = _proposed(
        "SELECT 1000 + i * 7 AS pidnum, CASE WHEN i % 40 = 0 THEN 'x' ELSE 'b' || i * i END AS code, "
        "i * 1.37 + 0.001 AS weight, i * 3 AS age, i // 2 AS distance, i * 3 AS income FROM range(200) AS r(i)"
    )
    assert {name: p.role for name, p in proposed.items()} == {
        "pidnum": "identifier",
        "code": "identifier",
        "weight": "?",
        "age": "quasi-identifier",
        "distance": "quasi-identifier",
        "income": "sensitive",
    }
    assert "round it to" in proposed["weight"].reason


def test_numbers_of_persons_and_households_are_not_published_unasked() -> None:
    """In panels they repeat: `intnum` is a household's interview. A few codes and fractions are no such numbers."""
    roles = _roles(
        'SELECT i // 2 AS intnum, i // 2 AS "House No", i % 40 AS persnum, i // 9 AS patientnum, i % 4 AS rad_num, '
        "i // 2 / 7 AS platinum, i // 2 AS cases FROM range(990) AS r(i)"
    )
    assert roles == {
        "intnum": "?",
        "House No": "?",
        "persnum": "quasi-identifier",
        "patientnum": "person",
        "rad_num": "quasi-identifier",
        "platinum": "quasi-identifier",
        "cases": "quasi-identifier",
    }
    assert _roles("SELECT i // 8 AS nr, i % 8 AS year, i % 5 AS sex FROM range(4000) AS r(i)")["nr"] == "person"


@pytest.mark.parametrize("method", ["generalize", "mondrian", "slicing", "noisy_counts"])
def test_what_is_undecided_is_asked(tmp_path: Path, method: str) -> None:
    with duckdb.connect() as con:
        people = "SELECT i * 1.37 + 0.001 AS weight, i * 2.3 + 0.1 AS height, i % 5 AS ward, i % 40 AS diagnosis"
        con.execute(f"COPY ({people} FROM range(400) AS r(i)) TO '{tmp_path / 'p.parquet'}'").fetchall()
    done, policy = _init(tmp_path, tmp_path, "p.parquet", "--method", method)
    assert [name for name, given in policy["columns"].items() if given == {"role": "?"}] == ["weight", "height"]
    assert "Decide on the role of weight, height" in " ".join(done.stdout.split())
    refused = run(tmp_path, "plan", "policy.toml")
    assert refused.returncode == 2
    assert "decide what 'weight', 'height' may be. drop: it is left out; identifier" in refused.stderr


def test_one_column_says_whose_row_it_is() -> None:
    roles = _roles(
        "SELECT i // 2 AS visit_id, 'P' || i // 4 AS patientID, i % 6 AS ward_id, i % 2 AS insured, i % 5 AS drug_id "
        "FROM range(1000) AS r(i)"
    )
    assert roles == {
        "visit_id": "identifier",
        "patientID": "person",
        "ward_id": "quasi-identifier",
        "insured": "quasi-identifier",
        "drug_id": "sensitive",
    }


def test_free_text_and_nested_values_are_dropped() -> None:
    roles = _roles(
        "SELECT 'The patient came in with a cough of ' || i || ' days' AS remark, [i] AS list, {'a': i} AS struct, "
        "'\\x00'::BLOB AS bytes, 'seen by the doctor for the finding number ' || i AS diagnosis FROM range(100) AS r(i)"
    )
    assert set(roles.values()) == {"drop"}


def test_sensitive_names_get_as_many_values_as_they_have() -> None:
    proposed = _proposed(
        'SELECT i % 2 = 0 AS hiv, i % 3 AS hiv2004, i % 40 AS "Monthly Income", '
        "CASE WHEN i % 2 = 0 THEN 'x' END AS diseaseCode, "
        "'x' AS religion, i % 4 AS archive, DATE '2020-01-01' + CAST(i AS INTEGER) AS diagnosis_date "
        "FROM range(400) AS r(i)"
    )
    assert {name: (p.role, p.distinct_l) for name, p in proposed.items()} == {
        "hiv": ("sensitive", 2),
        "hiv2004": ("sensitive", 3),
        "Monthly Income": ("sensitive", 3),
        "diseaseCode": ("sensitive", 2),
        "religion": ("drop", None),  # it would tell everybody's
        "archive": ("quasi-identifier", None),
        "diagnosis_date": ("quasi-identifier", None),
    }


def test_only_constant_columns_are_published_as_they_are() -> None:
    proposed = _proposed("SELECT NULL AS empty, NULL AS email, 7 AS seven, i % 2 AS two FROM range(50) AS r(i)")
    roles = {name: p.role for name, p in proposed.items()}
    assert roles == {"empty": "other", "email": "identifier", "seven": "other", "two": "quasi-identifier"}
    assert proposed["empty"].reason == "no values at all"


def test_a_single_row_is_not_a_constant() -> None:
    assert _roles("SELECT 'x' AS town, 31 AS age") == {"town": "quasi-identifier", "age": "quasi-identifier"}


@pytest.mark.parametrize(
    ("expression", "name", "hierarchy"),
    [
        ("17 + i % 74", "age", "ranges:5,10,20"),
        ("CAST(30 + i % 20 AS DOUBLE)", "age", "ranges:5,10"),
        ("1930 + i % 80", "year", "ranges:5,10,20"),
        ("i % 30", "visits", "ranges:2,10,20"),
        ("i % 7", "children", "suppression"),
        ("i // 2 * 74 % 9000", "amount", "ranges:500,1000,5000"),
        ("CASE WHEN i = 1 THEN 7654321 ELSE i // 2 * 74 % 9000 END", "mileage", "ranges:1000,5000,10000,50000"),
        ("i % 20 + 0.5", "weight", "ranges:5,10"),
        ("(i % 20) / 1000.0", "dose", "ranges:0.005,0.01"),
        ("CASE WHEN i % 9 = 0 THEN 'NaN'::DOUBLE WHEN i % 9 = 1 THEN '-Infinity' ELSE i END", "level", "suppression"),
        ("CAST(10000 + i % 500 AS VARCHAR)", "area", "mask:5"),
        ("10000 + i % 500", "Postal Code", "mask:5"),
        ("i % 2 = 0", "flag", "suppression"),
        ("TIME '10:00:00' + INTERVAL (i % 60) MINUTE", "hour", "suppression"),
        ("TIMESTAMP '2020-01-01' + INTERVAL (i) DAY", "seen", "dates:day,month,quarter,year"),
        ("TIMESTAMPTZ '2020-01-01 00:00:00+00' + INTERVAL (i % 90) HOUR", "seen", "suppression"),
        ("DATE '2020-01-01' + CAST(i % 9 AS INTEGER)", "seen", "dates:month"),
        ("CASE WHEN i = 0 THEN 'infinity'::DATE ELSE DATE '1990-01-01' + CAST(i AS INTEGER) * 9 END", "born",
         "dates:month,quarter,year,decade"),
        ("strftime(DATE '2020-01-01' + CAST(i AS INTEGER), '%Y-%m-%d')", "seen", "suppression"),
    ],
)  # fmt: skip
def test_the_hierarchy_fits_what_the_column_holds(expression: str, name: str, hierarchy: str) -> None:
    proposed = _proposed(f'SELECT {expression} AS "{name}" FROM range(1200) AS r(i)')[name]
    assert (proposed.role, proposed.hierarchy) == ("quasi-identifier", hierarchy)
