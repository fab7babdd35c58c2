"""A policy says that values are not published, to a method that would publish them."""

from __future__ import annotations

from pathlib import Path

import pytest

import sqlpriv
from sqlpriv.core.errors import PolicyError

pytestmark = pytest.mark.one_version

POLICY = """
[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:0..99" }
job = { role = "quasi-identifier", hierarchy = "suppression" }
ill = { role = "ROLE", hierarchy = "mask:3", level = 2 }
[require]
k = 2
[release]
accept = "made-up people"
method = "METHOD"
"""


@pytest.mark.parametrize("role", ["sensitive", "other", "quasi-identifier"])
@pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert", "sdgs", "anatomy", "slicing"])
def test_a_level_is_refused_where_values_are_published(tmp_path: Path, method: str, role: str) -> None:
    """Once it was taken and passed over: the values went out as they are."""
    text = POLICY.replace("METHOD", method).replace("ROLE", role)
    text = text.replace("[require]\nk = 2\n", "") if method == "sdgs" else text
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match=r"line 7: .*level"):
        sqlpriv.read_policy(tmp_path / "policy.toml")


OUTSIDE = """
[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:0..99" }
ill = { role = "sensitive", domain = ["flu", "cold"], outside = "OUTSIDE" }
[require]
distinct_l = { ill = 2 }
[release]
accept = "made-up people"
method = "METHOD"
output = "release.duckdb"
"""


@pytest.mark.some(4)
@pytest.mark.parametrize("outside", ["drop", "other", "refuse"])
@pytest.mark.parametrize("method", ["generalize", "mondrian", "hilbert", "anatomy"])
def test_values_outside_a_domain_do_not_go_out(tmp_path: Path, method: str, outside: str) -> None:
    """Once "drop" and "other" were taken and passed over: the values went out as they are."""
    rows = "".join(f"{20 + i % 4},{('flu', 'cold')[i % 2]}\n" for i in range(40))
    (tmp_path / "people.csv").write_text(f"age,ill\n{rows}21,rare\n", encoding="utf-8")
    text = OUTSIDE.replace("METHOD", method).replace("OUTSIDE", outside)
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError, match="domain of 'ill': 1 rows of the table have a value outside it"):
        sqlpriv.publish(tmp_path / "policy.toml", ledger_file=tmp_path / "ledger.db")
    assert not (tmp_path / "release.duckdb").exists()
