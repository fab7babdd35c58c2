"""What attacks look at, opened: a table or a release, and the private table where a policy names it.

A release is attached beside the private table, so that the two can be held against each other; alone it is read in a
connection that reaches nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlpriv import publishing
from sqlpriv.attacks.dictionary import Dictionary, read_dictionary
from sqlpriv.attacks.guesses import ClassGuess, of_release, of_table
from sqlpriv.core.engine import is_database, open_memory
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import folded
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.publishing import method_of
from sqlpriv.release.file import WRITTEN, ReleaseFile, attach_release, readable
from sqlpriv.table.hierarchies import make_hierarchies
from sqlpriv.table.source import Source, open_source


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are to an attacker, where no policy says it."""

    qis: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    person: str | None = None


@dataclass(frozen=True)
class Target:
    """All that is open while attacks run."""

    name: str
    calls: Calls
    own: Mapping[str, ClassGuess]
    """What each sensitive column is guessed from in what is attacked; none where coins make its rows."""
    raw: Mapping[str, ClassGuess] = field(default_factory=dict)
    """The same in the private table, where that is at hand and not itself what is attacked."""
    files: tuple[ReleaseFile, ...] = ()
    method: AnyMethod | None = None
    policy: Policy | None = None
    second_policy: Policy | None = None
    """Of the second release, where it has another."""
    source: Source | None = None
    """The table that is attacked, where it is no release."""
    private: Source | None = None
    """The private table, where it is at hand and not itself what is attacked."""
    dictionary: Dictionary | None = None
    """What attackers hold; it is there beside every table."""
    trees: Mapping[str, pa.Table] = field(default_factory=dict)
    """Hierarchies of sensitive columns."""
    counts_persons: bool = False

    @property
    def is_owners(self) -> bool:
        """Whether a table of the owner was read: then what is found is the owner's, too."""
        return self.source is not None or self.private is not None

    @property
    def bounds_beliefs(self) -> bool:
        """Whether coins make the rows of the release, and bound what they let one believe."""
        return self.method is not None and self.method.bounds_beliefs


@dataclass(frozen=True)
class Inputs:
    """What the owner names."""

    data: Any
    second: Path | None = None
    policy: Policy | None = None
    second_policy: Policy | None = None
    database: Path | None = None
    columns: Columns = field(default_factory=Columns)
    dictionary: Any = None


@contextmanager
def open_target(given: Inputs) -> Iterator[Target]:
    """A release, two releases, or a table."""
    data, policy = given.data, given.policy
    if policy is not None and given.columns != Columns():
        raise InputError("the policy says which columns are known and which are wanted: leave them out")
    if given.second_policy is not None and (given.second is None or policy is None):
        raise InputError("the policy of a second release stands beside that of the first: name both releases and both")
    is_file = isinstance(data, str | Path) and given.database is None
    if is_file and (given.second is not None or is_database(Path(data))):
        if given.columns != Columns():
            raise InputError("a release says itself which columns are known and which are wanted: leave them out")
        with readable(Path(data)), _releases(given) as target:
            yield target
        return
    if given.second is not None or given.second_policy is not None:
        raise InputError("a second release is for an attack on two releases: name two release files")
    if policy is None:
        with open_source(data, given.database) as source:
            yield _table(source, given)
    elif _is_private(data, given.database, policy):
        with publishing.open_private(policy) as source:
            yield _private_table(source, policy, given)
    else:
        with open_source(data, given.database) as source, publishing.open_private(policy) as private:
            yield _made_from_private(source, private, policy, given)


def _table(source: Source, given: Inputs) -> Target:
    columns = given.columns
    if not columns.qis:
        raise InputError(
            "which columns may an attacker know, and which want? Name them with --qi and --sensitive, or give --policy"
        )
    source.known([*columns.qis, *columns.sensitive, *filter(None, [columns.person])])
    own = of_table(source.calls, source.table, columns.qis, columns.sensitive, columns.person)
    book = read_dictionary(source.con, given.dictionary)
    return Target(
        source.label, source.calls, own, source=source, dictionary=book, counts_persons=columns.person is not None
    )


def _private_table(source: Source, policy: Policy, given: Inputs) -> Target:
    own, trees = _by_policy(source, policy, policy.person), _trees(source, policy)
    book = read_dictionary(source.con, given.dictionary, source)
    return Target(
        source.label,
        source.calls,
        own,
        policy=policy,
        source=source,
        dictionary=book,
        trees=trees,
        counts_persons=policy.person is not None,
    )


