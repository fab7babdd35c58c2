"""DuckDB's own command line, of another version, reads the views of a release: no Python, and no sqlpriv."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.clients import command_line, needs_command_line
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.publishing import open_release

QUESTION = "SELECT b, count(*) AS n, avg(a) AS mean FROM people WHERE b NOT IN ('w') GROUP BY b ORDER BY b"


@needs_command_line
def test_it_reads_the_estimates_by_name(tmp_path: Path) -> None:
    columns = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
    noisy = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
    people = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
    policy = write_noise_policy(tmp_path, columns, noisy, people, more=f'[views]\nby_b = "{QUESTION}"\n')
    path = publish_with(policy).written.output
    asked = subprocess.run(
        [str(command_line()), "-readonly", "-csv", str(path), "FROM by_b"], capture_output=True, text=True, check=False
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
