"""What attacks look at, opened: a table or a release, the private table where a policy names it, and a dictionary.

A release is attached next to the private table, so that the two can be held against each other; alone it is read in a
connection that reaches nothing else. A dictionary is what an attacker holds: a list of people with names and cells that
records may be found by.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv import publishing
from sqlpriv.attacks.guesses import ClassGuess, of_table
from sqlpriv.checks.exposure import PublishedRows
from sqlpriv.checks.run import table_rows
from sqlpriv.core.engine import is_database, open_memory
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import csv_arguments, folded, reader
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.publishing import method_of
from sqlpriv.release.file import WRITTEN, ReleaseFile, attach_release, readable
from sqlpriv.table.files import find_files
from sqlpriv.table.hierarchies import make_hierarchies
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source, open_source

WORLDS = 40
"""So many other worlds a search is run on, unless another number is asked for."""
MOST_KNOWN = 10
_TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".csv.zst")


@dataclass(frozen=True)
class Knowledge:
    """How much the attackers know, at most."""

    negations: int = 2
    implications: int = 2

    def __post_init__(self) -> None:
        """Refuse less than nothing, and more than can be computed in any time."""
        for name, value in vars(self).items():
            if not 0 <= value <= MOST_KNOWN:
                raise InputError(f"{name} must be a whole number from 0 to {MOST_KNOWN}")


@dataclass(frozen=True)
class AttackOptions:
    """What the owner asks for: what attackers know, and how far to look."""

    knows: Knowledge = field(default_factory=Knowledge)
    truth: str | None = None
    """The column of the dictionary that identifies persons."""
    worlds: int = WORLDS
    """How many worlds to look at for what the choice of a search reveals."""
    show_values: bool = False


@dataclass(frozen=True)
class AttackedColumns:
    """What the columns of a table are to an attacker, where no policy says it."""

    qis: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    person: str | None = None


@dataclass(frozen=True)
class AttackerList:
    """A dictionary as it was read: its name, and its entries."""

    name: str
    entries: Relation

    def column(self, name: str) -> str | None:
        """A column as the dictionary spells it; None where it has none of this name."""
        return next((c for c in self.entries.columns if folded(c) == folded(name)), None)


@dataclass(frozen=True)
class Target:
    """All that is open while attacks run."""

    name: str
    calls: Calls
    scratch: Scratch
    own: Mapping[str, ClassGuess]
    """What each sensitive column is guessed from in what is attacked; none where random noise makes its rows."""
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
    second_private: Source | None = None
    """That of the second release, where its policy names another table: which people are in both, its content says."""
    dictionary: AttackerList | None = None
    """What attackers hold."""
    private_dictionary: AttackerList | None = None
    """The same with the private table, which may be open in another connection."""
    trees: Mapping[str, pa.Table] = field(default_factory=dict)
    """Hierarchies of sensitive columns."""
    counts_persons: bool = False
    rows: PublishedRows | None = None
    """The rows that would go out, for the verdict, where it is no release."""

    @property
    def bounds_beliefs(self) -> bool:
        """Whether random noise makes the rows of the release, and bounds what they let one believe."""
        return self.method is not None and self.method.bounds_beliefs


@dataclass(frozen=True)
class Inputs:
    """What the owner names."""

    data: Any
    second: Path | None = None
    policy: Policy | None = None
    second_policy: Policy | None = None
    database: Path | None = None
    columns: AttackedColumns = field(default_factory=AttackedColumns)
    dictionary: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of read_csv, for the data where it is a file."""


@contextmanager
def open_target(given: Inputs) -> Iterator[Target]:
    """A release, two releases, or a table."""
    data, policy = given.data, given.policy
    if policy is not None and given.columns != AttackedColumns():
        raise InputError("the policy says which columns are known and which are wanted: leave them out")
    if given.second_policy is not None and (given.second is None or policy is None):
        raise InputError("the policy of a second release needs the first: name both releases and both policies")
    is_file = isinstance(data, str | Path) and given.database is None
    is_release = is_file and (given.second is not None or is_database(Path(data)))
    is_private = not is_release and policy is not None and _is_private(data, given.database, policy)
    if given.options and (is_release or is_private):
        named = next(iter(given.options))
        raise InputError(f"{named} is about a CSV file that is no table of a policy, and this is none: leave it out")
    if is_release:
        if given.columns != AttackedColumns():
            raise InputError("a release says itself which columns are known and which are wanted: leave them out")
        with readable(Path(data)), _releases(given) as target:
            yield target
        return
    if given.second is not None or given.second_policy is not None:
        raise InputError("a second release is for an attack on two releases: name two release files")
    if policy is None:
        with open_source(data, given.database, given.options) as source:
            yield _table(source, given)
    elif is_private:
        with publishing.open_private(policy, whole=True) as (source, policy):
            yield _private_table(source, policy, given)
    else:
        with (
            open_source(data, given.database, given.options) as source,
            publishing.open_private(policy, whole=True) as (private, policy),
        ):
            yield _made_from_private(source, private, policy, given)


def _table(source: Source, given: Inputs) -> Target:
    columns = given.columns
    if not columns.qis:
        raise InputError(
            "which columns may an attacker know, and which want? Name them with --qi and --sensitive, or give --policy"
        )
    source.refuse_unknown([*columns.qis, *columns.sensitive, *filter(None, [columns.person])])
    return Target(
        source.label,
        source.calls,
        source.scratch,
        of_table(source, columns.qis, columns.sensitive, columns.person),
        source=source,
        dictionary=_read_dictionary(source.scratch, given.dictionary),
        counts_persons=columns.person is not None,
        rows=table_rows(source, columns.qis, columns.sensitive, columns.person),
    )


