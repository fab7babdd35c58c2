"""Clients of DuckDB that know nothing of Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

_PACKAGE = "@duckdb/node-api@1.5.6-r.1"
_ASK = """
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


def command_line() -> str | None:
    """The command line of DuckDB 1.5.6 from PyPI, in the environment of the tests."""
    return shutil.which("duckdb", path=str(Path(sys.executable).parent))


needs_command_line = pytest.mark.skipif(
    command_line() is None, reason="duckdb-cli is not installed in this environment"
)


def node_client() -> Path:
    """The Node client of DuckDB 1.5.6, fetched once and kept among the temporary files."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    kept = Path(tempfile.gettempdir()) / ("sqlpriv-" + _PACKAGE.strip("@").replace("/", "-").replace("@", "-"))
    if not kept.exists():
        folder = Path(tempfile.mkdtemp())
        fetch = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), _PACKAGE]
        try:
            done = subprocess.run(fetch, capture_output=True, timeout=100, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            done = False
        if not done:
            pytest.skip(f"npm cannot install {_PACKAGE} here")
        (folder / "ask.js").write_text(_ASK, encoding="utf-8")
        try:
            folder.rename(kept)  # all at once, in case two test runs fetch it
        except OSError:
            shutil.rmtree(folder)
    return kept


def ask_in_node(client: Path, file: Path, *asked: str) -> list[Any]:
    """What the client answers: rows, or the first line of an error."""
    run = subprocess.run(
        ["node", str(client / "ask.js"), str(file), json.dumps(asked)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    answers: list[Any] = json.loads(run.stdout)
    return answers
