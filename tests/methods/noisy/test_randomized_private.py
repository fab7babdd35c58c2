"""The private table stays private also where a policy names it as something public."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.core.errors import PolicyError

PEOPLE = "CREATE TABLE people AS SELECT i AS a FROM range(20) AS r(i)"
RELEASE = 'method = "alpha_beta"\nd = 0.01\ngamma = 0.2'
CSV = {"people.csv": "a\n1\n2\n3\n"}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("table", "public"),
    [
        ('database = "private.duckdb"\nsource = "people"', "people"),
        ('database = "private.duckdb"\nsource = "main.people"', "PEOPLE"),
        ('database = "private.duckdb"\nsource = "people"', "private.duckdb"),
        ('source = "people.csv"', "people.csv"),
        ('source = "people.csv"', "../folder/people.csv"),
    ],
)
def test_it_is_no_public_table_and_no_domain(tmp_path: Path, table: str, public: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    columns = {"a": published('"range:0..99"')}
    policy = write_noise_policy(folder, columns, RELEASE, PEOPLE, CSV, table, f'[public]\nregions = "{public}"')
    with pytest.raises(PolicyError, match="is the private table itself"):
        publish_with(policy)
    columns = {"a": published(f'"table:{public}.a"')}
    policy = write_noise_policy(folder, columns, RELEASE, "", CSV, table)
    with pytest.raises(PolicyError, match='write "active"'):
        publish_with(policy)
    assert not list(folder.glob("*release*"))


def test_the_private_table_is_no_hierarchy(tmp_path: Path) -> None:
    columns = {"a": published('"level:people:1"'), "b": published('"active"')}
    sql = "CREATE TABLE people AS SELECT i AS a, 'x' || i AS b FROM range(9) AS r(i)"
    policy = write_noise_policy(tmp_path, columns, 'method = "alpha_beta"\nd = 0.01\ngamma = 0.3', sql)
    with pytest.raises(PolicyError, match="its labels would be read from the private table"):
        publish_with(policy)
