"""What can be required of a table: one entry for each measure, and everything else reads that entry.

An entry declares the macro that computes the measure, what the macro takes besides the table, and which side of a
threshold is safe. It also declares how the value of a class follows from its counts, how a policy writes the
requirement, and what a published file alone can prove. `sqlpriv check`, policies, methods, verify, the dbt package and
the page of a release all read MEASURES, so a new requirement is one macro in sql/ and one entry here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import macro

SIZE, HISTOGRAM, RELATION, POPULATION, TABLE = "size", "histogram", "relation", "population", "table"
TOGETHER = "together"
"""What the value of a class is computed from. TABLE: it is a value of all classes together, not of a class. TOGETHER:
likewise, where it depends on more than how many classes of which sizes there are (Joint)."""

HIERARCHY_CSV = ", delim = ';', header = false, all_varchar = true"
"""The options of read_csv for a file with a hierarchy of a sensitive column."""

# Parameters of macros that have another name than what they are given has here.
_PARAMETERS = {"buckets": "qis", "id": "person"}


@dataclass(frozen=True)
class Direction:
    """Which side of a threshold is safe."""

    operators: tuple[str, ...]
    """The comparisons that protect somebody; a policy means the first."""
    worst: str
    """The aggregate that gives the worst of several values."""
    threshold_key: str
    """How a policy names the threshold where there are arguments, too."""

    @property
    def is_at_least(self) -> bool:
        """Whether larger values are safer."""
        return self.worst == "min"


AT_LEAST = Direction((">=", ">"), "min", "at_least")
AT_MOST = Direction(("<=", "<"), "max", "at_most")
BELOW = Direction(("<",), "max", "at_most")
"""For a value that is an infimum: the bound does not itself hold."""


@dataclass(frozen=True)
class Argument:
    """What a macro takes besides the table, the quasi-identifiers, the sensitive column and the person."""

    name: str
    default: float | None = None
    """None: it must be given."""
    is_table: bool = False
    """Whether it names a table; no release holds one, so its file alone proves nothing about the requirement."""
    least: int | None = None
    """The smallest value, where it must be a whole number."""
    csv_options: str = ""
    """The options of read_csv for a file of it."""


@dataclass(frozen=True)
class Adversary:
    """An adversary of epsilon-privacy. A policy names it under the key epsilon."""

    name: str
    policy_keys: tuple[str, ...]
    """What a policy says of this adversary, besides column, at_most, b, predicates, nodes and hierarchy."""
    likely: str
    """How likely a value is believed to be before the release, by {weight}, the weight of the value."""
    out_of: str
    """Out of how much, by {sigma}, the stubbornness."""
    relation: str
    """The helper of sql/ that computes the epsilon of classes where predicates are given or persons counted."""
    weights: str | None
    """What the prior gives each value: its sigma or its share. None: no prior is given, only the stubbornness."""


@dataclass(frozen=True)
class Joint:
    """How a value of all classes together follows from what `formula` says of each class: class, and what these read.

    Leaving classes out must never make it worse.
    """

    together: str
    """A query for part and value, FROM {parts}: what the formula gives, each class in a part that is judged alone."""
    alone: str
    """SQL: the value of the class if there were no other. A class that fails alone fails among others."""
    bound: str
    """SQL: a value of the class, by {constant}; the worst over all classes is no better than that of all together."""
    constant: str
    """SQL: a constant that is good for the threshold {c}, by what the formula says of all rows as one class."""


@dataclass(frozen=True)
class Measure:
    """A measure that can be required. What is not declared is assumed not to hold: monotone, least of all."""

    name: str
    macro: str
    column: str
    """The result column of the macro."""
    direction: Direction
    reads: str | None = None
    """What `formula` reads. None: only the macro can compute it, so only `check` takes the requirement."""
    formula: str = ""
    """SQL for the value of a class, by helpers of sql/ and the arguments in braces.

    SIZE: an expression over {size}. HISTOGRAM: an aggregate over n, r, size, pairs, place, share, base and kinds of the
    values in a class. RELATION: a query for class and value, FROM {histogram} or {texts}. POPULATION: an expression
    over {size} and {people}, the members of the class in the population or NULL. TABLE: an expression over classes,
    size and uniques of the published classes. TOGETHER: a query for class and what `joint` reads, FROM {histogram}.
    """
    needs: tuple[str, ...] = ("sensitive",)
    """Roles beyond the quasi-identifiers: a sensitive column, a population."""
    arguments: tuple[Argument, ...] = ()
    adversary: Adversary | None = None
    """Of an epsilon; it stands in the place of `formula`."""
    joint: Joint | None = None
    """Of TOGETHER."""

    monotone: bool = False
    """A union of classes that hold holds too, so a node that fails rules out all below (docs/generalization.md)."""
    monotone_suppressed: bool = False
    """Also every part of a class that fails fails, so that the same is true where rows may be suppressed."""
    monotone_persons: bool = False
    """Both also where persons are counted, and classes share them."""
    counts_persons: bool = True
    """Whether it can be required where a person column is named."""
    is_count: bool = False
    """Its values are whole numbers, so thresholds are, too."""
    is_belief: bool = False
    """A probability that 1 always meets and 0 never."""
    at_most_size: bool = False
    """No class has a larger value than members: a class of fewer rows than the threshold fails."""
    against_table: bool = False
    """Compared with the values of the whole table: rows that are left out of a file are needed to judge it."""
    by_order: bool = False
    """Depends on the order of the sensitive values, which a text may have lost."""
    worse_for_persons: bool = False
    """What fails counted in rows fails counted in persons: a file without persons can refute it."""
    largest_share: str = ""
    """SQL: the share of a class that a value can have at most, where {threshold} is met. Empty: no such bound."""

    reported: str | None = None
    """The parameters of its row in priv.report, whose model is the macro. None: the report has no such row."""
    classes_macro: str = ""
    """The macro that lists the classes that fail, if it is not <macro>_classes."""
    policy_key: str = ""
    """Its key in [require], if that is not its name."""
    policy_names: tuple[str, ...] = ()
    """Other keys of [require] for the same."""
    threshold_key: str = ""
    """How a policy names the threshold where there are arguments, if not at_least or at_most."""

    @property
    def of(self) -> str:
        """Whether it is a measure of each class, or of the whole table."""
        return "table" if self.reads in (TABLE, TOGETHER) else "class"

    @cached_property
    def needs_sensitive(self) -> bool:
        """Whether it is about the values of a sensitive column."""
        return "sensitive" in self.needs

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its arguments."""
        return tuple(a.name for a in self.arguments)

    @cached_property
    def defaults(self) -> dict[str, float]:
        """The arguments that need not be given."""
        return {a.name: a.default for a in self.arguments if a.default is not None}

    @cached_property
    def reads_tables(self) -> bool:
        """Whether it takes a table besides the one that is judged."""
        return any(a.is_table for a in self.arguments)

    @cached_property
    def listing_macro(self) -> str:
        """The macro that lists the classes that fail."""
        return self.classes_macro or f"{self.macro}_classes"

    def select(
        self,
        called: str,
        table: str,
        qis: Sequence[str],
        sensitive: str | None = None,
        arguments: Mapping[str, object] | None = None,
        person: str | None = None,
    ) -> str:
        """A query for the value of a table. `called` is the macro with its schema."""
        given = {"tbl": table, "qis": list(qis), **(arguments or {})}
        given |= {"sensitive": sensitive} if self.needs_sensitive else {}
        given |= {"person": person} if person is not None else {}
        # As the shortest form of the macro takes them; NULL for what stands between and is not given.
        for overload in sorted(macro(self.macro).overloads, key=lambda o: len(o.params)):
            parameters = [_PARAMETERS.get(p, p) for p in overload.params]
            if given.keys() <= set(parameters):
                listed = ", ".join(literal(given.get(p)) for p in parameters)
                return f"SELECT {self.column} FROM {called}({listed})"
        raise InputError(f"the macro {self.macro} does not take {', '.join(given)}")


