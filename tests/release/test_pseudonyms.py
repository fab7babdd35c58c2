"""Pseudonyms: rows of a person stay together, nobody is named, and histories that are nearly unique are no secret."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pytest
from support.policies import policy_text, qi, role, write_policy

from sqlpriv.core.engine import open_memory
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.policy.file import Column
from sqlpriv.publishing import plan, publish, show, verify

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

# 60 people with two visits each, at the same two ages; half of them came twice at 30, half at 30 and 40.
PANEL = """
    CREATE TABLE visits AS SELECT 'SECRET-' || p AS patient,
      30 + CASE WHEN v = 1 AND p % 2 = 1 THEN 10 ELSE 0 END AS age,
      ['flu', 'gout', 'cold'][1 + (p // 2 + v) % 3] AS ill FROM range(60) AS a(p), range(2) AS b(v)
"""
# Two more, whose ages others have, too, in each row: but nobody else came three times, or twice at 40.
ALONE = (
    PANEL
    + """;
    INSERT INTO visits VALUES ('SECRET-A', 30, 'flu'), ('SECRET-A', 30, 'gout'), ('SECRET-A', 40, 'cold'),
      ('SECRET-B', 40, 'flu'), ('SECRET-B', 40, 'gout')
"""
)
PERSON = '{ role = "person", pseudonym = true }'
COLUMNS = {"patient": PERSON, "age": qi("ranges:10,40"), "ill": role("sensitive")}
METHODS = pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert"])


def written(folder: Path, sql: str, method: str = "generalize", release: str = "", person: str = PERSON) -> Path:
    text = policy_text(COLUMNS | {"patient": person}, "k = 5\ndistinct_l = { ill = 2 }", release)
    text = text.replace('"people"', '"visits"').replace('method = "generalize"', f'method = "{method}"')
    return write_policy(folder, text, "" if (folder / "private.duckdb").exists() else sql)


def rows(folder: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(folder / "people-release.duckdb"), read_only=True) as con:
        return con.execute("FROM visits").fetchall()


def persons(folder: Path) -> dict[str, int]:
    with duckdb.connect(str(folder / "people-release.duckdb"), read_only=True) as con:
        return dict(con.execute("SELECT patient, count(*) FROM visits GROUP BY patient").fetchall())


@METHODS
def test_two_people_with_unique_histories_are_found_so_the_verdict_is_no(tmp_path: Path, method: str) -> None:
    policy = written(tmp_path, ALONE, method, 'accept = "to see what is found"')
    planned = plan(policy).content["verdict"]
    assert planned["word"] == "no"
    assert "2 people can be found by the history" in " ".join(planned["because"])
    done = publish(policy).facts.content["verdict"]
    assert done == planned
    # What the attacker does, who knows only how often the two came, and at which ages.
    found = [p for p, n in persons(tmp_path).items() if n == 3]
    assert len(found) == 1


@METHODS
def test_where_many_share_a_history_nobody_is_found_by_it(tmp_path: Path, method: str) -> None:
    verdict = publish(written(tmp_path, PANEL, method)).facts.content["verdict"]
    assert verdict["word"] != "no"
    assert any("all rows of somebody" in text and "30 people or more" in text for text in verdict["against"])
    assert set(persons(tmp_path).values()) == {2}
    assert verify(tmp_path / "people-release.duckdb", tmp_path / "policy.toml").passed


def test_what_all_of_a_history_have_is_certain(tmp_path: Path) -> None:
    """At each age several values are possible, and for each pair of ages it is the same two."""
    sql = """
        CREATE TABLE visits AS SELECT 'P' || p AS patient,
          [[30, 40], [30, 30], [40, 40]][1 + p % 3][1 + v] AS age,
          [['flu', 'gout'], ['gout', 'cold'], ['flu', 'cold']][1 + p % 3][1 + v] AS ill
        FROM range(60) AS a(p), range(2) AS b(v)
    """
    open_question = plan(written(tmp_path, sql, person=role("person"))).content["verdict"]
    assert open_question["word"] != "no"
    verdict = plan(written(tmp_path, sql)).content["verdict"]
    assert verdict["word"] == "no"
    assert "ill of 60 rows can be read off by a neighbour who knows all rows of somebody" in " ".join(
        verdict["because"]
    )


def test_nobody_is_named(tmp_path: Path) -> None:
    publish(written(tmp_path, PANEL))
    assert b"SECRET" not in (tmp_path / "people-release.duckdb").read_bytes()
    assert all(len(p) == 20 and set(p) <= set("0123456789abcdef") for p in persons(tmp_path))
    columns = {c["name"]: c["role"] for c in show(tmp_path / "people-release.duckdb").content["columns"]}
    assert columns["patient"] == "person"


def test_a_release_made_again_has_the_same_pseudonyms_and_another_ledger_has_others(tmp_path: Path) -> None:
    policy, found = written(tmp_path, PANEL), []
    for ledger in ("a", "a", "b"):
        publish(policy, ledger_file=tmp_path / f"{ledger}.db")
        found.append(rows(tmp_path))
        (tmp_path / "people-release.duckdb").unlink()
    assert found[0] == found[1]
    assert not {r[-1] for r in found[0]} & {r[-1] for r in found[2]} or sorted(map(str, found[0])) != sorted(
        map(str, found[2])
    )


def test_a_key_file_gives_the_same_pseudonyms_under_any_ledger(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    policy, found = written(tmp_path, PANEL), []
    for ledger in ("a", "b"):
        publish(policy, key_file=tmp_path / "key", ledger_file=tmp_path / f"{ledger}.db")
        found.append(persons(tmp_path))
        (tmp_path / "people-release.duckdb").unlink()
    assert found[0] == found[1]
    with pytest.raises(InputError, match="takes no key"):
        publish(written(tmp_path, PANEL, person=role("person")), key_file=tmp_path / "key")


def test_pseudonyms_are_a_keyed_hash() -> None:
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    with open_memory() as con:
        for value in ("Ada", "", "a|b", "ü", "12"):
            asked = "SELECT " + inlined("_pseudonym(CAST(? AS VARCHAR), CAST(? AS VARCHAR))")
            found = con.execute(asked, [value, "key|1"]).fetchall() if asked.count("?") == 2 else []
            literal = con.execute("SELECT " + inlined(f"_pseudonym('{value}', 'key|1')")).fetchall()
            assert literal == [(digest(f"{digest('pseudonym|key|1')}|{value}")[:20],)]
            assert not found or found == literal
        assert con.execute("SELECT " + inlined("_pseudonym(NULL, 'k')")).fetchall() == [(None,)]


def test_earlier_releases_keep_their_seeds() -> None:
    assert Column("p", "person", {"pseudonym": False}).seed == Column("p", "person", {}).seed == ["person"]
    assert Column("p", "person", {"pseudonym": True}).seed == ["person", "True"]
    assert Column("a", "other", {"domain": None, "null": False}).seed == ["other", "None", "False"]


def test_only_methods_with_rows_of_people_have_them(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="pseudonym"):
        plan(written(tmp_path, PANEL, "slicing"))


# --- rows of nobody


NOBODY = PANEL + "; INSERT INTO visits VALUES (NULL, 30, 'flu'), (NULL, 77, 'rare')"


def test_rows_of_nobody_are_refused_or_left_out(tmp_path: Path) -> None:
    plain = role("person")
    with pytest.raises(InputError, match="the person column holds NULL"):
        plan(written(tmp_path, NOBODY, person=plain))
    policy = written(tmp_path, NOBODY, release='rows_without_person = "drop"', person=plain)
    planned = plan(policy)
    assert "2 rows without a person are left out" in planned.content["warnings"]
    publish(policy)
    assert len(rows(tmp_path)) == 120
    assert b"rare" not in (tmp_path / "people-release.duckdb").read_bytes()
    assert verify(tmp_path / "people-release.duckdb", policy).passed
    publish(policy)


def test_dropping_rows_of_nobody_needs_a_public_number_where_noise_is_made(tmp_path: Path) -> None:
    text = """
        [table]\ndatabase = "private.duckdb"\nsource = "visits"
        [columns]\npatient = { role = "person" }
        age = { role = "quasi-identifier", domain = [30, 40, 77] }
        ill = { role = "sensitive", domain = ["flu", "gout", "cold", "rare", "a", "b", "c"] }
        [release]\nmethod = "noisy_counts"\ngamma = 0.9\nrows_each = 1\noutput = "n.duckdb"
        rows_without_person = "drop"
    """.replace("        ", "")
    with pytest.raises(PolicyError, match="declare n_public"):
        plan(write_policy(tmp_path, text, NOBODY))
    public = text.replace("rows_each = 1", "rows_each = 2\nn_public = 120")
    assert "2 rows without a person are left out" in plan(write_policy(tmp_path, public, "")).content["warnings"]


def test_dropping_rows_of_nobody_is_about_persons(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="role person"):
        plan(written(tmp_path, PANEL, release='rows_without_person = "drop"', person=role("drop")))
