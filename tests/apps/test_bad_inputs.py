"""Bad inputs, as they come: files, policies, options, SQL, disks.

Each is answered by one sentence that names what to change, with exit code 2, and nothing is written.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.policies import policy_text, qi, role
from support.randomized_policies import noise_policy_text, published

pytestmark = pytest.mark.one_version

COLUMNS = {"zip": qi("mask:5"), "age": qi("ranges:10"), "disease": role("sensitive")}
FILE = 'source = "patients.csv"'
GOOD = policy_text(COLUMNS, "k = 2", table=FILE)
ROWID = policy_text({"rowid": qi("ranges:5"), "age": qi("ranges:5")}, "k = 2", table='source = "rowid.csv"')
NOISE_COLUMNS = {
    "zip": role("drop"),
    "age": published('"range:0..99"'),
    "disease": published('["flu", "gout"]'),
}
NOISE_RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.4\nn_public = 12'
NOISE = noise_policy_text(NOISE_COLUMNS, NOISE_RELEASE, FILE)
ROWS = [("13053", 28, "flu"), ("13068", 29, "gout"), ("14850", 41, "flu")] * 4


@dataclass(frozen=True)
class Bad:
    """What is typed, what the sentence must name, and policies that are there under other names."""

    name: str
    arguments: tuple[str, ...]
    change: str
    files: dict[str, str] = field(default_factory=dict)
    stdin: str = ""


def policy(name: str, text: str, change: str, *command: str) -> Bad:
    """A policy that is wrong; most are found whatever is done with them."""
    return Bad(f"policy: {name}", (*(command or ("plan",)), "bad.toml"), change, {"bad.toml": text})


def check(name: str, change: str, *arguments: str) -> Bad:
    return Bad(f"check: {name}", ("check", *arguments), change)


def query(name: str, change: str, sql: str, *more: str) -> Bad:
    return Bad(f"query: {name}", ("query", "noise.duckdb", sql, *more), change)


FILES = [
    check("no file", "no.csv", "no.csv", "--qi", "zip"),
    check("a folder", "folder", "folder", "--qi", "zip"),
    check("an empty file", "is empty", "empty.csv", "--qi", "zip"),
    check("a header and no rows", "no rows", "header.csv", "--qi", "zip"),
    check("not UTF-8", "--encoding", "latin.csv", "--qi", "zip"),
    check("Parquet by its name only", "garbage.parquet", "garbage.parquet", "--qi", "zip"),
    check("JSON by its name only", "garbage.json", "garbage.json", "--qi", "zip"),
    check("an unknown suffix", "rename", "patients.xyz", "--qi", "zip"),
    check("a database", "--database", "hospital.duckdb", "--qi", "zip"),
    check("no database by its content", "garbage.duckdb", "patients", "-d", "garbage.duckdb", "--qi", "zip"),
    check("no database", "none.duckdb", "patients", "-d", "none.duckdb", "--qi", "zip"),
    check("no table", "it has empty, patients", "nobody", "-d", "hospital.duckdb", "--qi", "zip"),
    check("a table without rows", "no rows", "empty", "-d", "hospital.duckdb", "--qi", "zip"),
    Bad("init: no file", ("init", "no.csv"), "no.csv"),
    Bad("init: not UTF-8", ("init", "latin.csv"), "--encoding"),
    Bad("attack: not UTF-8", ("attack", "latin.csv", "--qi", "zip"), "--encoding"),
    Bad("attack: an encoding of a release", ("attack", "noise.duckdb", "--encoding", "latin-1"), "leave it out"),
    Bad(
        "risk: an encoding of a policy",
        ("risk", "--policy", "good.toml", "--encoding", "latin-1"),
        "[table] of good.toml",
    ),
    check("two columns of one name", "called 'age', the columns 2 and 4", "twice.csv", "--qi", "zip"),
    Bad("init: a policy is there", ("init", "patients.csv", "-o", "good.toml"), "--force"),
    Bad("show: no file", ("show", "none.duckdb"), "none.duckdb"),
    Bad("show: no release", ("show", "hospital.duckdb"), "release"),
    Bad("show: no database", ("show", "patients.csv"), "patients.csv"),
    Bad("verify: no release", ("verify", "hospital.duckdb"), "release"),
    Bad("verify: another policy", ("verify", "noise.duckdb", "--policy", "good.toml"), "policy"),
    Bad("query: no release", ("query", "hospital.duckdb", "SELECT count(*) FROM patients"), "release"),
    Bad("query: rows of a generalized release", ("query", "general.duckdb", "SELECT * FROM patients"), "plain SQL"),
    Bad("install: no database", ("install", "patients.csv"), "patients.csv"),
    Bad("view: no database", ("view", "add", "none.duckdb", "v", "SELECT 1"), "none.duckdb"),
]
POLICIES = [
    Bad("policy: none", ("plan", "none.toml"), "none.toml"),
    Bad("policy: a folder", ("plan", "folder"), "folder"),
    Bad("policy: a table", ("plan", "patients.csv"), "`sqlpriv init patients.csv` writes one"),
    policy("empty", "", "[release]"),
    policy("no TOML", "[table\nsource = 3", "line"),
    policy("not UTF-8", "\udcff", "UTF-8"),
    policy("no method", GOOD.replace('method = "generalize"\n', ""), "method"),
    policy("an unknown method", GOOD.replace('"generalize"', '"magic"'), "method must be one of generalize"),
    policy("an unknown section", GOOD + "[extra]\na = 1\n", "extra"),
    policy("an unknown key", GOOD + "colour = 1\n", "colour"),
    policy("a misspelt key", GOOD + "supression = 0.1\n", "did you mean 'suppression'?"),
    policy("a misspelt method", GOOD.replace('"generalize"', '"mondrain"'), "did you mean 'mondrian'?"),
    policy("a misspelt role", GOOD.replace('"sensitive"', '"sensitve"'), "did you mean 'sensitive'?"),
    policy("a misspelt requirement", GOOD.replace("k = 2", "distinct_1 = 2"), "did you mean 'distinct_l'?"),
    policy("a column that is misspelt", GOOD.replace('"age" =', '"agee" ='), "did you mean 'age'?"),
    policy("a column with a name of the engine", ROWID.replace("generalize", "mondrian"), "rename it in a view"),
    policy("half a person", GOOD.replace("k = 2", "k = 5.5"), "write 6"),
    policy("stars that hide no digit", GOOD.replace("ranges:10", "mask:5"), "ranges:5,10"),
    policy("a hierarchy with a gap", GOOD.replace("mask:5", "zips.csv"), "are not in it; it is 'zips.csv'"),
    policy("no such source", GOOD.replace("patients.csv", "none.csv"), "none.csv"),
    policy("a number for a source", GOOD.replace('"patients.csv"', "3"), "source"),
    policy("an unknown role", GOOD.replace('"sensitive"', '"secret"'), "secret"),
    policy("a column that is not there", GOOD.replace('"disease" =', '"illness" ='), "illness"),
    policy("a column that is not named", policy_text({"zip": qi("mask:5")}, "k = 2", table=FILE), "age"),
    policy("an unknown hierarchy", GOOD.replace("mask:5", "magic:5"), "magic"),
    policy("a hierarchy that is not there", GOOD.replace("mask:5", "file:none.csv"), "none.csv"),
    policy("a requirement of nothing", GOOD.replace("k = 2", "kk = 2"), "kk"),
    policy("a text for k", GOOD.replace("k = 2", 'k = "two"'), "k"),
    policy("k out of reach", GOOD.replace("k = 2", "k = 50"), "k>=50"),
    policy("a share of suppression beyond 1", GOOD + "suppression = 2\n", "suppression"),
    policy("no output", GOOD.replace('output = "people-release.duckdb"\n', ""), "output", "publish"),
    policy("d above gamma", NOISE.replace("d = 0.01", "d = 0.5"), "gamma", "publish"),
    policy("gamma above 1", NOISE.replace("gamma = 0.4", "gamma = 4"), "gamma"),
    policy("an empty domain", NOISE.replace('["flu", "gout"]', "[]"), "domain"),
    policy("values outside the domain", NOISE.replace('["flu", "gout"]', '["flu"]'), "outside"),
    policy("an unreadable domain", NOISE.replace("range:0..99", "range:a..b"), "range:a..b"),
    policy("a lattice of a randomized policy", NOISE, "plan", "lattice"),
    policy("the ledger of a broken policy", "[table", "not TOML", "ledger"),
]
OPTIONS = [
    Bad("an unknown command", ("chek", "patients.csv"), "check"),
    check("no quasi-identifiers", "with --qi, columns between commas", "patients.csv"),
    check("an unknown option", "--worst", "patients.csv", "--qi", "zip", "--wrost", "3"),
    check("a negative number", "--worst", "patients.csv", "--qi", "zip", "--worst", "-1"),
    check("half a person", "write k>=6", "patients.csv", "--qi", "zip", "--require", "k>=5.5"),
    Bad("init: a misspelt method", ("init", "patients.csv", "-m", "mondian"), "did you mean 'mondrian'?"),
    check("a misspelt column", "zip, age, disease; did you mean 'zip'?", "patients.csv", "--qi", "zipp"),
    check("an empty list", "zip,age", "patients.csv", "--qi", ","),
    check("lists twice", "--or-qi", "patients.csv", "--qi", "zip,age", "--qi", "zip,disease"),
    check("a column twice", "twice", "patients.csv", "--qi", "zip,zip"),
    check("the sensitive column among the qis", "sensitive", "patients.csv", "--qi", "zip", "--sensitive", "zip"),
    check("a requirement the wrong way", "k>=5", "patients.csv", "--qi", "zip", "--require", "k<=5"),
    check("no requirement", "k>=5", "patients.csv", "--qi", "zip", "--require", "private"),
    check("t without a sensitive column", "--sensitive", "patients.csv", "--qi", "zip", "--require", "t<=0.2"),
    check("values for machines", "--show-values", "patients.csv", "--qi", "zip", "--json", "--show-values"),
    check("an unknown encoding", "encoding", "patients.csv", "--qi", "zip", "--encoding", "klingon"),
    check(
        "an encoding of a table", "--encoding", "patients", "-d", "hospital.duckdb", "--qi", "zip", "--encoding", "x"
    ),
    Bad("docs: no macro", ("docs", "k_anonimity"), "k_anonymity"),
    Bad("sql: no macro", ("sql", "SELECT 1"), "macro"),
    Bad("sql: no dialect", ("sql", "FROM priv.k_anonymity('t', ['a'])", "--dialect", "cobol"), "duckdb"),
    Bad("publish: no key file", ("publish", "noise.toml", "--key-file", "none"), "none"),
    Bad("publish: a key without coins", ("publish", "good.toml", "--key-file", "patients.csv"), "key"),
    Bad("ledger: no entry", ("ledger", "void", "abc", "--why", "never", "--ledger", "first.json"), "abc"),
    Bad("ledger: no reason", ("ledger", "void", "abc", "--why", " ", "--ledger", "first.json"), "why"),
    Bad("ledger: no entry named", ("ledger", "void", "--why", "never"), "entry"),
    Bad("lattice: a format of pictures", ("lattice", "good.toml", "--charts", "p", "--format", "gif"), "png"),
    Bad("plan: a suffix of pictures", ("plan", "noise.toml", "--chart", "cost.gif"), ".png"),
    Bad("plan: no curve to draw", ("plan", "good.toml", "--chart", "cost.svg"), "lattice"),
    Bad("hierarchy: no column", ("hierarchy", "show", "job", "-p", "good.toml"), "zip, age"),
]
SQL = [
    query("no SQL", "--file", " "),
    Bad("query: no file of SQL", ("query", "noise.duckdb", "-f", "none.sql"), "none.sql"),
    query("no sentence", "SELECT", "how many?"),
    query("another table", "patients", "SELECT count(*) FROM people"),
    query("single rows", "aggregate", "SELECT * FROM patients"),
    query("distinct", "GROUP BY", "SELECT count(DISTINCT age) FROM patients"),
    query("the largest", "max", "SELECT max(age) FROM patients"),
    query("an unknown column", "age", "SELECT count(*) FROM patients WHERE agee = 3"),
    query("an unknown function", "frobnicate", "SELECT count(*) FROM patients WHERE frobnicate(age) = 3"),
    query("two statements", "one", "SELECT count(*) FROM patients; SELECT count(*) FROM patients"),
    query("a write", "SELECT", "DELETE FROM patients"),
    query("types that do not fit", "TRY_CAST", "SELECT count(*) FROM patients WHERE CAST(disease AS INT) = 3"),
    query("a confidence of 95", "0.95", "SELECT count(*) FROM patients", "--confidence", "95"),
    query("a public table without a file", "regions.csv", "SELECT count(*) FROM patients", "--public", "regions"),
    query("a public table that is not there", "none.csv", "SELECT count(*) FROM patients", "--public", "r=none.csv"),
    query("no such view", "none.duckdb", "SELECT count(*) FROM patients", "--with", "none.duckdb"),
    query("a view twice", "once", "SELECT count(*) FROM patients", "--with", "noise.duckdb"),
]
DISKS = [
    Bad(
        "a full disk for rows", ("query", "noise.duckdb", "SELECT count(*) FROM patients", "--csv", "/dev/full"), "disk"
    ),
    Bad("a full disk for nodes", ("lattice", "good.toml", "--csv", "/dev/full"), "disk"),
    Bad(
        "no folder for rows", ("query", "noise.duckdb", "SELECT count(*) FROM patients", "--csv", "no/x.csv"), "folder"
    ),
    Bad("a folder in the place of rows", ("lattice", "good.toml", "--csv", "folder"), "name a file"),
    Bad("a file in the place of a folder", ("lattice", "good.toml", "--charts", "patients.csv"), "patients.csv"),
    Bad("no folder for a picture", ("plan", "noise.toml", "--chart", "no/cost.svg"), "folder"),
    Bad("no folder for a release", ("publish", "good.toml", "--output", "no/x.duckdb"), "folder"),
    Bad("a release over the data", ("publish", "good.toml", "--output", "patients.csv"), "patients.csv"),
    Bad("a folder in the place of a release", ("publish", "good.toml", "--output", "folder"), "folder"),
    Bad("no folder for a ledger", ("publish", "good.toml", "--ledger", "no/ledger.json"), "--ledger"),
    Bad("a broken ledger", ("publish", "good.toml", "--ledger", "garbage.json"), "garbage.json"),
    Bad("no folder for a policy", ("init", "patients.csv", "-o", "no/policy.toml"), "folder"),
    Bad("no folder for macros", ("install", "no/x.duckdb"), "x.duckdb"),
]
CORPUS = [*FILES, *POLICIES, *OPTIONS, *SQL, *DISKS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that are in order, and files that are not."""
    made = tmp_path_factory.mktemp("bad")
    lines = "".join(f"{z},{a},{d}\n" for z, a, d in ROWS)
    for name, content in {
        "patients.csv": "zip,age,disease\n" + lines,
        "patients.xyz": "zip,age,disease\n" + lines,
        "empty.csv": "",
        "header.csv": "zip,age,disease\n",
        "rowid.csv": "rowid,age\n1,20\n2,20\n",
        "twice.csv": "zip,age,disease,Age\n1,2,flu,3\n",
        "zips.csv": "13053;1305*;*\n13068;1306*;*\n",
        "garbage.parquet": "this is not Parquet\n",
        "garbage.json": "{this is not JSON",
        "garbage.duckdb": "this is not a database, whatever it is called\n",
        "good.toml": GOOD,
        "noise.toml": NOISE,
    }.items():
        (made / name).write_text(content, encoding="utf-8")
    (made / "latin.csv").write_bytes("zip,name\n1,J\xf6rg\n".encode("latin-1"))
    (made / "folder").mkdir()
    with duckdb.connect(str(made / "hospital.duckdb")) as con:
        con.execute("CREATE TABLE patients (zip TEXT, age INT); CREATE TABLE empty (zip TEXT)").fetchall()
        con.execute("INSERT INTO patients VALUES ('1', 2), ('1', 3)").fetchall()
    for name, target in (("good", "general"), ("noise", "noise")):
        text = (made / f"{name}.toml").read_text()
        (made / "first.toml").write_text(text + 'coexists_because = "tests"\n')
        done = run(made, "publish", "first.toml", "--output", f"{target}.duckdb", "--ledger", "first.json", "--force")
        assert done.returncode == 0, done.stderr
    (made / "first.toml").unlink()
    (made / "first.json").unlink()
    return made


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """All that is there, but for the lock of a ledger: an empty file in a folder of its own, which stays beside it."""
    locks = {p for p in folder.rglob("*-unfinished/lock") if p.stat().st_size == 0}
    kept = [p for p in folder.rglob("*") if p not in locks and not (p.is_dir() and set(p.iterdir()) & locks)]
    return {str(p.relative_to(folder)): (p.stat().st_size, p.stat().st_mtime_ns) for p in kept}


