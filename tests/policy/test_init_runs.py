"""A proposal is one that runs: `sqlpriv init` plans what it writes, and what plan refuses is mended or left out."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.commands import run

import sqlpriv
from sqlpriv.core.errors import InputError
from sqlpriv.methods import METHODS
from sqlpriv.policy.propose_levels import MOST_NODES, nodes
from sqlpriv.policy.propose_policy import propose_policy
from sqlpriv.policy.propose_roles import propose
from sqlpriv.policy.words import known_words, read_words
from sqlpriv.publishing import proposing
from sqlpriv.publishing.proposing import propose as propose_that_runs
from sqlpriv.table.profile import profile

pytestmark = pytest.mark.one_version

TABLES = {
    "wide": f"SELECT {', '.join(f'(i * {n + 3}) % {n % 9 + 2} AS c{n}' for n in range(67))} FROM range(600) AS r(i)",
    "long": ", ".join(["SELECT i % 90 AS age", *(f"(i * {n + 7}) % 500 AS n{n}" for n in range(8))])
    + " FROM range(2000) AS r(i)",
    "skewed": "SELECT i % 40 AS age, i % 5 AS ward, CASE WHEN i % 10 > 0 THEN 'none' ELSE 'd' || i % 3 END "
    "AS diagnosis FROM range(900) AS r(i)",
    "few": "SELECT i % 2 = 0 AS sex, i AS age, 'x' || i % 3 AS town FROM range(26) AS r(i)",
    "visits": "SELECT i // 3 AS patient_id, i % 60 AS age, 'd' || i % 7 AS diagnosis, i % 40 AS income "
    "FROM range(900) AS r(i)",
    "nobody": "SELECT CASE WHEN i % 9 > 0 THEN i // 2 END AS patient_id, i % 60 AS age, i % 5 AS ward "
    "FROM range(900) AS r(i)",
    "zoned": "SELECT TIMESTAMPTZ '2020-01-01 00:00:00+00' + i * INTERVAL 1 HOUR AS seen, i % 4 AS ward, i % 50 AS age "
    "FROM range(900) AS r(i)",
    "odd": 'SELECT i % 7 AS "a*b", i % 5 AS "Größe ""x""", i % 30 AS "*", i % 4 AS "income*", i % 50 AS age '
    "FROM range(900) AS r(i)",
}


def written(folder: Path, name: str) -> Path:
    """A table as a file."""
    file = folder / f"{name}.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({TABLES[name]}) TO '{file}'").fetchall()
    return file


def decided(path: Path) -> Path:
    """A policy in which all that is asked is left out."""
    path.write_text(path.read_text(encoding="utf-8").replace('role = "?"', 'role = "drop"'), encoding="utf-8")
    return path


SLOW = pytest.mark.slow


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, None) for name in TABLES),
        *(("skewed", method) for method in METHODS),
        *(pytest.param(name, method, marks=SLOW) for name in TABLES if name != "skewed" for method in METHODS),
    ],
)
def test_plan_accepts_what_init_writes(tmp_path: Path, name: str, method: str | None) -> None:
    path = tmp_path / "policy.toml"
    sqlpriv.init(written(tmp_path, name), path, method=method)
    assert sqlpriv.plan(decided(path)).passed is not False


def test_a_method_that_cannot_run_makes_room_for_one_that_can(tmp_path: Path) -> None:
    """Buckets hide one row of a person; the file and the screen say so."""
    proposed = propose_that_runs(str(written(tmp_path, "visits")), None, tmp_path, "slicing")
    assert proposed.release["method"] == "generalize"
    assert "rows belong to a person who has another row" in proposed.tried[0]
    assert "Tried before: slicing with " in proposed.to_toml()
    done = run(tmp_path, "init", "visits.parquet", "--method", "slicing")
    assert "tried  slicing with " in done.stdout


def test_lattices_are_made_small_before_they_are_searched(tmp_path: Path) -> None:
    for name in ("wide", "long"):
        proposed = propose_policy(str(written(tmp_path, name)), None, tmp_path, METHODS, "generalize")
        assert nodes(proposed.columns) <= MOST_NODES
    proposed = propose_policy(str(written(tmp_path, "wide")), None, tmp_path, METHODS)
    assert proposed.release["method"] == "mondrian"
    assert "57 quasi-identifiers make a lattice too large to search" in str(proposed.why)


