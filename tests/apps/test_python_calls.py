"""The commands as calls: what they return is what the commands tell, whatever holds the table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.core.errors import InputError

PATIENTS = [("130**", 28, "flu"), ("130**", 29, "gout"), ("148**", 40, "flu"), ("148**", 41, None)] * 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame().to_csv(tmp_path / "patients.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def frame() -> pd.DataFrame:
    return pd.DataFrame(PATIENTS, columns=["zip", "age", "disease"])


def report(facts: sqlpriv.Facts) -> list[tuple[object, ...]]:
    return [(f["qis"], f["sensitive"], f["model"], f["parameters"], f["value"]) for f in facts.content["report"]]


def test_a_check_says_what_the_command_says(folder: Path) -> None:
    facts = sqlpriv.check("patients.csv", ["zip", "age"], "disease", require=["k>=4"])
    done = run(
        folder, "check", "patients.csv", "--qi", "zip,age", "--sensitive", "disease", "--require", "k>=4", "--json"
    )
    assert json.loads(facts.to_json()) == json.loads(done.stdout)
    assert (facts.passed, done.returncode) == (False, 1)
    assert "FAILS" in str(facts)
    assert "<td>k_anonymity</td>" in facts._repr_html_()


def held() -> dict[str, Any]:
    table = duckdb.connect().from_df(frame())
    arrow = table.to_arrow_table()
    return {"pandas": frame(), "arrow": arrow, "stream": arrow.to_reader(), "relation": table}


def broken() -> dict[str, Any]:
    """What fails only when it is read, with words that hold a cell."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"zip": ["130**"]})
        raise ValueError("Mrs Smith")

    closed = duckdb.connect()
    gone = closed.sql("SELECT 'Mrs Smith' AS zip")
    closed.close()
    return {
        "relation": duckdb.connect().sql("SELECT CAST(x AS INTEGER) AS zip FROM (VALUES ('Mrs Smith')) AS t(x)"),
        "closed": gone,
        "stream": pa.RecordBatchReader.from_batches(pa.schema([("zip", pa.string())]), batches()),
        "generator": (text for text in ["Mrs Smith"]),
    }


