"""The requirements of a policy as SQL over the classes of many nodes.

Each entry of checks/measures.py says what the value of a class is read from: its size; its histogram, where all
aggregates together are one GROUP BY; a relation of its own, where the formula needs more than one pass (ordered and
hierarchical distance, sets of values, persons); the classes of a population; or all classes of the table. Here the
formula is filled in, and the relations that it reads are made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlpriv.checks.measures import HISTOGRAM, POPULATION, RELATION, Adversary
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.beliefs import Belief, read_belief, write_weights
from sqlpriv.methods.generalized.scan import Scan, ScannedTable, number_rows
from sqlpriv.table.named_tables import find_named

Term = tuple[str, str]


@dataclass(frozen=True)
class ClassMeasure:
    """A requirement with the SQL of its value: an expression, or a query of class and value."""

    requirement: Requirement
    number: int
    kind: str
    sql: str
    sensitive: int | None
    monotone: bool
    monotone_suppressed: bool
    terms: tuple[Term, ...] = ()
    """What the expression reads beside the histogram, by name; terms of one name are computed once for all."""
    values: Relation | None = None
    """The values of the sensitive column, with the weights w<i> that the measures of this column read."""
    population: Relation | None = None
    """The population by numbers: a<attribute> as in the base, holder with a person column, n."""

    @property
    def column(self) -> str:
        """The name of its value in the classes."""
        return f"m{self.number}"

    @property
    def worst(self) -> str:
        """The aggregate that gives the worst value of several classes."""
        return self.requirement.measure.direction.worst

    @property
    def fails(self) -> str:
        """SQL that is true for a class, or a table, that does not meet the threshold. NULL: nothing there can fail."""
        fails = {">=": "<", "<=": ">", "<": ">="}[self.requirement.operator]
        return f"{self.column} {fails} {self.requirement.limit!r}::DOUBLE"


def write_measures(scan: ScannedTable) -> tuple[ClassMeasure, ...]:
    """The measures of all requirements, with the relations that they read (priors, predicates, populations)."""
    weighed = [values.relation for values in scan.values]
    found = [_measure(scan, weighed, i, r) for i, r in enumerate(scan.policy.requirements)]
    return tuple(m if m.sensitive is None else replace(m, values=weighed[m.sensitive]) for m in found)


def _measure(scan: ScannedTable, weighed: list[Relation], i: int, requirement: Requirement) -> ClassMeasure:
    """The measure of a requirement. `weighed` are the values of the sensitive columns; those of a column whose weights
    the requirement names are replaced by values with these weights, too."""
    measure, column, arguments = requirement.measure, requirement.sensitive, requirement.arguments
    j = None if column is None else scan.policy.sensitive.index(column)
    if measure.reads is None:
        raise PolicyError(f"{requirement.text}: it can be checked of a table, but no method looks for it")
    # With persons, classes overlap: only what counts persons of a class grows with it.
    can_rule_out = scan.policy.person is None or measure.monotone_persons
    kind, population = measure.reads, None
    terms: tuple[Term, ...] = ()
    if measure.adversary is not None:
        kind, sql, terms = _epsilon(scan, weighed, i, j or 0, requirement, measure.adversary)
    else:
        if scan.policy.person is not None and not measure.counts_persons:
            raise PolicyError(f"{requirement.name} cannot be required together with a person column; use t or epsilon")
        given: dict[str, object] = {"size": "z.size", "people": f"people{i}"}
        given |= {"histogram": f"__priv_histogram_{j}", "texts": f"__priv_texts_{j}", **arguments}
        if measure.reads == POPULATION:
            population = _population(scan, requirement)
        else:
            for argument in measure.arguments:
                if argument.is_table:
                    named = find_named(scan.source, str(arguments[argument.name]), argument.csv_options)
                    given[argument.name] = literal(scan.source.scratch.table(f"FROM {named}", argument.name).name)
        sql = inlined(measure.formula.format(**given))
    monotone, suppressed = can_rule_out and measure.monotone, can_rule_out and measure.monotone_suppressed
    return ClassMeasure(requirement, i, kind, sql, j, monotone, suppressed, terms, population=population)


def _epsilon(
    scan: ScannedTable, weighed: list[Relation], i: int, j: int, requirement: Requirement, adversary: Adversary
) -> tuple[str, str, tuple[Term, ...]]:
    """What the epsilon of a class is read from, its SQL, and the terms of that."""
    belief = read_belief(scan, weighed[j], i, j, requirement, adversary)
    weighed[j] = belief.values
    if "predicates" in requirement.arguments or scan.policy.person is not None:
        return RELATION, _epsilon_relation(scan, j, requirement, adversary, belief), ()
    b = int(requirement.arguments["b"])
    return HISTOGRAM, *epsilon_of_classes(i, b, adversary, belief.weight, belief.stubbornness)


def epsilon_of_classes(
    i: int, b: int, adversary: Adversary, weight: str, stubbornness: float
) -> tuple[str, tuple[Term, ...]]:
    """The epsilon of a class as an aggregate over its histogram, with its terms; `weight` is that of a value, as SQL.

    The formula names each of its arguments several times, and to DuckDB 2 every name and operator of a query is work,
    more than the few thousand rows are. Doubles, so that nothing is cast again and again.
    """
    sigma = f"{float(stubbornness)!r}::DOUBLE"
    likely, out_of = (
        inlined(formula.format(weight=weight, sigma=sigma)) for formula in (adversary.likely, adversary.out_of)
    )
    terms = {f"p_in{b}": f"n / (size - {b})", f"unknown{b}": f"size - {b}", f"rest{b}": f"size - {b} - n"}
    terms |= {f"likely{i}": likely, f"out_of{i}": out_of}
    epsilon = inlined(f"max(_epsilon_of(p_in{b}, unknown{b}, rest{b}, likely{i}, out_of{i}))")
    return epsilon, tuple((name, f"CAST({sql} AS DOUBLE)") for name, sql in terms.items())


def _epsilon_relation(
    scan: ScannedTable, j: int, requirement: Requirement, adversary: Adversary, belief: Belief
) -> str:
    """The epsilon of classes as a query, for sets of values or persons with several."""
    arguments, scratch = requirement.arguments, scan.source.scratch
    given = literal(write_weights(scratch, belief).name) if adversary.weights else repr(belief.stubbornness)
    predicates = "NULL"
    if "predicates" in arguments:
        named = find_named(scan.source, str(arguments["predicates"]))
        predicates = literal(scratch.table(f"FROM {named}", "predicates").name)
    person = ", 'person'" if scan.policy.person is not None else ""
    return inlined(f"FROM {adversary.relation}(__priv_holdings_{j}, {given}, {arguments['b']}, {predicates}{person})")


def _population(scan: ScannedTable, requirement: Requirement) -> Relation:
    """The people of a population by numbers.

    They are the same numbers as the table's. A value or label that the table does not have gets none: its people are in
    no class of the table, and only those classes are judged.
    """
    if not isinstance(scan, Scan):
        raise PolicyError(
            f"{requirement.text}: nobody knows which box people of a population would be in, so a release by "
            f"{scan.policy.method} cannot be judged against one; generalize can"
        )
    source, policy, name = scan.source, scan.policy, str(requirement.arguments["population"])
    people = source.scratch.table(f"FROM {find_named(source, name)}", "people")
    present = {folded(column) for column in people.columns}
    missing = [c for c in [*policy.qis, *filter(None, [policy.person])] if folded(c) not in present]
    if missing:
        raise PolicyError(f"the population {name!r} has no column {', '.join(repr(m) for m in missing)}")
    listed = " UNION ".join(
        f"SELECT {a} AS attribute, CAST({quoted(qi)} AS VARCHAR) AS value FROM {people}"
        for a, qi in enumerate(policy.qis)
    )
    leaves = scan.labels.leaves
    for a, uncovered in sorted(fetch(source.con, inlined(f"FROM _uncovered(({listed}), {leaves})"))):
        raise PolicyError(
            f"hierarchy of {policy.qis[a]!r}, level 0: {uncovered} value(s) of the population are not in it"
        )
    columns = [f"l{a}.numbers AS a{a}" for a in range(len(policy.qis))]
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    grouped = ", ".join([f"a{a}" for a in range(len(policy.qis))] + (["holder"] if policy.person else []))
    rows = number_rows(policy, people, ", ".join(columns), leaves)
    return source.scratch.table(f"SELECT {grouped}, count(*) AS n FROM ({rows}) GROUP BY ALL", "population")