def test_what_no_method_can_publish_says_so(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 1 AS a, 'x' AS b) TO '{tmp_path / 'one.parquet'}'").fetchall()
    proposed = propose_that_runs(str(tmp_path / "one.parquet"), None, tmp_path)
    assert "`sqlpriv plan` refuses this policy, and every other that was tried: " in proposed.notes[0]


def roles(select: str, words: Path | None = None) -> dict[str, str]:
    """The roles of columns by their names and contents."""
    known = read_words(words) if words else None
    with duckdb.connect() as con:
        profiles = profile(con, f"({select})")
        texts = [c.name for c in profiles if c.kind == "text"]
        topics = (known or known_words()).contents(con, f"({select})", texts)
        return {p.name: p.role for p in propose(profiles, known, topics)}


def test_contents_make_a_column_sensitive_whatever_its_name() -> None:
    found = roles(
        "SELECT ['E11.9', 'I10.0', 'F32.1'][1 + i % 3] AS a, ['flu', 'lung cancer', 'healthy'][1 + i % 3] AS b, "
        "['positive', 'negative'][1 + i % 2] AS c, '$' || i % 90 AS d, ['Roman Catholic', 'Muslim'][1 + i % 2] AS e, "
        "['felony', 'misdemeanor'][1 + i % 2] AS f, ['red', 'blue'][1 + i % 2] AS g FROM range(600) AS r(i)"
    )
    assert found == dict.fromkeys("abcdef", "sensitive") | {"g": "quasi-identifier"}


def test_names_about_health_money_belief_and_crime_are_sensitive() -> None:
    names = ["diabetes", "hiv_test", "PriorArrests", "party", "net_worth", "abused", "covid19", "HourlyRate", "inc86"]
    names += ["died", "naffairs", "relapse_30d", "relig"]
    columns = ", ".join(f"i % {n + 2} AS {name}" for n, name in enumerate(names))
    found = roles(f"SELECT {columns} FROM range(600) AS r(i)")
    assert set(found.values()) == {"sensitive"}


def test_the_number_of_a_hospital_is_no_illness() -> None:
    """Or it would be published as it is; the words of a name are put together before stems are looked for."""
    found = roles("SELECT i % 300 AS hospital_id, 18 + i % 30 AS bmi, i % 9 AS transmission FROM range(600) AS r(i)")
    assert "sensitive" not in found.values()


def test_the_identifiers_that_hipaa_names_are_known(tmp_path: Path) -> None:
    names = {
        "fax": "fax numbers", "license_number": "certificate and license numbers", "deviceId": "device identifiers",
        "VIN": "vehicle identifiers", "fingerprint_hash": "biometric identifiers", "beneficiary": "health plan numbers",
        "account_number": "account numbers", "mrn": "medical record numbers", "home_phone": "telephone numbers",
        "name1": "names", "phone2": "telephone numbers",
    }  # fmt: skip
    with duckdb.connect() as con:
        select = ", ".join(f"'v' || i % 9 AS {name}" for name in names)
        proposed = propose(profile(con, f"(SELECT {select} FROM range(600) AS r(i))"))
    assert {p.name: p.role for p in proposed} == dict.fromkeys(names, "identifier")
    assert all(kind in p.reason for p, kind in zip(proposed, names.values(), strict=True))


def test_no_part_of_a_longer_word_makes_an_identifier() -> None:
    assert roles("SELECT i % 9 AS account_never_late, i % 5 AS licensed FROM range(600) AS r(i)") == {
        "account_never_late": "quasi-identifier",
        "licensed": "quasi-identifier",
    }


