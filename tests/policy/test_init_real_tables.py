"""`sqlpriv init` of real tables: numbers of patients are never published, and a test for HIV is sensitive."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import real_tables
from support.commands import run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = [pytest.mark.one_version, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        ("thornton_hiv", {"hiv2004": "sensitive"}),
        pytest.param("ACTG175", {"pidnum": "identifier"}, marks=pytest.mark.slow),
        pytest.param("nhefs", {"seqn": "identifier", "wt82_71": "?"}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("method", ["mondrian", "slicing"])
def test_what_is_proposed_for_real_tables(tmp_path: Path, name: str, roles: dict[str, str], method: str) -> None:
    file = real_tables.find(name)
    if file is None:
        pytest.skip("the real tables are not here: make real-tables")
    done = run(tmp_path, "init", str(file), "--method", method)
    assert done.returncode == 0, done.stderr
    columns = tomllib.loads((tmp_path / "policy.toml").read_text(encoding="utf-8"))["columns"]
    assert {column: columns[column]["role"] for column in roles} == roles