@pytest.mark.parametrize("kind", ["relation", "closed", "stream", "generator"])
def test_what_cannot_be_read_is_one_sentence_without_cells(kind: str) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(|is no table") as refused:
        sqlpriv.check(broken()[kind], ["zip"])
    assert "Smith" not in str(refused.value)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("name", ["collect", "read_all"])
def test_a_column_may_be_called_like_a_method(name: str) -> None:
    wanted = report(sqlpriv.check(frame(), ["zip", "age"]))
    found = report(sqlpriv.check(frame().assign(**{name: 1}), ["zip", "age"]))
    assert found == wanted


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", ["pandas", "arrow", "stream", "relation"])
def test_whatever_holds_the_table(kind: str) -> None:
    expected = report(sqlpriv.check(frame(), ["zip", "age"], ["disease"], show_values=True))
    assert len(expected) > 10
    assert report(sqlpriv.check(held()[kind], ["zip", "age"], ["disease"])) == expected


def test_a_frame_of_polars() -> None:
    polars = pytest.importorskip("polars")
    made = polars.DataFrame({"zip": ["a", "a", "b", "b"]})
    assert report(sqlpriv.check(made, "zip")) == report(sqlpriv.check(made.lazy(), "zip"))
    assert sqlpriv.check(made, "zip").content["rows"] == 4


NOISY = """
[table]
source = "patients"
[columns]
zip = { role = "quasi-identifier", domain = ["130**", "148**"] }
age = { role = "quasi-identifier", domain = "range:20..59" }
disease = { role = "sensitive", domain = ["flu", "gout", "cold", "asthma"], null = true }
[release]
method = "noisy_counts"
gamma = 0.6
n_public = 20
output = "people-release.duckdb"
"""
COARSE = policy_text(
    {"zip": qi("mask:5"), "age": qi("ranges:10,40"), "disease": role("sensitive")}, "k = 2", table='source = "patients"'
)


@pytest.mark.slow
@pytest.mark.parametrize("text", [NOISY, COARSE], ids=["noisy_counts", "generalize"])
@pytest.mark.parametrize("kind", ["pandas", "arrow", "stream", "relation"])
def test_whatever_holds_the_table_is_planned_and_published(folder: Path, kind: str, text: str) -> None:
    """It is published as the file would be, under the name that the policy has for it, and the ledger knows it."""
    write_policy(folder, text)
    (folder / "key").write_bytes(b"a key for tests, not a secret")
    key = None if text == COARSE else "key"
    assert sqlpriv.plan("policy.toml", data=held()[kind]).content["method"] in text
    facts = sqlpriv.publish("policy.toml", data=held()[kind], key_file=key, force=True)
    assert isinstance(facts, sqlpriv.Facts)
    assert facts.content["output"] == "people-release.duckdb"
    assert sqlpriv.verify("people-release.duckdb", "policy.toml").passed
    with duckdb.connect("people-release.duckdb", read_only=True) as con:
        rows = con.execute("FROM sqlpriv_release.published").fetchall()
    assert sqlpriv.show("people-release.duckdb").content["table"] == "patients"
    made = (folder / "people-release.duckdb").stat().st_mtime_ns
    sqlpriv.publish("policy.toml", data=held()["arrow"], key_file=key, force=True)
    assert (folder / "people-release.duckdb").stat().st_mtime_ns == made  # it is the release that was there
    other = (folder / "policy.toml").read_text().replace('source = "patients"', 'source = "patients.csv"')
    other = other.replace("people-release", "other-release").replace("gamma = 0.6", "gamma = 0.7")
    (folder / "of-the-file.toml").write_text(other.replace("k = 2", "k = 3"))
    with pytest.raises(sqlpriv.SqlprivError, match=r"'patients'.* was released on"):
        sqlpriv.publish("of-the-file.toml", force=True)
    (folder / "people-release.duckdb").unlink()
    write_policy(folder, text.replace('source = "patients"', 'source = "patients.csv"'))
    sqlpriv.publish("policy.toml", key_file=key, force=True)
    with duckdb.connect("people-release.duckdb", read_only=True) as con:
        assert con.execute("FROM sqlpriv_release.published").fetchall() == rows


def test_a_frame_of_polars_is_published(folder: Path) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    write_policy(folder, COARSE)
    made = polars.DataFrame(PATIENTS, schema=["zip", "age", "disease"], orient="row")
    assert sqlpriv.publish("policy.toml", data=made).content["output"] == "people-release.duckdb"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a int is no table; give a file"),
        ("patients.csv", r"a file is named by the policy, in \[table\]"),
        (frame().rename(columns={"zip": "post"}), "'post'|'zip'"),
        (frame().iloc[:0], "no rows|empty"),
    ],
    ids=["a number", "a file", "other columns", "no rows"],
)
def test_data_that_makes_no_sense_publishes_nothing(folder: Path, data: Any, message: str) -> None:
    write_policy(folder, COARSE)
    with pytest.raises(sqlpriv.SqlprivError, match=message):
        sqlpriv.publish("policy.toml", data=data)
    assert not (folder / "people-release.duckdb").exists()


def test_a_copy_of_what_is_held_is_no_public_table(folder: Path) -> None:
    """Rows tell, where there is no file of the private table to compare."""
    people = pd.DataFrame({"zip": [f"z{i}" for i in range(50)], "age": range(50), "disease": ["flu", "gout"] * 25})
    people.to_csv(folder / "copy.csv", index=False)
    public = NOISY.replace("[release]", '[public]\ncopy = "copy.csv"\n[release]')
    write_policy(folder, public.replace('["130**", "148**"]', '["z"], outside = "other"').replace("20..59", "0..59"))
    with pytest.raises(sqlpriv.SqlprivError, match=r"'copy\.csv' is taken for a copy of the private table"):
        sqlpriv.plan("policy.toml", data=people)


@pytest.mark.parametrize("method", ["generalize", "noisy_counts"])
def test_a_policy_is_proposed_for_what_is_held(folder: Path, method: str) -> None:
    facts = sqlpriv.init(frame(), "proposed.toml", method=method, name="patients")
    assert facts.content["table"] == {"source": "patients"}
    assert '"patients-release.duckdb"' in (folder / "proposed.toml").read_text()
    with pytest.raises(sqlpriv.SqlprivError, match="leave `name` out"):
        sqlpriv.init("patients.csv", "other.toml", name="patients")