_POPULATION = (Argument("population", is_table=True),)
_B = Argument("b", 0)
_PLACES = "max(r), sum(CASE WHEN place >= {l} THEN r ELSE 0 END)"

# Named because an algorithm or a chart is about this one measure and no other.
K = Measure(
    "k", "k_anonymity", "k", AT_LEAST, SIZE, "{size}", needs=(), monotone=True, monotone_suppressed=True,
    monotone_persons=True, at_most_size=True, worse_for_persons=True, is_count=True, reported="",
)  # fmt: skip
ALPHA = Measure(
    "alpha", "alpha_k_anonymity", "alpha", AT_MOST, HISTOGRAM, "_alpha(n, size)", monotone=True,
    largest_share="{threshold}", reported="", policy_names=("alpha_k",),
)  # fmt: skip
DISTINCT_L = Measure(
    "distinct_l", "l_diversity", "distinct_l", AT_LEAST, HISTOGRAM, "_distinct_l(r)", monotone=True,
    monotone_suppressed=True, at_most_size=True, worse_for_persons=True, is_count=True, reported="distinct",
)  # fmt: skip
PROSECUTOR = Measure(
    "prosecutor", "risk", "prosecutor", AT_MOST, SIZE, "_match_risk({size})", needs=(), monotone=True,
    monotone_suppressed=True, monotone_persons=True, reported="prosecutor",
)  # fmt: skip
CLASS1 = Measure(
    "epsilon_class1", "epsilon_class1", "epsilon", AT_MOST, HISTOGRAM, monotone=True, against_table=True,
    arguments=(Argument("prior", is_table=True), _B), adversary=Adversary(
        "class1", ("shape", "sigma"), "_likely1(n, {weight})", "_out_of1(size, {sigma})", "_epsilon1_of", "sigma",
    ),
)  # fmt: skip
CLASS2 = Measure(
    "epsilon_class2", "epsilon_class2", "epsilon", AT_MOST, HISTOGRAM, monotone=True, against_table=True,
    arguments=(Argument("sigma", 1000000), _B), adversary=Adversary(
        "class2", ("sigma",), "_likely2(n)", "_out_of2(size, {sigma})", "_epsilon2_of", None,
    ),
)  # fmt: skip
CLASS3 = Measure(
    "epsilon_class3", "epsilon_class3", "epsilon", AT_MOST, HISTOGRAM, monotone=True, against_table=True,
    arguments=(Argument("shape", is_table=True), _B), adversary=Adversary(
        "class3", ("shape",), "_likely3({weight})", "_out_of3()", "_epsilon3_of", "share",
    ),
)  # fmt: skip
DISCLOSURE = Measure(
    "disclosure", "ck_safety", "disclosure", AT_MOST, TOGETHER, "FROM _escapes_of({histogram}, {k})", monotone=True,
    is_belief=True, arguments=(Argument("k", 1, least=1),), policy_key="ck_safety", joint=Joint(
        "FROM _disclosure_of({parts}, {k})", "_disclosure_alone(members, top, escapes)",
        "_disclosure_bound(members, top, escapes, {constant})", "_disclosure_rho(members, top, escapes, {c})",
    ),
)  # fmt: skip

