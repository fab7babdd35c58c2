"""The requirements of a policy as SQL over the classes of many nodes.

A requirement looks at a class in one of four ways: by its size; by an aggregate over its histogram, where all of them
together are one GROUP BY; by a relation of its own, where the formula needs more than one pass (ordered and
hierarchical distance, sets of values, persons); or against the classes of a population. The formulas are the helpers
of sql/, the same that the public checks use. Two requirements, marketer and uniques, are about the table as a whole.

`monotone` says that a class which is the union of classes that hold, holds too, so that a node that fails rules out
all nodes below it (docs/lattice.md has the proofs). With suppression that is not enough: there a class that fails must
also have only parts that fail, which is true of counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.catalog import inlined
from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.lattice.domain import Domain
from sqlpriv.lattice.population import write_population
from sqlpriv.named import read_named
from sqlpriv.requirements import Requirement
from sqlpriv.sqltext import literal

SIZE, AGGREGATE, RELATION, POPULATION, TABLE = "size", "aggregate", "relation", "population", "table"
_COUNTS = frozenset({"k", "distinct_l", "prosecutor", "k_map", "journalist"})


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

    @property
    def column(self) -> str:
        """The name of its value in the classes."""
        return f"m{self.number}"

    @property
    def worst(self) -> str:
        """The aggregate that gives the worst value of several classes."""
        return "min" if self.requirement.operator == ">=" else "max"

    @property
    def fails(self) -> str:
        """SQL that is true for a class, or a table, that does not meet the threshold."""
        threshold = repr(self.requirement.threshold)
        if self.requirement.operator == "<":
            return inlined(f"coalesce(NOT _below({self.column}, {threshold}), false)")
        if self.requirement.operator == "<=":
            return inlined(f"coalesce(_above({self.column}, {threshold}), false)")
        if self.requirement.name == "entropy_l":
            return inlined(f"coalesce(_below({self.column}, {threshold}), false)")
        return f"coalesce({self.column} < {threshold}, false)"


# Aggregates over the histogram of a class: n, r, size, pairs, share, base, kinds; see sql/.
_AGGREGATES = {
    "alpha": "_alpha(n, size)",
    "distinct_l": "_distinct_l(r)",
    "entropy_l": "_entropy_l(r, size)",
    "recursive_c": "_recursive_c(max(r), sum(CASE WHEN place >= {l} THEN r ELSE 0 END))",
    "posterior": "_negation_posterior(max(r), sum(CASE WHEN place >= {l} THEN r ELSE 0 END))",
    "t": "_t_equal(n / pairs, share)",
    "beta": "_beta(n, size, base)",
    "enhanced_beta": "_enhanced_beta(n, size, base, _gain_ceiling(base))",
    "delta": "_delta(n, size, base, any_value(kinds))",
    "epsilon_class1": "max(_epsilon(n, size, {b}, n + w{i} - 1, size + {sigma} - 1))",
    "epsilon_class2": "max(_epsilon(n, size, {b}, n, size - 1 + {sigma}))",
    "epsilon_class3": "max(_epsilon(n, size, {b}, w{i}, 1.0))",
}
_SIZES = {"k": "z.size", "prosecutor": "1 / z.size"}
_TABLES = {"marketer": "classes / size", "uniques": "uniques"}
_POPULATIONS = {
    "k_map": "coalesce(people{i}, 0)",
    "journalist": "1 / greatest(coalesce(people{i}, 0), 1)",
    "delta_presence": "CASE WHEN people{i} IS NULL OR z.size > people{i} THEN error('sqlpriv: the table is not part of "
    "the population: a class has more people in the table') ELSE z.size / people{i} END",
}


def write_measures(domain: Domain) -> tuple[ClassMeasure, ...]:
    """The measures of all requirements; what they read (priors, predicates, populations) is put into tables."""
    return tuple(_measure(domain, i, r) for i, r in enumerate(domain.policy.requirements))


def _measure(domain: Domain, i: int, requirement: Requirement) -> ClassMeasure:
    name = requirement.name
    column = requirement.sensitive
    j = None if column is None else domain.policy.sensitive.index(column)
    person = domain.policy.person is not None
    kind, sql = _sql(domain, i, j, requirement)
    # With persons, classes overlap: only what counts persons of a class grows with it.
    monotone = not person or name in {"k", "prosecutor", "k_map", "journalist"}
    counts = name in _COUNTS and not (person and name == "distinct_l")
    return ClassMeasure(requirement, i, kind, sql, j, monotone, counts)


def _sql(domain: Domain, i: int, j: int | None, requirement: Requirement) -> tuple[str, str]:
    name, arguments = requirement.name, requirement.arguments
    if name in _SIZES:
        return SIZE, _SIZES[name]
    if name in _TABLES:
        return TABLE, _TABLES[name]
    if name in _POPULATIONS:
        write_population(domain, i, str(arguments["population"]))
        return POPULATION, _POPULATIONS[name].format(i=i)
    if name.startswith("epsilon_"):
        sigma = _write_weights(domain, i, j, requirement)
        if "predicates" in arguments or domain.policy.person is not None:
            return RELATION, _epsilon_relation(domain, i, j, requirement, sigma)
        return AGGREGATE, inlined(_AGGREGATES[name].format(i=i, b=arguments["b"], sigma=repr(sigma)))
    if name in {"t_ordered", "t_hierarchical"}:
        return RELATION, _t_relation(domain, i, j, requirement)
    return AGGREGATE, inlined(_AGGREGATES[name].format(**arguments))


def _t_relation(domain: Domain, i: int, j: int | None, requirement: Requirement) -> str:
    if domain.policy.person is not None:
        raise PolicyError(f"{requirement.name} cannot be required together with a person column; use t or epsilon")
    if requirement.name == "t_ordered":
        return inlined(f"FROM _t_ordered_of(__priv_histogram_{j})")
    table = f"sensitive_hierarchy_{i}"
    named = str(requirement.arguments["hierarchy"])
    read_named(domain.source, domain.policy, named, table, ", delim = ';', header = false, all_varchar = true")
    return inlined(f"FROM _t_hierarchical_of(__priv_texts_{j}, {literal(table)})")


def _epsilon_relation(domain: Domain, i: int, j: int | None, requirement: Requirement, sigma: float) -> str:
    name, arguments = requirement.name, requirement.arguments
    belief = repr(sigma) if name == "epsilon_class2" else literal(f"weights_{i}")
    predicates = "NULL"
    if "predicates" in arguments:
        named = str(arguments["predicates"])
        predicates = literal(read_named(domain.source, domain.policy, named, f"predicates_{i}"))
    person = ", 'person'" if domain.policy.person is not None else ""
    number = name.removeprefix("epsilon_class")
    return inlined(f"FROM _epsilon{number}_of(__priv_holdings_{j}, {belief}, {arguments['b']}, {predicates}{person})")


def _write_weights(domain: Domain, i: int, j: int | None, requirement: Requirement) -> float:
    """Table weights_<i>: each sensitive value with its sigma (class1) or share (class3). Returns the stubbornness."""
    con, arguments = domain.source.con, requirement.arguments
    shape, sigma = str(arguments.get("shape", "")), float(arguments.get("sigma", 1))
    if requirement.name == "epsilon_class2":
        kinds = fetch(con, f"SELECT count(*) FROM values_{j}")[0][0]
        if not kinds <= sigma <= 1e300:
            raise PolicyError(f"{requirement.text}: sigma must be at least {kinds}, the number of sensitive values")
        return sigma
    word = "sigma" if requirement.name == "epsilon_class1" else "share"
    factor = repr(sigma) if word == "sigma" else "1.0"
    if shape in {"uniform", "table"}:
        share = "1 / kinds" if shape == "uniform" else "share"
        rows = f"SELECT value, {factor} * ({share}) AS {word} FROM values_{j}"
    else:
        table = read_named(domain.source, domain.policy, shape, f"shape_{i}")
        present = {r[0].lower() for r in fetch(con, f"DESCRIBE {table}")}
        if "value" not in present or not present & {word, "share"}:
            raise PolicyError(f"{requirement.text}: the table of the shape needs the columns value and {word}")
        if word not in present and "sigma" not in arguments:
            raise PolicyError(f"{requirement.text}: the shape holds shares, so sigma must be given too")
        given = word if word in present else f"{factor} * share"
        rows = f"SELECT value, TRY_CAST({given} AS DOUBLE) AS {word} FROM {table}"
    fetch(con, f"CREATE OR REPLACE TABLE weights_{i} AS {rows}")
    total = _check_weights(domain, i, j, requirement, word)
    fetch(
        con,
        f"CREATE OR REPLACE TABLE values_{j} AS SELECT v.*, w.{word} AS w{i} FROM values_{j} AS v "
        f"JOIN weights_{i} AS w ON CAST(v.value AS VARCHAR) IS NOT DISTINCT FROM CAST(w.value AS VARCHAR)",
    )
    return total


def _check_weights(domain: Domain, i: int, j: int | None, requirement: Requirement, word: str) -> float:
    con = domain.source.con
    least = 1 if word == "sigma" else 0
    items = f"(SELECT CAST(value AS VARCHAR) AS item, {word} AS weight FROM weights_{i})"
    twice, wrong, total = fetch(
        con,
        f"SELECT (SELECT count(*) FROM (SELECT item FROM {items} GROUP BY item HAVING count(*) > 1)), "
        f"count(CASE WHEN weight BETWEEN {least} AND 1e300 THEN NULL ELSE 1 END), sum(weight) FROM {items}",
    )[0]
    missing = fetch(
        con,
        f"SELECT count(*) FROM values_{j} AS v WHERE NOT EXISTS "
        f"(FROM {items} AS w WHERE w.item IS NOT DISTINCT FROM CAST(v.value AS VARCHAR))",
    )[0][0]
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
