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

from sqlpriv.checks.requirements import Requirement
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.beliefs import Belief, read_belief, write_weights
from sqlpriv.methods.labelled.population import write_population
from sqlpriv.methods.labelled.scan import Frequencies, Scan
from sqlpriv.sqltext import literal
from sqlpriv.table.named_tables import read_named

SIZE, AGGREGATE, RELATION, POPULATION, TABLE = "size", "aggregate", "relation", "population", "table"
Term = tuple[str, str]
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
    terms: tuple[Term, ...] = ()
    """What the expression reads beside the histogram, by name; terms of one name are computed once for all."""

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
        """SQL that is true for a class, or a table, that does not meet the threshold. NULL: nothing there can fail."""
        fails = {">=": "<", "<=": ">", "<": ">="}[self.requirement.operator]
        return f"{self.column} {fails} {self.requirement.limit!r}::DOUBLE"


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
}
# What the adversary of a class takes as likely before the release, and out of how much.
_EPSILONS = {
    "epsilon_class1": ("_likely1(n, {weight})", "_out_of1(size, {sigma})"),
    "epsilon_class2": ("_likely2(n)", "_out_of2(size, {sigma})"),
    "epsilon_class3": ("_likely3({weight})", "_out_of3()"),
}
_SIZES = {"k": "z.size", "prosecutor": "_match_risk(z.size)"}
_TABLES = {"marketer": "_marketer(classes, size)", "uniques": "uniques"}
_POPULATIONS = {
    "k_map": "coalesce(people{i}, 0)",
    "journalist": "_journalist(coalesce(people{i}, 0))",
    "delta_presence": "_presence(z.size, people{i})",
}


def write_measures(scan: Frequencies) -> tuple[ClassMeasure, ...]:
    """The measures of all requirements; what they read (priors, predicates, populations) is put into tables."""
    return tuple(_measure(scan, i, r) for i, r in enumerate(scan.policy.requirements))


def _measure(scan: Frequencies, i: int, requirement: Requirement) -> ClassMeasure:
    name = requirement.name
    column = requirement.sensitive
    j = None if column is None else scan.policy.sensitive.index(column)
    person = scan.policy.person is not None
    kind, sql, terms = _sql(scan, i, j, requirement)
    # With persons, classes overlap: only what counts persons of a class grows with it.
    monotone = not person or name in {"k", "prosecutor", "k_map", "journalist"}
    counts = name in _COUNTS and not (person and name == "distinct_l")
    return ClassMeasure(requirement, i, kind, sql, j, monotone, counts, terms)


def _sql(scan: Frequencies, i: int, j: int | None, requirement: Requirement) -> tuple[str, str, tuple[Term, ...]]:
    name, arguments = requirement.name, requirement.arguments
    if name in _SIZES:
        return SIZE, inlined(_SIZES[name]), ()
    if name in _TABLES:
        return TABLE, inlined(_TABLES[name]), ()
    if name in _POPULATIONS:
        if not isinstance(scan, Scan):
            raise PolicyError(
                f"{requirement.text}: nobody knows which box people of a population would be in, so a release by "
                f"{scan.policy.method} cannot be judged against one; generalize can"
            )
        write_population(scan, i, str(arguments["population"]))
        return POPULATION, inlined(_POPULATIONS[name].format(i=i)), ()
    if name.startswith("epsilon_"):
        belief = read_belief(scan, i, j, requirement)
        if "predicates" in arguments or scan.policy.person is not None:
            return RELATION, _epsilon_relation(scan, i, j, requirement, belief), ()
        return AGGREGATE, *epsilon_of_classes(i, int(arguments["b"]), name, belief.weight, belief.stubbornness)
    if name in {"t_ordered", "t_hierarchical"}:
        return RELATION, _t_relation(scan, i, j, requirement), ()
    return AGGREGATE, inlined(_AGGREGATES[name].format(**arguments)), ()


def epsilon_of_classes(
    i: int, b: int, adversary: str, weight: str, stubbornness: float
) -> tuple[str, tuple[Term, ...]]:
    """The epsilon of a class as an aggregate over its histogram, with its terms; `weight` is that of a value, as SQL.

    The formula names each of its arguments several times, and to DuckDB 2 every name and operator of a query is work,
    more than the few thousand rows are. Doubles, so that nothing is cast again and again.
    """
    sigma = f"{float(stubbornness)!r}::DOUBLE"
    likely, out_of = (inlined(formula.format(weight=weight, sigma=sigma)) for formula in _EPSILONS[adversary])
    terms = {f"p_in{b}": f"n / (size - {b})", f"unknown{b}": f"size - {b}", f"rest{b}": f"size - {b} - n"}
    terms |= {f"likely{i}": likely, f"out_of{i}": out_of}
    epsilon = inlined(f"max(_epsilon_of(p_in{b}, unknown{b}, rest{b}, likely{i}, out_of{i}))")
    return epsilon, tuple((name, f"CAST({sql} AS DOUBLE)") for name, sql in terms.items())


def _t_relation(scan: Frequencies, i: int, j: int | None, requirement: Requirement) -> str:
    if scan.policy.person is not None:
        raise PolicyError(f"{requirement.name} cannot be required together with a person column; use t or epsilon")
    if requirement.name == "t_ordered":
        return inlined(f"FROM _t_ordered_of(__priv_histogram_{j})")
    table = f"sensitive_hierarchy_{i}"
    named = str(requirement.arguments["hierarchy"])
    read_named(scan.source, named, table, ", delim = ';', header = false, all_varchar = true")
    return inlined(f"FROM _t_hierarchical_of(__priv_texts_{j}, {literal(table)})")


def _epsilon_relation(scan: Frequencies, i: int, j: int | None, requirement: Requirement, belief: Belief) -> str:
    name, arguments = requirement.name, requirement.arguments
    given = repr(belief.stubbornness) if name == "epsilon_class2" else literal(write_weights(scan, i, j, belief))
    predicates = "NULL"
    if "predicates" in arguments:
        named = str(arguments["predicates"])
        predicates = literal(read_named(scan.source, named, f"predicates_{i}"))
    person = ", 'person'" if scan.policy.person is not None else ""
    number = name.removeprefix("epsilon_class")
    return inlined(f"FROM _epsilon{number}_of(__priv_holdings_{j}, {given}, {arguments['b']}, {predicates}{person})")
