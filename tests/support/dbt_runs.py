"""Runs dbt on a copy of the project of the tests, several commands in one process: starting dbt takes seconds.

python -m support.dbt_runs PROJECT: of each run the results, as dbt writes them, are left in the project as NAME.json.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUNS = {
    "deps": ["deps"],
    "built": ["build", "--exclude", "models/failing"],
    "documented": ["docs", "generate", "--no-compile"],
    # A month later, and with all that must fail; dbt's full refresh does not make the ledger forget.
    "failed": [
        "build",
        "--full-refresh",
        "--store-failures",
        "--select",
        "models/failing",
        "open_stays",
        "monthly_stays+",
    ],
}


@dataclass(frozen=True)
class Project:
    """A project in which dbt has run."""

    folder: Path
    results: dict[str, dict[str, dict[str, Any]]]
    """Of each run, the results by the names of nodes."""

    def status(self, run: str) -> dict[str, str]:
        return {name: result["status"] for name, result in self.results[run].items()}

    def message(self, run: str, node: str) -> str:
        return " ".join(str(self.results[run][node]["message"]).split())

    def compiled(self, node: str) -> str:
        return str(self.results["built"][node]["compiled_code"])


def build(folder: Path) -> Project:
    """Run dbt in a process of its own: in this one it would keep the warehouse open."""
    command = [sys.executable, "-m", "support.dbt_runs", str(folder)]
    # Started elsewhere than in the project, as schedulers do: what it writes must be found there all the same.
    environment = {**os.environ, "WAREHOUSE": str(folder / "warehouse.duckdb")}
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Project(
        folder, {name: _results(folder / f"{name}.json") for name in RUNS if name not in {"deps", "documented"}}
    )


def _results(file: Path) -> dict[str, dict[str, Any]]:
    return {r["unique_id"].split(".")[2]: r for r in json.loads(file.read_text())["results"]}


def main(folder: Path) -> None:
    from dbt.cli.main import dbtRunner

    shared = ["--project-dir", str(folder), "--profiles-dir", str(folder), "--no-use-colors"]
    succeeded = {}
    for name, arguments in RUNS.items():
        os.environ["MONTH"] = "1" if name == "failed" else "0"
        done = dbtRunner().invoke([*arguments, *shared])
        if done.exception is not None:
            raise done.exception
        succeeded[name] = done.success
        if (folder / "target" / "run_results.json").exists():
            shutil.copy(folder / "target" / "run_results.json", folder / f"{name}.json")
    (folder / "succeeded.json").write_text(json.dumps(succeeded))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
