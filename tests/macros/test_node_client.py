"""The Node client of DuckDB 1.5.6 runs the macros of an installed file and reads the views of a release: no Python."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.clients import ask_in_node, node_client
from support.randomized_policies import publish_with, published, write_noise_policy

import sqlpriv
from sqlpriv.demo import examples
from sqlpriv.publishing import open_release

QUESTION = "SELECT b, count(*) AS n, avg(a) AS mean FROM people WHERE b NOT IN ('w') GROUP BY b ORDER BY b"


@pytest.fixture(scope="module")
def client() -> Path:
    return node_client()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("node") / "hospital.duckdb"
    sqlpriv.install(path)
    with duckdb.connect(path) as con:
        examples.create(con)
    return path


@pytest.mark.slow
def test_the_macros_answer_and_refuse(client: Path, file: Path) -> None:
    """The client gives 64-bit integers and infinity as text."""
    found = ask_in_node(
        client,
        file,
        "FROM priv.version()",
        "FROM priv.k_anonymity('patients', ['zip', 'age'])",
        "FROM priv.k_anonymity_classes('patients', ['zip'], 5)",
        "FROM priv.enhanced_beta_likeness('patients', ['zip', 'age'], 'disease')",
        "FROM priv.epsilon_class1('gotham', ['age', 'gender'], 'disease', 'metropolis', 0)",
        "FROM priv.t_closeness_hierarchical('patients', ['zip', 'age'], 'disease', 'diseases')",
        "FROM priv.ck_safety('wards', ['ward'], 'disease', 1)",
        "SELECT priv.sdgs_delta(20, 0.1, 1.0) AS delta",
        "SELECT count(*)::INTEGER AS n FROM priv.report('patients', ['zip', 'age'], 'disease')",
        "FROM priv.k_anonymity('patients', 'zip')",
        "FROM priv.k_anonymity('patients', ['zap'])",
    )
    assert found[:4] == [
        [{"version": sqlpriv.__version__}],
        [{"k": "4"}],
        [{"class": {"zip": "1485*"}, "size": "4", "value": "4"}],
        [{"beta": "Infinity"}],
    ]
    values = [next(iter(rows[0].values())) for rows in found[4:9]]
    assert values == pytest.approx([4.00008, 0.458333, 0.666667, 4.0725e-14, 20], rel=1e-5)
    assert found[9].startswith("Invalid Input Error: sqlpriv: the quasi-identifiers must be a list")
    assert 'does not have a column named "zap"' in found[10]


@pytest.mark.slow
def test_the_views_of_a_release_are_read_by_name(client: Path, tmp_path: Path) -> None:
    columns = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
    noisy = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
    people = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
    policy = write_noise_policy(tmp_path, columns, noisy, people, more=f'[views]\nby_b = "{QUESTION}"\n')
    path = publish_with(policy).written.output
    (found,) = ask_in_node(client, path, "FROM by_b")
    with open_release(path) as release:
        answer = release.sql(QUESTION)
        wanted = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    assert {"n", "n_low", "n_high", "mean_low", "mean_high"} < set(found[0])
    assert [list(row) for row in found] == [list(row) for row in wanted]
    for row, own in zip(found, wanted, strict=True):
        assert row.pop("b") == own.pop("b")
        assert row == pytest.approx(own, rel=1e-12)
