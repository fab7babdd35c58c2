"""The Node client of DuckDB 1.5.6 runs the macros of an installed file: no Python anywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlpriv
from sqlpriv.demo import examples

PACKAGE = "@duckdb/node-api@1.5.6-r.1"
ASK = """
const { DuckDBInstance } = require("@duckdb/node-api");
async function main() {
  const db = await DuckDBInstance.create(process.argv[2], { access_mode: "READ_ONLY" });
  const con = await db.connect();
  const answers = [];
  for (const sql of JSON.parse(process.argv[3])) {
    try {
      answers.push((await con.runAndReadAll(sql)).getRowObjectsJson());
    } catch (error) {
      answers.push(error.message.split("\\n")[0]);
    }
  }
  console.log(JSON.stringify(answers));
}
main();
"""


@pytest.fixture(scope="module")
def client() -> Path:
    """The client, fetched once and kept among the temporary files."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    kept = Path(tempfile.gettempdir()) / ("sqlpriv-" + PACKAGE.strip("@").replace("/", "-").replace("@", "-"))
    if not kept.exists():
        folder = Path(tempfile.mkdtemp())
        fetch = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
        try:
            done = subprocess.run(fetch, capture_output=True, timeout=100, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            done = False
        if not done:
            pytest.skip(f"npm cannot install {PACKAGE} here")
        (folder / "ask.js").write_text(ASK, encoding="utf-8")
        try:
            folder.rename(kept)  # all at once, in case two test runs fetch it
        except OSError:
            shutil.rmtree(folder)
    return kept


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("node") / "hospital.duckdb"
    sqlpriv.install(path)
    with duckdb.connect(path) as con:
        examples.create(con)
    return path


def ask(client: Path, file: Path, *asked: str) -> list[Any]:
    run = subprocess.run(
        ["node", str(client / "ask.js"), str(file), json.dumps(asked)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    answers: list[Any] = json.loads(run.stdout)
    return answers


@pytest.mark.slow
def test_the_macros_answer_and_refuse(client: Path, file: Path) -> None:
    """The client gives 64-bit integers and infinity as text."""
    found = ask(
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