def _made_from_private(source: Source, private: Source, policy: Policy, given: Inputs) -> Target:
    """A table made of the private one, by whatever tool, beside that."""
    named = {folded(c) for c in source.columns}
    qis, sensitive = ([c for c in of if folded(c) in named] for of in (policy.qis, policy.sensitive))
    if not qis:
        raise InputError(f"{source.label} has no quasi-identifier of the policy: there is nothing to find people by")
    own = of_table(source.calls, source.table, qis, sensitive)
    raw = {s: g for s, g in _by_policy(private, policy, None).items() if s in own}
    read_dictionary(private.con, given.dictionary, private)
    return Target(
        source.label,
        source.calls,
        own,
        raw,
        policy=policy,
        source=source,
        private=private,
        dictionary=read_dictionary(source.con, given.dictionary),
        trees=_trees(private, policy),
    )


@contextmanager
def _releases(given: Inputs) -> Iterator[Target]:
    paths = [Path(given.data), *filter(None, [given.second])]
    if given.policy is None:
        with open_memory() as con:
            calls = Calls(con)
            book = read_dictionary(con, given.dictionary)
            files = _attached(calls, paths)
            con.execute("SET python_enable_replacements = false; SET enable_external_access = false").fetchall()
            yield replace(_target(calls, files), dictionary=book)
        return
    policy = given.policy
    with publishing.open_private(policy) as source:
        files = _attached(source.calls, paths)
        for file, own in zip(files, (policy, given.second_policy), strict=False):
            _refuse_other_policy(file, own)
        yield replace(
            _target(source.calls, files),
            raw=_by_policy(source, policy, None),
            policy=policy,
            second_policy=given.second_policy,
            private=source,
            dictionary=read_dictionary(source.con, given.dictionary, source),
            trees=_trees(source, policy),
        )


def _refuse_other_policy(file: ReleaseFile, policy: Policy | None) -> None:
    if policy is None:
        return
    if folded(file.about["table"]) != folded(policy.table.name):
        raise InputError(
            f"{file.name} is a release of {file.about['table']!r}, and the table of the policy is {policy.table.name!r}"
        )
    if method_of(file).name != policy.method:
        raise InputError(f"{file.name} is a release by {method_of(file).name}, and the policy is for {policy.method}")


def _attached(calls: Calls, paths: Sequence[Path]) -> tuple[ReleaseFile, ...]:
    files = tuple(attach_release(calls.con, path, f"{WRITTEN}_{secrets.token_hex(8)}") for path in paths)
    tables = {folded(file.about["table"]) for file in files}
    if len(tables) > 1:
        named = " and ".join(repr(file.about["table"]) for file in files)
        raise InputError(f"these are releases of different tables, {named}: nobody is in both for certain")
    if len(files) > 1 and files[0].about.get("release") == files[1].about.get("release"):
        raise InputError("both files hold the same release: together they tell no more than one")
    return files


def _target(calls: Calls, files: tuple[ReleaseFile, ...]) -> Target:
    """The first release is what single attacks look at."""
    method = method_of(files[0])
    return Target(files[0].name, calls, of_release(calls, method, files[0]), files=files, method=method)


def _by_policy(source: Source, policy: Policy, person: str | None) -> dict[str, ClassGuess]:
    source.known([*policy.qis, *policy.sensitive, *filter(None, [person])])
    spelt = {folded(c): c for c in source.columns}
    qis, sensitive = ([spelt[folded(c)] for c in named] for named in (policy.qis, policy.sensitive))
    return of_table(source.calls, source.table, qis, sensitive, person)


def _trees(source: Source, policy: Policy) -> dict[str, pa.Table]:
    """The hierarchies that the policy gives sensitive columns."""
    given = {c.name: c.given["hierarchy"] for c in policy.columns if c.role == "sensitive" and c.given.get("hierarchy")}
    made = {h.column: h.table for h in make_hierarchies(source, given, source.table)}
    return {column: source.con.sql(f"FROM {table}").to_arrow_table() for column, table in made.items()}


def _is_private(data: Any, database: Path | None, policy: Policy) -> bool:
    """Whether what is attacked is the private table of the policy itself."""
    if not isinstance(data, str | Path) or policy.table.held is not None:
        return False
    if (database is None) != (policy.table.database is None):
        return False
    file = Path(data) if database is None else database
    if not file.is_file() or not policy.table.file.is_file() or not file.samefile(policy.table.file):
        return False
    return database is None or folded(str(data)) == folded(policy.table.source)
