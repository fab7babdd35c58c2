"""What published rows show, as evidence for the verdict: who can be found by them, and whose value can be read off.

A neighbour knows the quasi-identifiers of a person, and every other column that is published and not sensitive, unless
the owner says why nobody knows those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlpriv.checks.verdict import NO, RULES, Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Scratch
from sqlpriv.core.sqltext import literal, quoted, rows_of
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined

_NEARLY = 0.8
"""Columns with fewer different values than this share of the rows, as an estimate has it, are no identifiers."""
_NAMED = 6
"""So many columns are named in a sentence."""


@dataclass(frozen=True)
class PublishedRows:
    """Rows that go out, and what their columns are to an attacker."""

    calls: Calls
    table: str
    """As macros take it; it may be a counted one."""
    qis: tuple[str, ...]
    sensitive: tuple[str, ...]
    others: tuple[str, ...] = ()
    person: str | None = None
    """The column by which people are counted, where it is at hand. It does not go out."""
    required: frozenset[str] | None = None
    """The sensitive columns of which something is required; None: no policy, so that only what is found counts."""
    others_unknown: str = ""
    """Why no neighbour knows the other columns, in the owner's words."""
    pseudonym: str | None = None
    """The column that says which rows are of one person, whoever that is, where it goes out."""
    together: float | None = None
    """How many people must share a history: k, where it is required."""
    labelled: frozenset[str] = frozenset()
    """Sensitive columns that show labels in the place of values: equal labels are no equal values."""

    def evidence(self) -> Iterator[Evidence]:
        """Of each column by itself, of all that a neighbour knows, and of each sensitive column.

        A column that is found to be an identifier must go anyway, so what follows is said of the others.
        """
        unique = list(unique_columns(self.calls, self.table, (*self.qis, *self.others), self.sensitive))
        yield from unique
        identifiers = {e.about for e in unique if RULES[e.rule].word == NO and RULES[e.rule].holds(e.value)}
        columns = self.qis if self.others_unknown else (*self.qis, *self.others)
        known = tuple(c for c in columns if c not in identifiers)
        if self.others and self.others_unknown:
            yield Evidence("others_unknown", about=listed(self.others), detail=self.others_unknown)
        if not self.sensitive:
            yield Evidence("nothing_sensitive", about=listed((*self.qis, *self.others)))
        for name in self.sensitive:
            if self.required is not None and name not in self.required:
                yield Evidence("unguarded", about=name)
        if known:
            yield from classes_by(self.calls, self.table, known, self.person)
            for name in self.sensitive:
                if name not in self.labelled:
                    yield from guesses(self.calls, self.table, known, name, self.person)
        if known and self.pseudonym is not None:
            sensitive = tuple(name for name in self.sensitive if name not in self.labelled)
            yield from histories(self.calls, self.table, self.pseudonym, known, sensitive, self.together or 2)


def unique_columns(calls: Calls, table: str, known: Sequence[str], sensitive: Sequence[str] = ()) -> Iterator[Evidence]:
    """Columns by the share of rows that have a value of their own; of a sensitive one that is less of a finding."""
    columns = (*known, *sensitive)
    if not columns:
        return
    counted = ", ".join(f"approx_count_distinct({quoted(c)})" for c in columns)
    relation, number = rows_of(table)
    rows, *distinct = fetch(calls.con, f"SELECT {number}, {counted} FROM {relation}")[0]
    for name, values in zip(columns, distinct, strict=True):
        if rows and values >= _NEARLY * rows:
            own = _sizes(table, [name])
            ((unique,),) = fetch(calls.con, f"SELECT count(*) FILTER (size = 1) FROM {own}")
            yield Evidence("identifier" if name in known else "exact_values", unique / rows, name)


def classes_by(calls: Calls, table: str, known: Sequence[str], person: str | None = None) -> Iterator[Evidence]:
    """How many are alone in what is known of them, and how many rows the smallest class has."""
    query = f"SELECT min(size), count(*) FILTER (size = 1) FROM {_sizes(table, known, person)}"
    smallest, alone = fetch(calls.con, query)[0]
    if smallest is not None:
        yield Evidence("alone", float(alone), listed(known))
        yield Evidence("linking", float(smallest), listed(known))


def guesses(
    calls: Calls, table: str, known: Sequence[str], sensitive: str, person: str | None = None, says: str = ""
) -> Iterator[Evidence]:
    """Of how many a sensitive value is certain by what is known, and how sure the surest guess is.

    `says` are words for what is known, where they are not the names of its columns.
    """
    given = [table, list(known), sensitive, *filter(None, [person]), -1.0]
    classes = f"{calls.need('alpha_k_anonymity_classes')}({', '.join(map(literal, given))})"
    query = f"SELECT coalesce(sum(size) FILTER (value = 1), 0), max(value) FROM {classes}"
    certain, surest = fetch(calls.con, query)[0]
    if surest is None:
        return
    words = says or listed(known)
    yield Evidence("certain", float(certain), sensitive, words)
    if not certain:
        yield Evidence("likely", float(surest), sensitive, words)
        yield Evidence("guess", float(surest), sensitive, words)


def histories(
    calls: Calls, table: str, pseudonym: str, known: Sequence[str], sensitive: Sequence[str], together: float
) -> Iterator[Evidence]:
    """How many people have a history that fewer than `together` share, and what a history makes certain.

    A history is all rows of a person, as a neighbour knows them: their values, each as often as it is there. What all
    people with one history have in a sensitive column, each as often, can be read off.
    """
    row = ", ".join(f"CAST({quoted(c)} AS VARCHAR)" for c in known)
    values = "".join(f", list_sort(list(CAST({quoted(c)} AS VARCHAR)), 'ASC', 'NULLS FIRST') AS s{i}"
                     for i, c in enumerate(sensitive))  # fmt: skip
    people = f"SELECT list_sort(list([{row}])) AS history{values} FROM {table} GROUP BY {quoted(pseudonym)}"
    with Scratch(calls.con).nested() as scratch:
        each = scratch.table(people, "histories")
        sizes = f"SELECT count(*) AS size FROM {each.name} GROUP BY history"
        smallest, found = fetch(
            calls.con, f"SELECT min(size), coalesce(sum(size) FILTER (size < {together!r}), 0) FROM ({sizes})"
        )[0]
        yield Evidence("history", float(found), listed(known), f"{together:g}")
        if smallest is not None:
            yield Evidence("histories", float(smallest), listed(known))
        for i, name in enumerate(sensitive):
            by_history = (
                f"SELECT count(*) AS size FROM {each.name} GROUP BY history HAVING count(DISTINCT s{i}) = 1 AND "
                f"count(*) >= {together!r}"
            )
            ((certain,),) = fetch(calls.con, f"SELECT coalesce(sum(size), 0) FROM ({by_history})")
            yield Evidence("certain", float(certain), name, f"all rows of somebody, with {listed(known)}")


def listed(columns: Sequence[str]) -> str:
    """Names of columns in a sentence: all of a few, and how many more there are.

    >>> listed(["age", "zip"]), listed(list("abcdefgh"))
    ('age, zip', 'a, b, c, d, e, f and 2 more columns')
    """
    more = len(columns) - _NAMED
    if more <= 1:
        return ", ".join(columns)
    return f"{', '.join(columns[:_NAMED])} and {more} more columns"


def _sizes(table: str, columns: Sequence[str], person: str | None = None) -> str:
    """The classes of equal values with their sizes, as a relation."""
    arguments = ", ".join(map(literal, [table, list(columns), *filter(None, [person])]))
    return f"({inlined(f'FROM _sizes({arguments})')})"
