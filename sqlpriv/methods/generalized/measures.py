"""The requirements of a policy as SQL over the classes of many nodes.

Each entry of checks/measures.py says what the value of a class is read from: its size, its histogram, the classes of a
population, or all classes of the table. All aggregates over the histogram together are one GROUP BY. A formula that
needs more than one pass has a relation of its own (ordered and hierarchical distance, sets of values, persons). Here
the formula is filled in, and the relations that it reads are made.

A measure of classes together that depends on what is in them (TOGETHER) is judged twice. A class that fails alone fails
in every release that shows it; what all classes that are left have together is the value. Where one class is judged at
a time, a bound by each class takes the place of the first.

Among these are the beliefs of adversaries before the release: the prior of class I, the stubbornness of class II, the
shape of III. They are checked as the macros of epsilon_privacy.sql check theirs: every value of the table is in it, no
sigma(s) is below 1, shares add up to 1. A uniform shape, or that of the table, is an expression over the values;
another is a table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlpriv.checks.measures import HIERARCHY_CSV, HISTOGRAM, POPULATION, RELATION, TABLE, TOGETHER, Adversary
from sqlpriv.checks.requirements import Requirement, limit
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import call_text
from sqlpriv.methods.generalized.scan import Scan, ScannedTable, number_rows
from sqlpriv.methods.lattice import Outcome
from sqlpriv.table.named_tables import find_named, read_named
from sqlpriv.table.source import Source

Term = tuple[str, str]

# Ids and values of a file as they are written there: DuckDB would take 1e5 for a number.
_AS_WRITTEN = ", all_varchar = true"


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
    """The terms of the expression besides the histogram, by name; those of one name are computed once for all."""
    values: Relation | None = None
    """The values of the sensitive column, with the weights w<i> that the measures of this column read."""
    population: Relation | None = None
    """The population by numbers: a<attribute> as in the base, holder with a person column, n."""
    of_class: str = ""
    """Of TOGETHER: SQL for the value of a class alone, or for a bound by it, over what `sql` says of the class."""
    together: str = ""
    """Of TOGETHER: a query for part and value FROM __priv_parts_<number>, classes with what `sql` says of them."""

    @property
    def column(self) -> str:
        """The name of its value in the classes."""
        return f"m{self.number}"

    @property
    def of_table(self) -> bool:
        """Whether it is a value of all classes together."""
        return self.kind in (TABLE, TOGETHER)

    @property
    def worst(self) -> str:
        """The aggregate that gives the worst value of several classes."""
        return self.requirement.measure.direction.worst

    def holds(self, outcome: Outcome) -> bool:
        """Whether it holds at a node with nothing suppressed."""
        value = outcome.worst[self.number]
        return value is None or self.requirement.holds(float(value))

    @property
    def fails(self) -> str:
        """SQL that is true for a class, or a table, that does not meet the threshold. NULL: nothing there can fail."""
        return self.fails_by(self.column)

    def fails_by(self, value: str) -> str:
        """Likewise for another value."""
        fails = {">=": "<", "<=": ">", "<": ">="}[self.requirement.operator]
        return f"{value} {fails} {self.requirement.limit!r}::DOUBLE"


@dataclass(frozen=True)
class Belief:
    """The weight of a value (its sigma or share), as SQL over the values, and the stubbornness, their sum."""

    word: str
    weight: str
    stubbornness: float
    values: Relation
    """The values of the sensitive column; with column w<i>, where the weights are read from a table."""
    listed: Relation | None = None
    """The weights as they are read from a table: item, weight."""


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
    found = ClassMeasure(requirement, i, kind, sql, j, monotone, suppressed, terms, population=population)
    if measure.joint is None:
        return found
    together = inlined(measure.joint.together.format(parts=f"__priv_parts_{i}", **arguments))
    return replace(found, of_class=inlined(measure.joint.alone), together=together)


def _epsilon(
    scan: ScannedTable, weighed: list[Relation], i: int, j: int, requirement: Requirement, adversary: Adversary
) -> tuple[str, str, tuple[Term, ...]]:
    """The kind of the measure for the epsilon of a class, its SQL, and the terms of that."""
    belief = _read_belief(scan, weighed[j], i, j, requirement, adversary)
    arguments, scratch = requirement.arguments, scan.source.scratch
    weighed[j] = belief.values
    if not {"predicates", "nodes"} & arguments.keys() and scan.policy.person is None:
        return HISTOGRAM, *epsilon_of_classes(i, int(arguments["b"]), adversary, belief.weight, belief.stubbornness)
    # Sets of values, or persons with several: a query over the classes, with the belief as a relation.
    given, predicates, known = repr(belief.stubbornness), "NULL", belief.values.name
    if adversary.weights:
        weights = f"SELECT value, {belief.weight} AS {belief.word} FROM {belief.values.name}"
        if belief.listed is not None:
            weights = f"SELECT item AS value, weight AS {belief.word} FROM {belief.listed.name}"
        known = scratch.table(weights, "weights").name
        given = literal(known)
    if "predicates" in arguments or "nodes" in arguments:
        predicates = literal(_predicates(scan, requirement, known).name)
    person = ", 'person'" if scan.policy.person is not None else ""
    sql = f"FROM {adversary.relation}(__priv_holdings_{j}, {given}, {arguments['b']}, {predicates}{person})"
    return RELATION, inlined(sql), ()


def _predicates(scan: ScannedTable, requirement: Requirement, known: str) -> Relation:
    """Named sets as they are given, or those below the nodes that people name, of the values in `known`."""
    source, arguments = scan.source, requirement.arguments
    if "predicates" in arguments:
        found = read_named(source, str(arguments["predicates"]), source.scratch, _AS_WRITTEN)
        if "at_most" in map(folded, found.columns):
            raise PolicyError(f"{requirement.text}: the predicates have bounds of their own; give nodes, or one bound")
        _refuse_strangers(scan, requirement, found)
        return found
    nodes = read_named(source, str(arguments["nodes"]), source.scratch, _AS_WRITTEN)
    missing = {"id", "node", "at_most"} - set(map(folded, nodes.columns))
    if missing:
        raise PolicyError(f"{requirement.text}: the table of the nodes has no column {min(missing)!r}")
    _refuse_strangers(scan, requirement, nodes)
    paths = read_named(source, str(arguments["hierarchy"]), source.scratch, HIERARCHY_CSV)
    made = call_text("guarding_nodes", nodes.name, paths.name, known)
    return source.scratch.table(f"FROM {made}", "predicates")


def _refuse_strangers(scan: ScannedTable, requirement: Requirement, named: Relation) -> None:
    """Refuse what people name where none of them is in the table: their ids are spelt otherwise, and nobody guarded."""
    if scan.policy.person is None or "id" not in map(folded, named.columns):
        return
    people = f"SELECT CAST({quoted(scan.policy.person)} AS VARCHAR) FROM {scan.frequencies.relation.name}"
    whose = f"id IS NULL OR CAST(id AS VARCHAR) IN ({people})"
    ((total, here),) = fetch(named.con, f"SELECT count(*), count(*) FILTER ({whose}) FROM {named.name}")
    if total and not here:
        raise PolicyError(f"{requirement.text}: nobody of {scan.policy.person!r} is among the ids of its table")


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
        f"SELECT {a} AS attribute, CAST({quoted(qi)} AS VARCHAR) AS value FROM {people.name}"
        for a, qi in enumerate(policy.qis)
    )
    leaves = scan.labels.leaves
    for a, uncovered in sorted(fetch(source.con, inlined(f"FROM _uncovered(({listed}), {leaves.name})"))):
        raise PolicyError(
            f"hierarchy of {policy.qis[a]!r}, level 0: {uncovered} value(s) of the population are not in it"
        )
    columns = [f"l{a}.numbers AS a{a}" for a in range(len(policy.qis))]
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    grouped = ", ".join([f"a{a}" for a in range(len(policy.qis))] + (["holder"] if policy.person else []))
    rows = number_rows(policy, people, ", ".join(columns), leaves)
    return source.scratch.table(f"SELECT {grouped}, count(*) AS n FROM ({rows}) GROUP BY ALL", "population")


def _read_belief(
    scan: ScannedTable, values: Relation, i: int, j: int, requirement: Requirement, adversary: Adversary
) -> Belief:
    """The belief of the i-th requirement, about the j-th sensitive column, whose values are given."""
    arguments = requirement.arguments
    shape, sigma = str(arguments.get("shape", "")), float(arguments.get("sigma", 1))
    kinds, least = scan.values[j].kinds, scan.values[j].least
    word = adversary.weights
    if word is None:
        if not kinds <= sigma <= 1e300:
            raise PolicyError(f"{requirement.text}: sigma must be at least {kinds}, the number of sensitive values")
        return Belief("sigma", "1", sigma, values)
    if shape not in {"uniform", "table"}:
        return _read_table(scan.source, values, i, requirement, word)
    smallest = 1 / kinds if shape == "uniform" else least
    if word == "sigma" and not limit(1, ">=") <= sigma * smallest <= 1e300:
        raise PolicyError(
            f"{requirement.text}: some value gets a sigma below 1, which no prior of whole counts has; "
            f"sigma must be at least {1 / smallest:.6g}"
        )
    share = "1 / kinds" if shape == "uniform" else "share"
    weight = f"({share})" if word == "share" else inlined(f"_sigma_of({sigma!r}, {share})")
    return Belief(word, weight, sigma, values)


def _read_table(source: Source, values: Relation, i: int, requirement: Requirement, word: str) -> Belief:
    """A shape or prior from a table; its weights are added to the values as column w<i>."""
    arguments, scratch = requirement.arguments, source.scratch
    shape = scratch.table(f"FROM {find_named(source, str(arguments['shape']))}", "shape")
    present = {folded(name) for name in shape.columns}
    if "value" not in present or not present & {word, "share"}:
        raise PolicyError(f"{requirement.text}: the table of the shape needs the columns value and {word}")
    if word not in present and "sigma" not in arguments:
        raise PolicyError(f"{requirement.text}: the shape holds shares, so sigma must be given too")
    if word == "sigma" and word in present and "sigma" in arguments:
        raise PolicyError(f"{requirement.text}: the table of the shape gives every sigma already; leave sigma out")
    given = word if word in present else inlined(f"_sigma_of({float(arguments['sigma'])!r}, share)")
    weights = scratch.table(
        f"SELECT CAST(value AS VARCHAR) AS item, TRY_CAST({given} AS DOUBLE) AS weight FROM {shape.name}",
        "shape_weights",
    )
    total = _check_weights(weights, values, requirement, word)
    weighed = scratch.table(
        f"SELECT v.*, w.weight AS w{i} FROM {values.name} AS v "
        f"JOIN {weights.name} AS w ON CAST(v.value AS VARCHAR) IS NOT DISTINCT FROM w.item",
        "values",
    )
    return Belief(word, f"w{i}", total, weighed, weights)


def _check_weights(weights: Relation, values: Relation, requirement: Requirement, word: str) -> float:
    least = 1 if word == "sigma" else 0
    twice, wrong, missing, total = fetch(
        weights.con,
        f"SELECT (SELECT count(*) FROM (SELECT item FROM {weights.name} GROUP BY item HAVING count(*) > 1)), "
        f"count(CASE WHEN weight BETWEEN {least} AND 1e300 THEN NULL ELSE 1 END), "
        f"(SELECT count(*) FROM {values.name} AS v WHERE NOT EXISTS (FROM {weights.name} AS w "
        f"WHERE w.item IS NOT DISTINCT FROM CAST(v.value AS VARCHAR))), sum(weight) FROM {weights.name}",
    )[0]
    fault = None
    if missing:
        fault = f"the shape misses {missing} sensitive value(s) of the table"
    elif twice:
        fault = f"the shape has {twice} value(s) twice"
    elif wrong and least:
        fault = f"{wrong} value(s) get a sigma below 1, which no prior of whole counts has; give a larger sigma"
    elif wrong:
        fault = f"{wrong} share(s) of the shape are not numbers of at least 0"
    elif word == "share" and abs(total - 1) > 1e-9:
        fault = "the shares of the shape do not add up to 1"
    if fault:
        raise PolicyError(f"{requirement.text}: {fault}")
    return float(total)
