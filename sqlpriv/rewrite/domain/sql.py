"""An elimination as one SELECT: a CTE for each step, and the product of what remains.

Whole numbers stay whole as long as they fit: counts are BIGINT while the combinations behind them are fewer than 2^63,
HUGEINT below 10^36, and DOUBLE beyond. All other sums are DOUBLE.

Conditions on one variable alone filter it before it takes part in any join, so an expression over several variables
never sees the values that they exclude. Beyond that the order in which conditions are evaluated is the engine's, as it
is in any query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.domain.eliminate import Order, Step, Table
from sqlpriv.rewrite.domain.factors import BIT, GROUP, NUMBER, ONLY, WHERE, Factors, Term
from sqlpriv.rewrite.domain.variables import bits
from sqlpriv.rewrite.syntax import PREFIX

BIGINT_BOUND = 2**63
HUGEINT_BOUND = 10**36

# DuckDB 1.5 takes time exponential in the depth to plan joins and groupings that are nested in each other.
_MOST_NESTED = 4


@dataclass
class _TableText:
    """A table of the elimination in SQL: its FROM item, and what a row of it counts for in each term ("" for once)."""

    source: str
    columns: list[str]  # in the order of the select list
    counts: list[str]
    whole: list[bool]
    bound: int = 1  # no count is larger
    open: dict[int, str] = field(default_factory=dict)


def write(factors: Factors, order: Order, values: int) -> str:
    """The whole query."""
    if not values and not factors.groups:
        return "SELECT 1"  # nothing is asked for, in the one row there is
    return _SQL(factors, order).query(values)


class _SQL:
    def __init__(self, factors: Factors, order: Order) -> None:
        self.factors = factors
        self.columns = factors.columns
        self.order = order
        self.written: dict[int, _TableText] = {}
        self.ctes: list[str] = []
        self.serial = 0

    def query(self, values: int) -> str:
        for step in self.order.steps:
            self.written[id(step.output)] = self._step(step)
        remaining = [self.written[id(table)] for table in self.order.remaining]
        only = [f.sql for f in self.order.constants if f.kind == WHERE]
        only += self._not_empty()
        selected = [*self._groups(), *self._sums(values, remaining, only)]
        sql = f"SELECT {', '.join(selected)}"
        if remaining:
            sql += " FROM " + ", ".join(each.source for each in remaining)
        if only and self.factors.groups:
            sql += " WHERE " + " AND ".join(only)
        return f"WITH {', '.join(self.ctes)} {sql}" if self.ctes else sql

    def _not_empty(self) -> list[str]:
        """The product of an empty table has no element, hence no group, also where nothing mentions the table."""
        unused = [v for at, v in enumerate(self.columns.variables) if not self.columns.of_variable[at]]
        asked = [f"EXISTS (SELECT 1 FROM {v.table})" for v in unused if not v.counted]
        return [*asked, *(["FALSE"] if any(v.counted and not v.size for v in unused) else [])]

    def _name(self, kind: str) -> str:
        self.serial += 1
        return f'"{PREFIX}{kind}{self.serial}"'

    # -------------------- steps

    def _variable(self, number: int, mask: int, distinct: bool) -> str:
        """The rows of a variable that its own conditions keep; or their distinct values, to be joined once more."""
        variable = self.columns.variables[number]
        used = [self.columns.columns[n] for n in bits(self.columns.of_variable[number])]
        inner = [f"{quoted(column.name)} AS {quoted(column.alias)}" for column in used]
        outer = self.columns.aliases(mask)
        if self._weighted(number) and not distinct:
            inner.append(f"CAST({quoted(str(variable.weight))} AS DOUBLE) AS {self._weight(number)}")
            outer.append(self._weight(number))
        conditions = [factor.sql for factor in self.order.filters.get(number, ())]
        source = f"SELECT {', '.join(inner) or '1'} FROM {variable.table}"
        if conditions:
            source = f"SELECT {', '.join(outer) or '1'} FROM ({source}) WHERE {' AND '.join(conditions)}"
        return f"(SELECT DISTINCT {', '.join(outer)} FROM ({source}))" if distinct else f"({source})"

    def _weighted(self, number: int) -> bool:
        return self.columns.variables[number].weight is not None and any(term.power for term in self.factors.terms)

    @staticmethod
    def _weight(number: int) -> str:
        return f'"{PREFIX}w{number}"'

    def _base(self, table: Table) -> _TableText:
        number = table.variable
        assert number is not None
        variable = self.columns.variables[number]
        weight = self._weight(number) if variable.weight is not None else None
        counts = [_power(weight, term.power) for term in self.factors.terms]
        whole = [not count for count in counts]
        return _TableText(self._variable(number, table.mask, False), [], counts, whole, max(variable.size, 1))

    def _step(self, step: Step) -> _TableText:
        inputs = [self.written.get(id(table)) or self._base(table) for table in step.inputs]
        where = [factor.sql for factor in step.evaluated if factor.kind == WHERE]
        sources = self._joined(step, inputs)
        opened, decided = self._gates(step, inputs)
        where += [sql for sql, terms in decided if terms is None]
        keys = [(sql, sql) for sql in self.columns.aliases(step.output.mask)]
        keys += [(_group(group), _group(group)) for table in step.inputs for group in bits(table.groups)]
        keys += [(f.sql, _group(f.target)) for f in step.evaluated if f.kind == GROUP]
        bits_of = {gate: self._name("b") for gate in opened}
        keys += [(sql, bits_of[gate]) for gate, sql in opened.items()]
        written = self._counts(step, inputs, [each for each in decided if each[1] is not None], not keys)
        written.open = bits_of
        written.source = self._name("t")
        names = [name for _, name in keys]
        selected = [sql if sql == name else f"{sql} AS {name}" for sql, name in keys] + written.columns
        written.columns = names + [column.rpartition(" AS ")[2] for column in written.columns]
        sql = f"SELECT {', '.join(selected) or '1'} FROM {sources}"
        if where:
            sql += " WHERE " + " AND ".join(where)
        if keys:
            sql += " GROUP BY " + ", ".join(str(at) for at in range(1, len(keys) + 1))
        elif self.factors.groups:
            sql += " HAVING count(*) > 0"
        how = "AS MATERIALIZED" if len(self.order.steps) > _MOST_NESTED else "AS"
        self.ctes.append(f"{written.source} {how} ({sql})")
        return written

    def _joined(self, step: Step, inputs: Sequence[_TableText]) -> str:
        """The FROM clause. Tables meet in the columns they share, NULL with NULL."""
        items = [(table.mask, written) for table, written in zip(step.inputs, inputs, strict=True)]
        have, sql = 0, ""
        for mask, written in items:
            sql += self._item(sql, written.source, written.columns, mask, mask & have)
            have |= mask
        for variable, mask in step.copies:
            sql += self._item(sql, self._variable(variable, mask, True), [], mask, 0)
        return sql

    def _item(self, before: str, source: str, columns: list[str], mask: int, shared: int) -> str:
        if not before:
            return source
        if not shared:
            return f" CROSS JOIN {source}"
        renamed = {alias: self._name("k") for alias in self.columns.aliases(shared)}
        alias = self._name("j")
        if columns:
            source = f"{source} AS {alias}({', '.join(renamed.get(column, column) for column in columns)})"
        else:
            listed = [f"{name} AS {renamed[name]}" if name in renamed else name for name in self.columns.aliases(mask)]
            variable = self.columns.columns[bits(mask)[0]].variable
            listed += [self._weight(variable)] if self._weighted(variable) else []
            source = f"(SELECT {', '.join(listed)} FROM {source}) AS {alias}"
        on = " AND ".join(f"{name} IS NOT DISTINCT FROM {other}" for name, other in renamed.items())
        return f" JOIN {source} ON {on}"

    def _gates(
        self, step: Step, inputs: Sequence[_TableText]
    ) -> tuple[dict[int, str], list[tuple[str, list[int] | None]]]:
        """The bits of gates that stay open, and the conditions of those that are decided (for all, or for terms)."""
        arrived: list[list[str]] = [[] for _ in self.factors.gates]
        for written in inputs:
            for number, name in written.open.items():
                arrived[number].append(name)
        for factor in step.evaluated:
            if factor.kind == BIT:
                arrived[factor.target].append(f"({factor.sql} IS TRUE)")
        opened, decided = {}, []
        for number, gate in enumerate(self.factors.gates):
            if not arrived[number]:
                continue
            sql = "(" + f" {gate.operator.upper()} ".join(arrived[number]) + ")"
            if number in step.output.open:
                opened[number] = sql
            elif gate.parent is not None:
                arrived[gate.parent].append(sql)
            else:
                decided.append((sql, gate.terms))
        return opened, decided

    def _counts(
        self, step: Step, inputs: Sequence[_TableText], decided: Sequence[tuple[str, list[int] | None]], alone: bool
    ) -> _TableText:
        """What a group counts for in each term; terms that agree share a column."""
        bound = prod(each.bound for each in inputs)
        written = _TableText("", [], [], [], bound)
        names: dict[str, str] = {}
        for number in range(len(self.factors.terms)):
            numbers = [f.sql for f in step.evaluated if f.kind == NUMBER for _ in range(f.terms.count(number))]
            only = [f.sql for f in step.evaluated if f.kind == ONLY and number in f.terms]
            only += [sql for sql, terms in decided if number in (terms or ())]
            counts = [each.counts[number] for each in inputs if each.counts[number]]
            whole = not numbers and all(each.whole[number] for each in inputs)
            sql = _aggregate(counts + numbers, only, whole, bound, alone)
            if sql not in names:
                names[sql] = self._name("n")
            written.counts.append(names[sql])
            written.whole.append(whole and bound < HUGEINT_BOUND)
        written.columns = [f"{sql} AS {name}" for sql, name in names.items()]
        return written

    # -------------------- the result

    def _groups(self) -> list[str]:
        constant = {f.target: f.sql for f in self.order.constants if f.kind == GROUP}
        return [f'{constant.get(at, _group(at))} AS "g{at}"' for at in range(self.factors.groups)]

    def _sums(self, values: int, remaining: Sequence[_TableText], only: Sequence[str]) -> list[str]:
        """Each value: the sum of its terms, each the product of what remains and of the variables never mentioned."""
        terms: list[list[str]] = [[] for _ in range(values)]
        for number, term in enumerate(self.factors.terms):
            terms[term.value].append(self._term(number, term, remaining))
        sums = [" + ".join(each) or "0" for each in terms]
        if only and not self.factors.groups:
            sums = [f"CASE WHEN {' AND '.join(only)} THEN {each} ELSE 0 END" for each in sums]
        return [f'{each} AS "s{number}"' for number, each in enumerate(sums)]

    def _term(self, number: int, term: Term, remaining: Sequence[_TableText]) -> str:
        constants = [f for f in self.order.constants if number in f.terms]
        numbers = [f.sql for f in constants if f.kind == NUMBER for _ in range(f.terms.count(number))]
        only = [f.sql for f in constants if f.kind == ONLY]
        counts = [each.counts[number] for each in remaining]
        whole = not numbers and term.coefficient == 1 and all(each.whole[number] for each in remaining)
        unused = 1
        for at, variable in enumerate(self.columns.variables):
            if self.columns.of_variable[at]:
                continue
            if variable.weight is not None and term.power:
                power = _power(f"CAST({quoted(variable.weight)} AS DOUBLE)", term.power)
                numbers.append(f"(SELECT coalesce(sum({power}), 0) FROM {variable.table})")
                whole = False
            elif variable.counted:
                unused *= variable.size
            else:
                counts.append(f"(SELECT count(*) FROM {variable.table})")
        total = prod(max(variable.size, 1) for variable in self.columns.variables)
        if whole and total < HUGEINT_BOUND:
            factors = counts + ([str(unused)] if unused != 1 or not counts else [])
            sql = _multiplied(factors, "BIGINT" if total < BIGINT_BOUND else "HUGEINT")
        else:
            sql = _multiplied([*counts, *numbers, _double(unused * term.coefficient)], "DOUBLE")
        return f"CASE WHEN {' AND '.join(only)} THEN {sql} ELSE 0 END" if only else sql


def _group(number: int) -> str:
    return f'"{PREFIX}g{number}"'


def _aggregate(factors: Sequence[str], only: Sequence[str], whole: bool, bound: int, alone: bool) -> str:
    """The sum over a group of a product; NULL cannot come out of it."""
    kept = f" FILTER (WHERE {' AND '.join(only)})" if only else ""
    if not factors:
        return f"count(*){kept}"
    kind = "BIGINT" if bound < BIGINT_BOUND else "HUGEINT" if bound < HUGEINT_BOUND else "DOUBLE"
    kind = kind if whole else "DOUBLE"
    sql = f"sum({_multiplied(factors, kind)}){kept}"
    if only or alone:
        sql = f"coalesce({sql}, 0)"
    # The sum of BIGINT is HUGEINT, which is slow to multiply.
    return f"CAST({sql} AS BIGINT)" if kind == "BIGINT" else sql


def _multiplied(factors: Sequence[str], kind: str) -> str:
    return " * ".join([f"CAST({factors[0]} AS {kind})", *factors[1:]])


def _power(weight: str | None, power: int) -> str:
    return "" if weight is None or not power else weight if power == 1 else f"({' * '.join([weight] * power)})"


def _double(number: float) -> str:
    try:
        return f"CAST({float(number)!r} AS DOUBLE)"
    except OverflowError:
        raise UnsupportedSQLError("the domain has more than 10^308 combinations: leave out attributes") from None