def _private_table(source: Source, policy: Policy, given: Inputs) -> Target:
    return Target(
        source.label,
        source.calls,
        source.scratch,
        _by_policy(source, policy, policy.person),
        policy=policy,
        source=source,
        dictionary=_read_dictionary(source.scratch, given.dictionary, source),
        trees=_trees(source, policy),
        counts_persons=policy.person is not None,
        rows=table_rows(source, policy.qis, policy.sensitive, policy.person),
    )


def _made_from_private(source: Source, private: Source, policy: Policy, given: Inputs) -> Target:
    """A table made of the private one, by whatever tool, with that."""
    named = {folded(c) for c in source.columns}
    qis, sensitive = ([c for c in of if folded(c) in named] for of in (policy.qis, policy.sensitive))
    if not qis:
        raise InputError(f"{source.label} has no quasi-identifier of the policy: there is nothing to find people by")
    own = of_table(source, qis, sensitive)
    return Target(
        source.label,
        source.calls,
        source.scratch,
        own,
        {s: g for s, g in _by_policy(private, policy, None).items() if s in own},
        policy=policy,
        source=source,
        private=private,
        private_dictionary=_read_dictionary(private.scratch, given.dictionary, private),
        dictionary=_read_dictionary(source.scratch, given.dictionary),
        trees=_trees(private, policy),
        rows=table_rows(source, qis, sensitive),
    )


@contextmanager
def _releases(given: Inputs) -> Iterator[Target]:
    """The first release is what attacks on one release look at."""
    paths = [Path(given.data), *filter(None, [given.second])]
    if given.policy is None:
        with open_memory() as con:
            calls, scratch = Calls(con), Scratch(con)
            held = _read_dictionary(scratch, given.dictionary)
            files = _attached(calls, paths)
            con.execute("SET python_enable_replacements = false; SET enable_external_access = false").fetchall()
            yield replace(_target(calls, scratch, files), dictionary=held)
        return
    with ExitStack() as opened:
        source, policy = opened.enter_context(publishing.open_private(given.policy, whole=True))
        files = _attached(source.calls, paths)
        for file, own in zip(files, (policy, given.second_policy), strict=False):
            _refuse_other_policy(file, own)
        held = _read_dictionary(source.scratch, given.dictionary, source)
        other = given.second_policy
        if other is not None and other.table != policy.table:
            second, _ = opened.enter_context(publishing.open_private(other, whole=True))
        else:
            second = None
        yield replace(
            _target(source.calls, source.scratch, files),
            raw=_by_policy(source, policy, None),
            policy=policy,
            second_policy=given.second_policy,
            private=source,
            second_private=second,
            dictionary=held,
            private_dictionary=held,
            trees=_trees(source, policy),
        )


def _target(calls: Calls, scratch: Scratch, files: tuple[ReleaseFile, ...]) -> Target:
    method = method_of(files[0])
    classes = method.classes(files[0])
    own = {s: ClassGuess(calls, scratch, c.table, c.columns, s) for s, c in classes.items()}
    return Target(files[0].name, calls, scratch, own, files=files, method=method)


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
    if len(files) > 1 and files[0].about.get("release") == files[1].about.get("release"):
        raise InputError("both files hold the same release: together they reveal no more than one")
    return files


def _by_policy(source: Source, policy: Policy, person: str | None) -> dict[str, ClassGuess]:
    source.refuse_unknown([*policy.qis, *policy.sensitive, *filter(None, [person])])
    return of_table(source, policy.qis, policy.sensitive, person)


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
    try:
        own, given = policy.table.files(), find_files(str(data if database is None else database))
    except InputError:  # opening them says what is wrong
        return False
    if len(own.paths) != len(given.paths) or not all(own.includes(path) for path in given.paths):
        return False
    return database is None or folded(str(data)) == folded(policy.table.source)


def _read_dictionary(scratch: Scratch, given: Any, private: Source | None = None) -> AttackerList | None:
    """Read it, if one is given: a file, a table next to the private one, or what a program holds."""
    if given is None:
        return None
    name = Path(given).name if isinstance(given, str | Path) else "the dictionary"
    rows = _dictionary_rows(scratch.con, given, private)
    try:
        entries = scratch.table(f"FROM {rows}", "dictionary")
    except SqlprivError as error:
        raise InputError(f"the dictionary {name} cannot be read: {error}") from None
    if not entries.written:
        raise InputError(f"the dictionary {name} has no rows: there is nobody to find")
    return AttackerList(name, entries)


def _dictionary_rows(con: duckdb.DuckDBPyConnection, given: Any, private: Source | None) -> str:
    """The rows of a dictionary, as SQL."""
    if not isinstance(given, str | Path):
        whole = given.to_arrow_table() if isinstance(given, duckdb.DuckDBPyRelation) else given
        try:
            con.register("__given_dictionary", whole)
        except (duckdb.Error, TypeError, RuntimeError):
            kind = type(given).__name__
            raise InputError(
                f"a {kind} is no dictionary; give a file, a data frame, an Arrow table or a DuckDB relation"
            ) from None
        return "__given_dictionary"
    text = str(given)
    if Path(text).is_file():
        # As texts, so that a code such as 01305 keeps its zero; they are read as what they are compared with.
        return f"read_csv({csv_arguments(text, {'all_varchar': True})})" if text.endswith(_TEXTS) else reader(text, {})
    if private is not None and private.given is not None and private.reference.is_in_database:
        return find_named(private, text)
    raise InputError(f"there is no dictionary {text!r}; name a CSV, Parquet or JSON file")