def test_several_combinations() -> None:
    found = sqlpriv.check(frame(), [["zip"], ["zip", "age"]], require="k>=4").content["requirements"]
    assert [(r["qis"], r["value"]) for r in found] == [(("zip",), 6), (("zip", "age"), 3)]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, "zip"), {}, "a int is no table; give a file"),
        ((frame(), []), {}, r"write \['zip', 'age'\]"),
        ((frame(), ["zip", ["age"]]), {}, r"write \['zip', 'age'\]"),
        ((frame(), "zip"), {"database": "x.duckdb"}, "leave database and options out"),
        ((frame(), "zipp"), {}, "the data has no column 'zipp'; it has zip, age, disease"),
        (("none.csv", "zip"), {}, "there is no file 'none.csv'"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(sqlpriv.SqlprivError, match=message):
        sqlpriv.check(*arguments, **options)


@pytest.mark.slow
def test_from_a_policy_to_a_ledger(folder: Path) -> None:
    columns = {"zip": qi("mask:5"), "age": qi("ranges:10"), "disease": role("sensitive")}
    table = 'source = "patients.csv"'
    write_policy(folder, policy_text(columns, "k = 2", table=table))
    assert sqlpriv.ledger("policy.toml").content == []
    assert sqlpriv.plan("policy.toml").content["output"] is None
    assert sqlpriv.publish("policy.toml").content["output"] == "people-release.duckdb"
    assert sqlpriv.show("people-release.duckdb").content["method"] == "generalize"
    assert sqlpriv.verify("people-release.duckdb", "policy.toml").passed
    assert [e["output"] for e in sqlpriv.ledger("policy.toml").content] == ["people-release.duckdb"]
    assert "people-release.duckdb" in str(sqlpriv.ledger("policy.toml"))


def test_a_policy_is_proposed(folder: Path) -> None:
    facts = sqlpriv.init("patients.csv", "proposed.toml")
    assert (folder / "proposed.toml").is_file()
    assert facts.content
    with pytest.raises(sqlpriv.SqlprivError, match="exists"):
        sqlpriv.init("patients.csv", "proposed.toml")
    sqlpriv.init(folder / "patients.csv", "proposed.toml", force=True)


def test_values_of_people_are_in_no_repr(folder: Path) -> None:
    columns = {"zip": qi("mask:5"), "age": role("drop"), "disease": role("sensitive")}
    write_policy(folder, policy_text(columns, "k = 2", table='source = "patients.csv"'))
    facts = sqlpriv.plan("policy.toml")
    assert any(part.private for part in facts.parts)
    for text in (repr(facts), str(facts), facts._repr_html_(), facts.to_json()):
        assert "148**" not in text


def test_every_name_is_there_and_importing_loads_nothing() -> None:
    assert all(getattr(sqlpriv, name) is not None for name in sqlpriv.__all__)
    script = "import sys, sqlpriv; print(*(m for m in sys.modules if m.startswith(('sqlpriv.', 'duckdb', 'rich'))))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sqlpriv.version"]


def test_facts_are_a_data_frame_and_a_verdict() -> None:
    """Where nothing was required nothing passed: the verdict says what is to be known."""
    people = duckdb.sql("FROM (VALUES (13053, 'flu'), (13053, 'cancer')) AS v(zip, disease)")
    found = sqlpriv.check(people, "zip", "disease")
    assert (found.passed, found.verdict) == (None, found["verdict"]["word"])
    assert "verdict=" in repr(found)
    assert "passed" not in repr(found)
    frame = found.to_frame("report")
    assert next(iter(frame["model"])) == found["report"][0]["model"]
    assert len(frame) == len(found["report"])
    judged = sqlpriv.check(people, "zip", "disease", require=["k>=2", "distinct_l>=3"])
    assert judged.passed is False
    assert list(judged.to_frame()["passed"]) == [True, False]
    with pytest.raises(sqlpriv.SqlprivError, match=r"no table 'none' in these facts; there are: 'requirements'"):
        judged.to_frame("none")
