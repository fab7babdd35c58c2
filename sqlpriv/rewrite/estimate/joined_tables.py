"""The joined public tables of which one row of the private table may meet several rows, and copies of them.

The noise of a row of the private table is drawn once, however many rows of a public table it meets. What it adds to a
sum is the sum F over all of these, and its variance is v F F', not the sum of v f f' over joined rows. Over the domain
that is a sum over pairs of public rows, and the third moment one over triples: each such table is joined once more for
each factor.

A table is not among them where its equalities with what is fixed already (the row itself, the group, tables that are
not among them) name columns that are unique in it. That is a fact about its data, so the release is asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.relations import VALUE, Read, column
from sqlpriv.rewrite.release import Release
from sqlpriv.rewrite.syntax import conjuncts, without_parentheses

_INTEGERS = frozenset({
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
})  # fmt: skip
# Of these, equal values are one group to GROUP BY, and none is cast where it is compared with one of its own type.
_PLAIN = ("VARCHAR", "BOOLEAN", "DATE", "TIME", "DECIMAL", "FLOAT", "DOUBLE", "UUID", "BLOB", "ENUM")


@dataclass(frozen=True)
class Copies:
    """What is joined for moments of one degree: the reads, the condition on all of them, and how copies are called."""

    reads: dict[str, Read]
    condition: exp.Expr | None
    groups: list[exp.Expr]
    names: tuple[dict[str, str], ...]
    """Of the first factor, of the second, ...: the names of its own copies."""

    def renamed(self, node: exp.Expr, factor: int) -> exp.Expr:
        """An expression about the copies of this factor."""
        return _renamed(node, self.names[factor])


@dataclass
class Joins:
    """What an aggregate query joins to the private table, on which condition, and in which groups it is summed."""

    names: Names
    reads: dict[str, Read]
    condition: exp.Expr | None
    groupings: Sequence[Sequence[exp.Expr]]
    """The keys of each grouping set."""
    _copied: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def release(self) -> Release:
        """What is joined to."""
        return self.names.release

    @cached_property
    def multiply(self) -> bool:
        """Whether a row of the private table may count more than once in a group."""
        return any(self.multiplying(groups) for groups in self.groupings)

    def multiplying(self, groups: Sequence[exp.Expr]) -> list[str]:
        """The reads of which a row of the private table may meet several rows in one group."""
        fixed = _Fixed(self.release, self.reads, self._texts)
        for group in groups:
            fixed.by_group(group)
        while fixed.unsure and fixed.learn(self._equalities):
            pass
        return [name for name in self.reads if name in fixed.unsure]

    def copies(self, groups: list[exp.Expr], degree: int) -> Copies:
        """The joins over which moments of a degree are summed."""
        multiplying = self.multiplying(groups) if degree > 1 else []
        if not multiplying:
            return Copies(self.reads, self.condition, groups, ({},) * degree)
        reads, conditions = dict(self.reads), [self.condition] if self.condition is not None else []
        names = [{name: self._fresh(str(factor), name) for name in multiplying} for factor in range(1, degree)]
        for own in names:
            reads |= {copied: self.reads[name] for name, copied in own.items()}
            conditions += [_renamed(c, own) for c in conjuncts(self.condition) if _mentions(c, own)]
        keys = []
        for number, group in enumerate(groups):
            key = self._listed_key(group, f"key {number + 1}", multiplying, reads)
            keys.append(key or group)
            alike = [_renamed(group, own) for own in names if _mentions(group, own)]
            conditions += [_same(keys[-1], each) for each in (alike if key is None else [group, *alike])]
        return Copies(reads, exp.and_(*conditions) if conditions else None, keys, ({}, *names))

    def _listed_key(
        self, group: exp.Expr, called: str, multiplying: list[str], reads: dict[str, Read]
    ) -> exp.Expr | None:
        """A relation that lists the values of a key, if one copied relation has them, and its column.

        Each copy meets that list instead of all other copies, so that none of them has to be joined with another. The
        key is not evaluated for rows that conditions on the relation alone exclude: it may fail there.
        """
        mentioned = self._mentioned(group)
        if len(mentioned) != 1 or not mentioned <= set(multiplying):
            return None
        (name,) = mentioned
        own, variable = self.reads[name], self._fresh(called, name)
        kept = [c.sql(dialect="duckdb") for c in conjuncts(self.condition) if self._mentioned(c) == mentioned]
        listed = (
            f"SELECT DISTINCT {group.sql(dialect='duckdb')} AS {quoted(VALUE)} FROM {own.relation} AS {quoted(name)}"
        )
        where = f" WHERE {' AND '.join(f'({each})' for each in kept)}" if kept else ""
        reads[variable] = Read(f"({listed}{where})", {VALUE: ""}, own.size, counted=False, keys=None)
        return column(variable, VALUE)

    def _mentioned(self, node: exp.Expr) -> set[str]:
        return {found.table for found in node.find_all(exp.Column) if found.table in self._variables}

    def _fresh(self, called: str, name: str) -> str:
        """The name of a copy, or of a list of keys: the same in all grouping sets and degrees."""
        if (called, name) not in self._copied:
            self._copied[called, name] = self.names.variable(name)
        return self._copied[called, name]

    @cached_property
    def _texts(self) -> dict[str, str]:
        """What each read is, by itself: after FROM, with the definitions it needs."""
        return {
            name: read.relation if read.counted else f"({self.names.with_definitions(f'FROM {read.relation}')})"
            for name, read in self.reads.items()
        }

    @cached_property
    def _variables(self) -> set[str]:
        return {*self.reads, *(a.name for a in self.release.attributes)}

    @cached_property
    def _equalities(self) -> list[tuple[exp.Column, exp.Expr, bool]]:
        """Columns of reads that the condition sets equal to something, and whether NULL is equal to NULL there."""
        found = []
        for conjunct in conjuncts(self.condition):
            if isinstance(conjunct, (exp.EQ, exp.NullSafeEQ)):
                sides = [without_parentheses(side) for side in (conjunct.this, conjunct.expression)]
                for one, other in (sides, sides[::-1]):
                    if isinstance(one, exp.Column) and one.table in self.reads:
                        found.append((one, other, isinstance(conjunct, exp.NullSafeEQ)))
        return found


class _Fixed:
    """The columns that have one value, as far as is known, for a row of the private table in a group."""

    def __init__(self, release: Release, reads: dict[str, Read], texts: dict[str, str]) -> None:
        self._release = release
        self._reads = reads
        self._texts = texts
        self.unsure = {name for name, read in reads.items() if read.size > 1}
        self._columns: dict[str, dict[str, bool]] = {name: {} for name in self.unsure}
        """By read: the columns, and whether rows with NULL there are out of the question."""

    def by_group(self, key: exp.Expr) -> None:
        """A group has one value of its key."""
        if isinstance(key, exp.Column) and key.table in self.unsure:
            self._columns[key.table].setdefault(key.name, False)

    def learn(self, equalities: Sequence[tuple[exp.Column, exp.Expr, bool]]) -> bool:
        """Whether there was something more to know."""
        before = len(self.unsure), sum(len(own) + sum(own.values()) for own in self._columns.values())
        for found, other, null_is_null in equalities:
            if found.table in self.unsure and self._fixes(found, other):
                own = self._columns[found.table]
                own[found.name] = own.get(found.name, False) or not null_is_null
        self.unsure -= {name for name in self.unsure if self._is_one_row(name)}
        return before != (len(self.unsure), sum(len(own) + sum(own.values()) for own in self._columns.values()))

    def _is_one_row(self, name: str) -> bool:
        own = self._columns[name]
        # Where rows are tied, LIMIT and OFFSET may keep other rows the next time.
        chosen = any(clause in self._texts[name] for clause in (" LIMIT ", " OFFSET "))
        if not own or self._release.facts is None or chosen:
            return False
        present = frozenset(column for column, is_present in own.items() if is_present)
        return self._release.facts.is_unique(self._texts[name], frozenset(own), present)

    def _fixes(self, column: exp.Column, other: exp.Expr) -> bool:
        """Whether one value on the other side leaves one of the column: not if the column is cast to compare them."""
        kind = self._type(column)
        if isinstance(other, exp.Literal):
            return (
                _is_plain(kind)
                if other.is_string
                else kind in _INTEGERS and other.name.isdigit() and len(other.name) < 19
            )
        if isinstance(other, exp.Cast) and isinstance(other.this, exp.Literal):
            return _is_plain(kind) and other.to.sql(dialect="duckdb").upper() == kind
        if not isinstance(other, exp.Column):
            return False
        is_fixed, found = self._kind(other)
        return is_fixed and ({found, kind} <= _INTEGERS or (found == kind and _is_plain(kind)))

    def _type(self, column: exp.Column) -> str:
        kind = self._reads[column.table].columns[column.name]
        if not kind and self._release.facts is not None:
            kind = self._release.facts.type_of(self._texts[column.table], column.name)
        return kind.upper()

    def _kind(self, column: exp.Column) -> tuple[bool, str]:
        """Whether a column is fixed, and its type."""
        if column.table in self._reads:
            is_fixed = column.table not in self.unsure or column.name in self._columns[column.table]
            return is_fixed, self._type(column)
        attribute = self._release.attribute(column.table)
        return (True, attribute.type.upper()) if attribute is not None else (False, "")


def _is_plain(kind: str) -> bool:
    return kind in _INTEGERS or (kind.startswith(_PLAIN) and not kind.endswith("]"))


def _mentions(node: exp.Expr, names: dict[str, str]) -> bool:
    return any(column.table in names for column in node.find_all(exp.Column))


def _renamed(node: exp.Expr, names: dict[str, str]) -> exp.Expr:
    """A copy about other variables. Names inside subqueries are those of no variable, so none is captured."""
    if not _mentions(node, names):
        return node
    made = node.copy()
    for found in made.find_all(exp.Column):
        if found.table in names:
            found.set("table", exp.Identifier(this=names[found.table], quoted=True))
    return made


def _same(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.NullSafeEQ(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=other.copy()))
