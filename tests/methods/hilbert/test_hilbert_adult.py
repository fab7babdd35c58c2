"""On Adult, with the same quasi-identifiers and the same k, it loses no more than Mondrian does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import plan

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip


def loss(folder: Path, method: str, qis: int, cuts: str) -> float:
    hierarchies = {c: f"adult_hierarchy_{c}.csv" for c in COLUMNS} | {"age": "ranges:5,10,20"}
    columns = [f'{c} = {{ role = "quasi-identifier", hierarchy = "{hierarchies[c]}" }}' for c in COLUMNS[:qis]]
    columns += [f'{c} = {{ role = "drop" }}' for c in COLUMNS[qis:]]
    text = (
        '[table]\nsource = "adult.csv"\ndelimiter = ";"\n[columns]\n' + "\n".join(columns) + "\n[require]\nk = 5\n"
        f'[release]\nmethod = "{method}"\ncuts = "{cuts}"\n'
    )
    found = plan(parse_policy(text, folder, METHODS)).content
    assert found["rows"] == 30162
    assert found["requirements"][0]["value"] >= 5
    return float(found["loss"])


@pytest.mark.parametrize("cuts", ["data", "public"])
@pytest.mark.parametrize("qis", [4, 9])
def test_it_loses_no_more_than_mondrian(shared_data: Path, qis: int, cuts: str) -> None:
    folder = shared_data / "adult"
    if not (folder / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    assert loss(folder, "hilbert", qis, cuts) <= loss(folder, "mondrian", qis, cuts)
