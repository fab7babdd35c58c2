"""The optimal nodes of the Adult data set, as issue 3 has them (compared with ARX's there)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.policies import parse

from sqlpriv.publishing import plan

pytestmark = pytest.mark.one_version

QIS = ("sex", "age", "race", "marital-status")
OTHERS = ("education", "native-country", "workclass", "salary-class")
K = "k = 5"


@pytest.fixture(scope="module")
def adult_folder(shared_data: Path) -> Path:
    folder = shared_data / "adult"
    if not (folder / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    return folder


def best(folder: Path, require: str, objective: str, suppression: float) -> dict[str, Any]:
    columns = [f'{q} = {{ role = "quasi-identifier", hierarchy = "adult_hierarchy_{q}.csv" }}' for q in QIS]
    columns += ['occupation = { role = "sensitive" }', *(f'{c} = {{ role = "drop" }}' for c in OTHERS)]
    text = (
        '[table]\nsource = "adult.csv"\ndelimiter = ";"\n[columns]\n' + "\n".join(columns) + f"\n[require]\n{require}\n"
        f'[release]\nmethod = "generalize"\nobjective = "{objective}"\nsuppression = {suppression}\n'
    )
    content: dict[str, Any] = plan(parse(text, folder)).content
    return content


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("require", "objective", "suppression", "node", "value", "suppressed", "classes"),
    [
        (K, "loss", 0, (0, 4, 0, 1), 0.358290, 0, 20),
        (K, "loss", 0.05, (0, 1, 0, 0), 0.025526, 470, None),
        (K, "height", 0, None, 4, 0, None),
        (K, "height", 0.05, None, 1, None, None),
        (K, "discernibility", 0, (1, 1, 1, 1), 55170356, 0, None),
        (K, "discernibility", 0.05, (0, 0, 1, 1), 9800845, 85, None),
        (K, "average_class_size", 0, None, 1005.4, 0, None),
        (K, "average_class_size", 0.05, (1, 0, 0, 0), 59.0254, 1013, None),
        ("entropy_l = 3", "loss", 0, (0, 4, 0, 1), None, 0, None),
        ("distinct_l = 3", "loss", 0, (0, 4, 0, 1), None, 0, None),
        ("recursive = { occupation = { c = 4, l = 2 } }", "loss", 0, (0, 3, 0, 2), None, 0, None),
        ("t = 0.2", "loss", 0, (1, 4, 1, 1), None, 0, None),
    ],
)
def test_the_optimum(
    adult_folder: Path,
    require: str,
    objective: str,
    suppression: float,
    node: tuple[int, ...] | None,
    value: float | None,
    suppressed: int | None,
    classes: int | None,
) -> None:
    found = best(adult_folder, require, objective, suppression)
    assert found["optimal"]
    assert found["rows"] == 30162
    if node is not None:
        assert tuple(found["node"][q] for q in QIS) == node
    if value is not None:
        assert found["value"] == pytest.approx(value, rel=1e-6, abs=5e-7)
    if suppressed is not None:
        assert found["suppressed_rows"] == suppressed
    if classes is not None:
        assert found["classes"] == classes