def test_there_are_many() -> None:
    assert len({bad.name for bad in CORPUS}) == len(CORPUS) >= 60


@pytest.mark.some(40)
@pytest.mark.parametrize("bad", CORPUS, ids=lambda bad: bad.name)
def test_one_sentence_that_names_what_to_change(folder: Path, bad: Bad) -> None:
    for name, text in bad.files.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    before = tree(folder)
    try:
        done = run(folder, *bad.arguments, stdin=bad.stdin)
        after = tree(folder)
    finally:
        for name in bad.files:
            os.unlink(folder / name)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("sqlpriv: ")
    assert bad.change.lower() in line.lower()
    assert "could not run" not in line, "the name of an engine's error is nothing that can be changed"
    assert str(folder) not in line
    assert after == before


def test_values_that_a_hierarchy_lacks_are_named_for_the_owner_alone(folder: Path) -> None:
    (folder / "gap.toml").write_text(GOOD.replace("mask:5", "zips.csv"))
    try:
        named = [run(folder, what, "gap.toml", "--show-values").stderr for what in ("plan", "publish")]
        silent = [run(folder, "plan", "gap.toml", *more).stderr for more in ((), ("--json",))]
    finally:
        (folder / "gap.toml").unlink()
    assert all(text.strip().endswith("are not in it; it is 'zips.csv': '14850'") for text in named)
    assert all("14850" not in text and "--show-values" in text for text in silent)


