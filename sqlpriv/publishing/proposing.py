"""A policy proposed that runs: drafts are planned, one after the other, until `sqlpriv plan` accepts one.

What the owner has to decide on is planned as left out: it cannot be read before. A large table is planned on a sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb

from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Request
from sqlpriv.policy.file import Policy, parse_policy
from sqlpriv.policy.propose_policy import ProposedPolicy, drafts, require_method
from sqlpriv.policy.propose_roles import UNDECIDED
from sqlpriv.policy.table_profile import profile_table
from sqlpriv.policy.words import read_words
from sqlpriv.publishing.planning import foretold, open_private
from sqlpriv.table.engines import EngineTable
from sqlpriv.table.engines.duck import held, sampled
from sqlpriv.table.engines.spark import is_frame

_MOST_ROWS = 50_000
"""Of more rows than these a sample is planned."""
_SECONDS, _LONGEST = 15, 25
"""So long a search may take, and planning as a whole; then the next draft is tried."""


def propose(
    data: Any,
    database: Path | None,
    folder: Path,
    method: str | None = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    words: Path | None = None,
    on_progress: OnProgress = None,
) -> ProposedPolicy:
    """The first draft for a table that `sqlpriv plan` accepts, with what was tried before; else the first of all.

    The policy will be in `folder`. Rows of a program are called `name`; `options` are those of read_csv, and `words` a
    file of words that names of columns have.
    """
    require_method(method, METHODS)
    profile = profile_table(data, database, folder, name, options or {}, read_words(words) if words else None)
    rows = None if isinstance(data, str | EngineTable) else data
    found: list[ProposedPolicy] = []
    tried: list[str] = []
    is_sampled = False
    for draft in drafts(profile, METHODS, method):
        try:
            policy = _policy(draft, folder).holding(rows)
            if not is_sampled and profile.rows > _MOST_ROWS:
                is_sampled, rows = True, _sample(policy, data)
                policy = policy.holding(rows)
            why = _why_refused(policy, on_progress)
        except SqlprivError as error:
            why = _sentence(str(error))
        if why is None:
            return replace(draft, tried=tuple(dict.fromkeys(tried)))
        found.append(draft)
        tried.append(f"{draft.summary}: {why}")
    return replace(found[0], refused=tried[0])


def _policy(draft: ProposedPolicy, folder: Path) -> Policy:
    """The policy of a draft, without the columns that are still to be decided on."""
    decided = (replace(c, role="drop") if c.role == UNDECIDED else c for c in draft.columns)
    return parse_policy(replace(draft, columns=tuple(decided)).to_toml(), folder, METHODS)


def _why_refused(policy: Policy, on_progress: OnProgress) -> str | None:
    """Why nothing would be published under a policy, in a sentence; None where something would be."""
    request = Request(time_limit=_SECONDS, on_progress=on_progress)
    with open_private(policy) as (source, spelt), _interrupted(source.con) as is_late:
        try:
            facts = foretold(METHODS[spelt.method].plan(source, spelt, request))
        except duckdb.InterruptException:
            if not is_late.is_set():
                raise
        if is_late.is_set():
            return f"planning takes more than {_LONGEST} seconds"
    refused = facts.content.get("refused", ())
    if refused:
        return _sentence(refused[0])
    is_unfinished = "nodes_evaluated" in facts.content and facts.content.get("bound") is not None
    return f"its search takes more than {_SECONDS} seconds" if is_unfinished else None


@contextmanager
def _interrupted(con: duckdb.DuckDBPyConnection) -> Iterator[Event]:
    """Interrupt a connection after _LONGEST seconds, again and again: between two queries it does not notice."""
    is_late, is_done = Event(), Event()

    def watch() -> None:
        wait: float = _LONGEST
        while not is_done.wait(wait):
            is_late.set()
            con.interrupt()
            wait = 0.05

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield is_late
    finally:
        is_done.set()
        watching.join()


def _sentence(message: str) -> str:
    """The first sentence of a message, without the place in a file that nobody has seen."""
    return re.split(r"\. (?=[A-Z])", re.sub(r"^policy, line \d+: ", "", message), maxsplit=1)[0]


def _sample(policy: Policy, data: Any) -> Any:
    """A part of the rows of a large table; all of them where another engine keeps and counts them."""
    if isinstance(data, duckdb.DuckDBPyRelation):  # its other rows stay where they are
        with held(data) as rows:
            return rows.sample(_MOST_ROWS)
    if isinstance(data, EngineTable) or is_frame(data):
        return policy.table.held
    with open_private(policy, whole=True) as (source, _):
        return source.con.sql(sampled(source.table, _MOST_ROWS)).to_arrow_table()
