"""Whether a release is one that a policy asks for: public tables, domains, bound and shares; and what tables allow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from sqlpriv.core.engine import fetch, open_memory
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import file_literal, folded, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import person_prior
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.methods.noisy.read import combination_names, public_names, shared_columns
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, is_close
from sqlpriv.table.domains import declared_as
from sqlpriv.table.fingerprint import rows_digest
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.private_table import open_table

_COPY = "__public_of_the_policy"


def differences(file: ReleaseFile, policy: RandomizedPolicy) -> Iterator[str]:
    """Where the file is not one of the policy: public tables, domains, the bound and the shares."""
    public = public_names(file)
    yield from (f"the policy names no public table {t!r}" for t in sorted(public - set(policy.public)))
    yield from (f"the public table {t!r} of the policy is missing" for t in sorted(set(policy.public) - public))
    yield from _domains_differ(file, policy)
    yield from policy.differs(file.about, file.parameters)
    yield from _prior_differs(file, policy)
    if combination_names(file) != sorted(policy.combinations):
        yield "the combinations are others"
    if size_is_rounded(file) != policy.reveals_size:
        yield "it does not say whether n_public was declared"
    yield from _shares_differ(file, policy)


def _prior_differs(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """The d of a policy is about a row, and that of a file about a person."""
    if policy.d is None:
        return []
    d = person_prior(Calls(file.con), policy.d, policy.rows_each)
    return [] if is_close(file.parameters.get("d"), d) else [f"d is not {d:g}"]


def _shares_differ(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """Where noise follows the shares of a column, they are those of the policy, as far as its own text has them."""
    found = shared_columns(file)
    if [folded(name) for name in found] != [folded(name) for name in (policy.shared,) if name is not None]:
        return ["its noise does not follow the column with shares"]
    given = [c.share for c in policy.published if c.name == policy.shared]
    if not given or not isinstance(given[0], tuple):
        return []
    domain, total = quoted(file.catalog, "domain", found[0]), math.fsum(given[0])
    shares = [r[0] for r in fetch(file.con, f"SELECT share FROM {domain} ORDER BY share")]
    same = len(shares) == len(given[0]) and all(map(is_close, shares, (s / total for s in sorted(given[0]))))
    return [] if same else [f"the shares of {found[0]!r} are others"]


def _domains_differ(file: ReleaseFile, policy: RandomizedPolicy) -> Iterator[str]:
    given = {folded(c.name): declared_as(c) for c in policy.published}
    for column in file.attributes:
        name, declared = str(column["name"]), column["declared"]
        if given.get(folded(name), declared) != declared:
            yield f"the domain of {name!r} is not given as {declared}"


def same_public(file: ReleaseFile, policy: RandomizedPolicy) -> Check:
    """Whether the public tables have the columns and rows of those that the policy names, as far as they are there."""
    wrong, unread = [], []
    for name in sorted(policy.public):
        if ("public", name) not in file.tables:
            continue
        try:
            with _read_again(policy, name) as con:
                wanted = _content(con, quoted(_COPY))
        except (SqlprivError, duckdb.Error, OSError):
            unread.append(name)
            continue
        if _content(file.con, quoted(file.catalog, "public", name)) != wanted:
            wrong.append(name)
    title = "the public tables hold what those of the policy hold"
    if wrong:
        return Check(title, False, f"others: {', '.join(wrong)}")
    return Check(title, None if unread else True, f"cannot be read: {', '.join(unread)}" if unread else "")


@contextmanager
def _read_again(policy: RandomizedPolicy, name: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with a copy of the public table. A file is read alone: a verifier may not have the private table."""
    table, wanted = policy.table, policy.public[name].removeprefix("table:")
    if table.is_file(wanted):
        with open_memory() as con:
            fetch(con, f"CREATE TABLE {_COPY} AS FROM {file_literal(table.path(wanted))}")
            yield con
        return
    with open_table(table, policy.by_text) as source:
        fetch(source.con, f"CREATE TABLE {_COPY} AS FROM {find_named(source, wanted)}")
        yield source.con


def _content(con: duckdb.DuckDBPyConnection, table: str) -> tuple[list[tuple[str, str]], str]:
    columns = fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})")
    return [(str(name), str(kind)) for name, kind in columns], rows_digest(con, table)


def most_choices(file: ReleaseFile) -> dict[str, int]:
    """How many choices each column can have at the most, by its domain and the combinations in the file.

    A file may declare fewer: the attacker is then the stronger, and the more has to be covered.
    """
    attributes = {str(r["name"]): int(r["size"]) for r in file.attributes}
    most = dict(attributes)
    for table in combination_names(file):
        columns = {folded(c): c for c in file.columns("public", table)}
        together = {name: columns[folded(name)] for name in attributes if folded(name) in columns}
        for name in together:
            most[name] = min(most[name], _fewest(file, table, together, name))
    return most


def _fewest(file: ReleaseFile, table: str, together: dict[str, str], wanted: str) -> int:
    """The values of a column in the smallest slice of a table of combinations that leaves at least two."""
    places = {name: f"d{i}" for i, name in enumerate(together)}
    kinds = file.columns("public", table)
    joins = " ".join(
        f"JOIN {quoted(file.catalog, 'domain', name)} AS {places[name]} ON CAST(g.{quoted(column)} AS VARCHAR) IN "
        f"(CAST({places[name]}.value AS VARCHAR), CAST(TRY_CAST({places[name]}.value AS {kinds[column]}) AS VARCHAR))"
        for name, column in together.items()
    )
    null = f"(SELECT count(*) FROM {quoted(file.catalog, 'domain', wanted)} WHERE value IS NULL)"
    others = ", ".join(f"{places[name]}.value" for name in together if name != wanted)
    sizes = (
        f"SELECT count(DISTINCT {places[wanted]}.value) + {null} AS size "
        f"FROM {quoted(file.catalog, 'public', table)} AS g {joins}" + (f" GROUP BY {others}" if others else "")
    )
    found = fetch(file.con, f"SELECT min(size) FROM ({sizes}) WHERE size >= 2")[0][0]
    return 1 if found is None else int(found)
