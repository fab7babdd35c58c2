"""A published table, its policy and another release of it, for pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlpriv

POLICY = """
[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:5,10", domain = "range:20..59" }
"zip.code <b>" = { role = "quasi-identifier", hierarchy = "mask:5" }
ill = { role = "sensitive" }
[require]
k = 3
distinct_l = { ill = 2 }
[release]
method = "generalize"
output = "labels.duckdb"
"""
NOISE = """
[table]
source = "people.csv"
[columns]
age = { role = "published", domain = "range:20..59" }
"zip.code <b>" = { role = "drop" }
ill = { role = "published", domain = ["measles-of-one", "mumps-of-many", "flu"] }
[release]
method = "frapp"
d = 0.02
gamma = 0.5
uncovered = "a test"
output = "noise.duckdb"
"""
HEAD = """
[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:5,10", domain = "range:20..59" }
"zip.code <b>" = { role = "quasi-identifier", hierarchy = "mask:5" }
ill = { role = "sensitive" }
"""
WEIGHED = HEAD.replace('"mask:5"', '"mask:5", weight = 0.5').replace('"range:20..59"', '"range:20..59", weight = 1')
BY_METHOD = {
    "mondrian": HEAD + '[require]\nk = 3\nt = { ill = 0.9 }\n[release]\nmethod = "mondrian"\n',
    "hilbert": HEAD + '[require]\nk = 3\n[release]\nmethod = "hilbert"\n',
    "anatomy": HEAD + '[require]\ndistinct_l = { ill = 3 }\n[release]\nmethod = "anatomy"\n',
    "slicing": HEAD
    + '[release]\nmethod = "slicing"\ngroups = [["age"], ["zip.code <b>", "ill"]]\nbucket = 10\n'
    + 'accept = "made-up people"\n',
    "sdgs": HEAD
    + '[release]\nmethod = "sdgs"\nepsilon = 2\ndelta = 1e-3\nbeta = 0.5\ngroups = [["age"], ["zip.code <b>", "ill"]]\n'
    + 'node = { age = 2, "zip.code <b>" = 5 }\nnode_is_public = "a test"\n',
    "disclose": WEIGHED + '[release]\nmethod = "disclose"\ngoal = "utility"\nc = 0.5\n',
}
VALUES = ("measles-of-one", "mumps-of-many", "40219", "40288")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files: people.csv, policy.toml and labels.duckdb, noise.toml and noise.duckdb."""
    made = tmp_path_factory.mktemp("reported")
    rows = [
        f"{20 + i % 40},{'40219' if i % 2 else '40288'},{('measles-of-one', 'mumps-of-many', 'flu')[i % 3]}\n"
        for i in range(480)
    ]
    (made / "people.csv").write_text('age,"zip.code <b>",ill\n' + "".join(rows), encoding="utf-8")
    for name, text in (("policy", POLICY), ("noise", NOISE)):
        (made / f"{name}.toml").write_text(text, encoding="utf-8")
        sqlpriv.publish(made / f"{name}.toml", ledger_file=made / f"{name}.db")
    return made