def test_a_file_that_is_not_utf8_goes_from_init_to_a_release(tmp_path: Path) -> None:
    rows = "".join(f"K\u00f6ln-{i % 2},{20 + i % 3}\n" for i in range(60))
    (tmp_path / "cities.csv").write_bytes(("Stra\u00dfe,age\n" + rows).encode("latin-1"))
    made = run(tmp_path, "init", "cities.csv", "-m", "generalize", "--encoding", "latin-1", "--json")
    assert made.returncode == 0, made.stderr
    assert 'encoding = "latin-1"' in (tmp_path / "policy.toml").read_text(encoding="utf-8")
    planned = run(tmp_path, "plan", "policy.toml", "--json")
    assert planned.returncode == 0, planned.stderr
    seen = run(tmp_path, "attack", "cities.csv", "--qi", "age", "--encoding", "latin-1", "--worlds", "0", "--json")
    assert seen.returncode == 0, seen.stderr


def test_words_among_numbers_are_said(tmp_path: Path) -> None:
    rows = "".join(f"{i % 3},{'unknown' if i % 9 == 1 else i % 40}\n" for i in range(200))
    (tmp_path / "people.csv").write_text("ward,age\n" + rows)
    notes = json.loads(run(tmp_path, "init", "people.csv", "--json").stdout)["notes"]
    assert any("'age' has numbers and one value that is none" in note for note in notes)
    assert not any("'ward'" in note for note in notes)