MEASURES: dict[str, Measure] = {m.name: m for m in (
    K,
    ALPHA,
    DISTINCT_L,
    Measure(
        "entropy_l", "l_diversity", "entropy_l", AT_LEAST, HISTOGRAM, "_entropy_l(r, size)", monotone=True,
        at_most_size=True, reported="entropy", classes_macro="entropy_diversity_classes",
    ),
    Measure(
        "recursive_c", "recursive_diversity", "c", BELOW, HISTOGRAM, f"_recursive_c({_PLACES})", monotone=True,
        # r1 < c (r_l + ... + r_m), and what is in the brackets is at most all that is not r1.
        largest_share="CASE WHEN {l} < 2 THEN 1 ELSE _negation_posterior({threshold}, 1) END",
        arguments=(Argument("l", 2, least=1),), policy_names=("recursive",), threshold_key="c",
    ),
    Measure(
        "posterior", "negation_diversity", "posterior", AT_MOST, HISTOGRAM, f"_negation_posterior({_PLACES})",
        monotone=True, largest_share="{threshold}", arguments=(Argument("l", 2, least=2),),
    ),
    Measure(
        "t", "t_closeness", "t", AT_MOST, HISTOGRAM, "_t_equal(n / pairs, share)", monotone=True, against_table=True,
        reported="",
    ),
    Measure(
        "t_ordered", "t_closeness_ordered", "t", AT_MOST, RELATION, "FROM _t_ordered_of({histogram})", monotone=True,
        against_table=True, counts_persons=False, by_order=True, reported="",
    ),
    Measure(
        "t_hierarchical", "t_closeness_hierarchical", "t", AT_MOST, RELATION,
        "FROM _t_hierarchical_of({texts}, {hierarchy})", monotone=True, against_table=True, counts_persons=False,
        arguments=(Argument("hierarchy", is_table=True, csv_options=HIERARCHY_CSV),),
    ),
    Measure(
        "beta", "beta_likeness", "beta", AT_MOST, HISTOGRAM, "_beta(n, size, base)", monotone=True, against_table=True,
        reported="",
    ),
    Measure(
        "enhanced_beta", "enhanced_beta_likeness", "beta", AT_MOST, HISTOGRAM,
        "_enhanced_beta(n, size, base, _gain_ceiling(base))", monotone=True, against_table=True, reported="",
    ),
    Measure(
        "delta", "delta_disclosure", "delta", BELOW, HISTOGRAM, "_delta(n, size, base, any_value(kinds))",
        monotone=True, against_table=True, reported="",
    ),
    CLASS1,
    CLASS2,
    CLASS3,
    DISCLOSURE,
    PROSECUTOR,
    Measure(
        "marketer", "risk", "marketer", AT_MOST, TABLE, "_marketer(classes, size)", needs=(), monotone=True,
        reported="marketer",
    ),
    Measure("uniques", "risk", "uniques", AT_MOST, TABLE, "uniques", needs=(), monotone=True, reported="uniques"),
    Measure(
        "k_map", "k_map", "k", AT_LEAST, POPULATION, "coalesce({people}, 0)", needs=("population",),
        arguments=_POPULATION, monotone=True, monotone_suppressed=True, monotone_persons=True, is_count=True,
    ),
    Measure(
        "delta_presence", "delta_presence", "delta_max", AT_MOST, POPULATION, "_presence({size}, {people})",
        needs=("population",), arguments=_POPULATION, monotone=True,
    ),
    Measure(
        "journalist", "population_risk", "journalist", AT_MOST, POPULATION, "_journalist(coalesce({people}, 0))",
        needs=("population",), arguments=_POPULATION, monotone=True, monotone_suppressed=True, monotone_persons=True,
    ),
)}  # fmt: skip
