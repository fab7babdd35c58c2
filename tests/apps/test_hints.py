"""Hints name what the reader has: flags at a terminal, keywords in Python, and neither to SQL clients and agents."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from support.bi_corpus import exact_release
from support.serving import running

from sqlpriv.apps.hints import for_clients, on_command_line
from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.publishing import open_release

pytestmark = pytest.mark.one_version

REFUSED = ["SELECT max(amount) FROM visits", "EXPLAIN SELECT count(*) FROM visits", "SELECT count(*) = $1 FROM visits"]
_FLAG = re.compile(r"--\w|\w=True|release\.")


@pytest.mark.parametrize("query", REFUSED)
def test_each_reader_has_what_the_hint_names(tmp_path: Path, query: str) -> None:
    path = exact_release(tmp_path / "visits.duckdb").path
    with open_release(path) as opened, pytest.raises(UnsupportedSQLError) as refused:
        opened.sql(query)
    message = str(refused.value)
    assert "--" not in message
    assert _FLAG.search(message)
    assert "--" in on_command_line(message)
    assert "=True" not in on_command_line(message)
    assert not _FLAG.search(for_clients(message))


def test_psql_reads_no_flags(tmp_path: Path) -> None:
    path = exact_release(tmp_path / "visits.duckdb").path
    refusal = pytest.raises(psycopg.errors.FeatureNotSupported)
    with running(path) as server, server.connect() as con, refusal as refused:
        con.execute("SELECT max(amount) FROM visits")
    assert refused.value.diag.message_hint
    assert not _FLAG.search(refused.value.diag.message_hint)