def test_words_of_the_owner_are_added(tmp_path: Path) -> None:
    file = tmp_path / "words.toml"
    given = '[sensitive.shift]\nwords = ["night"]\n[identifiers."badges"]\nstems = ["badge"]\n'
    file.write_text(given, encoding="utf-8")
    select = "SELECT i % 3 AS night, i % 9 AS badge_7, i % 4 AS hiv FROM range(600) AS r(i)"
    assert roles(select) == {"night": "quasi-identifier", "badge_7": "quasi-identifier", "hiv": "sensitive"}
    assert roles(select, file) == {"night": "sensitive", "badge_7": "identifier", "hiv": "sensitive"}
    file.write_text("[sensitive]\nnight = 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="takes words and stems"):
        read_words(file)


def test_hierarchies_beside_the_data_are_taken_if_they_fit(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        rows = "SELECT 'v' || i % 4 AS kind, 'w' || i % 4 AS ward, i % 40 AS age, i % 3 AS bed FROM range(400) AS r(i)"
        con.execute(f"COPY ({rows}) TO '{tmp_path / 'p.csv'}'").fetchall()
    (tmp_path / "p_hierarchy_kind.csv").write_text("v0;a;*\nv1;a;*\nv2;b;*\nv3;b;*\n", encoding="utf-8")
    (tmp_path / "ward-hierarchy.csv").write_text("w0;a;*\nw1;a;*\nw2;b;*\n", encoding="utf-8")
    (tmp_path / "age_hierarchy.csv").write_text(
        "".join(f"{i};{i % 7};{i % 3};*\n" for i in range(40)), encoding="utf-8"
    )
    (tmp_path / "policies").mkdir()
    proposed = propose_policy(str(tmp_path / "p.csv"), None, tmp_path / "policies", METHODS, "generalize")
    assert {c.name: c.hierarchy for c in proposed.columns} == {
        "kind": "../p_hierarchy_kind.csv",
        "ward": "suppression",
        "age": "ranges:5,10,20",
        "bed": "suppression",
    }
    assert "make sure that they are public" in proposed.columns[0].reason
    with duckdb.connect(str(tmp_path / "d.duckdb")) as con:
        con.execute(f"CREATE TABLE t AS FROM '{tmp_path / 'p.csv'}'").fetchall()
        con.execute("CREATE TABLE hierarchy_ward AS SELECT 'w' || i AS a, 'x' AS b FROM range(4) AS r(i)").fetchall()
    proposed = propose_that_runs("t", tmp_path / "d.duckdb", tmp_path, "generalize")
    assert proposed.columns[1].hierarchy == "table:hierarchy_ward"
    assert proposed.refused is None


@pytest.mark.parametrize("method", ["mondrian", "disclose"])
def test_a_plan_that_takes_too_long_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(proposing, "_LONGEST", 0.01)
    found = propose_that_runs(str(written(tmp_path, "few")), None, tmp_path, method)
    assert found.refused is not None
    assert found.refused.endswith("planning takes more than 0.01 seconds")


def test_na_among_numbers_is_read_as_missing(tmp_path: Path) -> None:
    rows = "\n".join(f"{'NA' if i % 10 == 0 else 20 + i % 50},{'NA' if i % 7 == 0 else 'x'}" for i in range(500))
    (tmp_path / "people.csv").write_text(f"age,ward\n{rows}\n", encoding="utf-8")
    done = run(tmp_path, "init", "people.csv", "--method", "mondrian")
    assert "Among numbers there is 'NA', read as a missing value: see nullstr in [table]." in done.stdout
    text = (tmp_path / "policy.toml").read_text(encoding="utf-8")
    assert 'nullstr = ["", "NA"]' in text
    assert 'hierarchy = "ranges:5,10,20"' in text
    assert sqlpriv.plan(tmp_path / "policy.toml").content["rows"] == 500


@pytest.mark.parametrize("word", ["unknown", "Z"])
def test_another_word_among_numbers_is_left_to_the_owner(word: str, tmp_path: Path) -> None:
    rows = "\n".join(word if i % 10 == 0 else str(20 + i % 50) for i in range(500))
    (tmp_path / "people.csv").write_text(f"age\n{rows}\n", encoding="utf-8")
    done = run(tmp_path, "init", "people.csv")
    assert "'age' has numbers and one value that is none" in done.stdout
    assert "nullstr" not in (tmp_path / "policy.toml").read_text(encoding="utf-8")
