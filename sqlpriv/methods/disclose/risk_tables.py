"""What the macros of risk are given: hierarchies, weights and dictionaries as tables of texts, and the risk of rows.

`read_tables` is given the attributes with queries for their values, and returns a `RiskTables`. Columns are numbered:
no name of a private column can be mistaken for another one in a query. A table of records has the columns a0, a1, ...,
and the person where weights are personal; a dictionary has e0, e1, ... for the attributes that one of them knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.errors import InputError, InternalError, PolicyError, SqlprivError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.risk.dictionaries import Dictionary, entry_expression, from_with_texts
from sqlpriv.table.hierarchies import TOP, comes_from_a_table, wide_rows
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source

PERSON = "person"
_PHI, _PSI = "disclose_phi", "disclose_psi"
Item = dict[str, str | list[str] | None]
"""An attribute or a set of attributes in a list of weights."""


@dataclass(frozen=True)
class WeightedAttribute:
    """A column that has a weight, as the macros need it."""

    axis: Axis
    weight: float
    psi: float | None
    """Its weight where the person is not found; None where no cell has such a weight."""
    tree: Relation
    """Its hierarchy, for all values of the table, the dictionaries and the public domain."""
    values: Relation | None
    """The weights by value, if the policy names such a table."""
    is_known: bool
    """Whether a dictionary knows it."""

    @cached_property
    def as_weight(self) -> Item:
        """As `sensitivity` needs it."""
        names: Item = {"attribute": f"a{self.axis.number}", "also": None, "weight": _shown_weight(self.weight)}
        return {**names, "hierarchy": self.tree.name, "values": None if self.values is None else self.values.name}

    @property
    def entry(self) -> str | None:
        """Its column in the dictionaries."""
        return f"e{self.axis.number}" if self.is_known else None


def _shown_weight(weight: float) -> str:
    """A weight as the macros read it."""
    return "Infinity" if weight == math.inf else repr(weight)


@dataclass(frozen=True)
class RiskTables:
    """The attributes, the dictionaries and people's own weights, and questions about risk by them."""

    source: Source
    policy: DisclosePolicy
    attributes: tuple[WeightedAttribute, ...]
    entries: tuple[Relation, ...]
    """The dictionaries."""
    personal: Relation | None
    """People's own weights, if there are any: person, attribute, weight."""

    @cached_property
    def known(self) -> tuple[WeightedAttribute, ...]:
        """The attributes that a dictionary knows."""
        return tuple(a for a in self.attributes if a.is_known)

    @cached_property
    def priors(self) -> tuple[float, ...]:
        """The prior of each dictionary; equal ones where the policy has none."""
        given = [dictionary.prior for dictionary in self.policy.dictionaries]
        return tuple(1 / len(given) if prior is None else prior for prior in given) or (1.0,)

    @cached_property
    def candidate_weights(self) -> list[Item]:
        """Attributes and sets of them as `disclosure_offers` needs them."""
        own: list[Item] = [
            {**a.as_weight, "psi": None if a.psi is None else repr(a.psi), "entry": a.entry} for a in self.attributes
        ]
        return own + [{**together, "psi": None, "entry": None} for together in _together(self.policy)]

    @cached_property
    def dictionaries_argument(self) -> str:
        """The dictionaries as `disclosure_offers` needs them: one by name, several with their priors."""
        if len(self.entries) == 1:
            return literal(self.entries[0].name)
        shares = (f"{literal(own.name)}: {prior!r}" for own, prior in zip(self.entries, self.priors, strict=True))
        return f"MAP {{{', '.join(shares)}}}"

    @cached_property
    def person_arguments(self) -> str:
        """The last arguments of macros with personal weights, after a comma; empty where weights are not personal."""
        if self.policy.personal is None or self.personal is None:
            return ""
        return (
            f", {literal(PERSON)}, {literal(self.personal.name)}, {literal(_shown_weight(self.policy.personal.total))}"
        )

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors of the macros of risk, which number attributes and links, become errors with names of columns."""
        try:
            yield
        except InputError as error:
            numbered = {"attribute": self.attributes, "link": self.known}
            text = re.sub(
                r"\b(attribute|link) ([1-9])\b", lambda m: repr(numbered[m[1]][int(m[2]) - 1].axis.column), str(error)
            )
            raise PolicyError(text) from None

    def table(self, query: str, hint: str) -> Relation:
        """The rows of a query with a macro of risk, as a table; errors name the columns."""
        with self.naming():
            return self.source.scratch.table(query, hint)

    def fetch(self, query: str) -> list[Row]:
        """The rows of a query with a macro of risk; errors name the columns."""
        with self.naming():
            return fetch(self.source.con, query)

    def risk_of(self, rows: Relation) -> tuple[float, float]:
        """Risk and worst loss of rows of labels, by other macros than those that choose labels."""
        policy, need = self.policy, self.source.need
        with self.source.scratch.nested() as scratch, self.naming():
            form, persons = literal(policy.form), self.person_arguments
            macro = need("personal_sensitivity" if persons else "sensitivity")
            weights = literal([a.as_weight for a in self.attributes] + _together(policy))
            numbered = f"record.*, row_number() OVER () AS place, sensitivity AS {_PHI}"
            call = f"{macro}({literal(rows.name)}, {weights}, {form}{persons})"
            weighed, psi = scratch.table(f"SELECT {numbered} FROM {call}", "weighed"), repr(policy.psi)
            if policy.psi_of_cells:  # also where the person is not found
                missed = literal([{**a.as_weight, "weight": repr(a.psi or 0.0)} for a in self.attributes])
                call = f"{need('sensitivity')}({literal(weighed.name)}, {missed}, {form})"
                both = inlined(f"_psi_with(sensitivity, {policy.psi!r})")
                weighed, psi = scratch.table(f"SELECT record.*, {both} AS {_PSI} FROM {call}", "weighed"), literal(_PSI)
            links = [{"record": f"a{a.axis.number}", "entry": a.entry, "hierarchy": a.tree.name} for a in self.known]
            given = [
                f"{literal(weighed.name)}, {literal(own.name)}, {literal(links)}, {literal(_PHI)}, {psi}"
                for own in self.entries
            ]
            if len(given) == 1:
                figures = f"SELECT risk, worst FROM {need('disclosure_risk')}({given[0]})"
            else:
                macro, loss = (
                    need("disclosure_risk_records"),
                    inlined(f"_taken_together({literal(policy.judge)}, prior, loss)"),
                )
                parts = (
                    f"SELECT record.place AS place, {prior!r} AS prior, loss FROM {macro}({own}, -1)"
                    for own, prior in zip(given, self.priors, strict=True)
                )
                losses = scratch.table(" UNION ALL ".join(parts), "losses")
                each = f"SELECT {loss} AS loss FROM {losses.name} GROUP BY place"
                figures = f"SELECT {inlined('_mean_of(loss, 1)')}, max(loss) FROM ({each})"
            ((risk, worst),) = fetch(self.source.con, figures)
        return float(risk), float(worst)


def _together(policy: DisclosePolicy) -> list[Item]:
    """The pairs and larger sets of the policy as `sensitivity` and `disclosure_offers` need them."""
    place = {folded(name): f"a{a}" for a, name in enumerate(policy.qis)}
    return [
        {"attribute": first, "also": others, "weight": _shown_weight(own.weight), "hierarchy": None, "values": None}
        for own in policy.pairs
        for first, *others in [[place[folded(name)] for name in own.columns]]
    ]


def read_tables(
    source: Source,
    policy: DisclosePolicy,
    axes: Sequence[Axis],
    types: Mapping[str, str],
    values: Sequence[str],
    own_rows: str,
) -> RiskTables:
    """Read hierarchies, weights and dictionaries; refuse what does not fit the table or a dictionary.

    `types` are of the columns, `values` are queries, one for each attribute, of its values, and `own_rows` is a query
    for the rows of the table, which is the dictionary where the policy names none.
    """
    if policy.dictionaries:
        entries, known = _read_entries(source, policy, axes, types)
    else:
        listed = ", ".join(f"CAST({quoted(x.column)} AS VARCHAR) AS e{x.number}" for x in axes)
        entries = (source.scratch.table(f"SELECT {listed} FROM ({own_rows})", "entries"),)
        known = frozenset(x.number for x in axes)
    weights = {folded(c.name): c.given["weight"] for c in policy.columns if "weight" in c.given}
    missed = {folded(name): psi for name, psi in policy.psi_of_cells.items()}
    attributes = []
    for axis, own in zip(axes, values, strict=True):
        cells = " UNION ALL ".join(f"SELECT e{axis.number} AS e FROM {table.name}" for table in entries)
        is_known = axis.number in known
        tree = _read_tree(source, axis, types[axis.column], own, cells if is_known else None)
        given, name = weights[folded(axis.column)], folded(axis.column)
        by_value = _read_weights(source, axis, given) if isinstance(given, str) else None
        weight = 1.0 if by_value else float(given)
        attributes.append(WeightedAttribute(axis, weight, missed.get(name), tree, by_value, is_known))
    return RiskTables(source, policy, tuple(attributes), entries, _read_personal(source, policy))


# -------------------- the dictionaries


def _read_entries(
    source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str]
) -> tuple[tuple[Relation, ...], frozenset[int]]:
    """A table of each dictionary, and the attributes that one of them knows. What only another one knows is NULL."""
    expressions = [_expressions(source, policy, dictionary, axes) for dictionary in policy.dictionaries]
    known = frozenset(a for own in expressions for a in own)
    tables = []
    for dictionary, own in zip(policy.dictionaries, expressions, strict=True):
        columns = _described(source, dictionary.source, "the dictionary")
        rows = from_with_texts(source, dictionary.source, [c for c in columns if quoted(c) in own.values()])
        for axis in axes:
            # A hierarchy compares by its own labels.
            if axis.number in own and policy.hierarchies[policy.qis[axis.number]] == "suppression":
                _refuse_type(source, axis, types[axis.column], own[axis.number], rows)
        texts = {a: own.get(a, "CAST(NULL AS VARCHAR)") for a in sorted(known)}
        listed = ", ".join(f"TRY_CAST({text} AS VARCHAR) AS e{a}" for a, text in texts.items())
        # DuckDB refuses unnest, windows and aggregates in a WHERE clause: so one entry stays one entry.
        each = " AND ".join(f"(({text} IS NULL) IS NOT NULL)" for text in texts.values())
        try:
            tables.append(source.scratch.table(f"SELECT {listed} FROM {rows} WHERE {each}", "entries"))
        except SqlprivError:
            raise PolicyError(
                f"the entries of the policy do not work on the dictionary {dictionary.source!r}: try them in SQL"
            ) from None
    return tuple(tables), known


def _expressions(
    source: Source, policy: DisclosePolicy, dictionary: Dictionary, axes: Sequence[Axis]
) -> dict[int, str]:
    """SQL for what a dictionary knows of each attribute."""
    columns = _described(source, dictionary.source, "the dictionary")
    given = {folded(c.name): c.given.get("entry") for c in policy.columns}
    found = {
        x.number: entry_expression(columns, x.column, dictionary.entry(x.column, given[folded(x.column)])) for x in axes
    }
    known = {a: text for a, text in found.items() if text is not None}
    if not known:
        raise PolicyError(
            f"the dictionary {dictionary.source!r} shares no attribute with the table: it has {', '.join(columns)}; "
            "give a column an entry"
        )
    return known


def _described(source: Source, name: str, what: str) -> Mapping[str, str]:
    """The columns of a table that the policy names, with their types."""
    try:
        return Relation(source.con, find_named(source, name)).columns
    except PolicyError:
        raise
    except SqlprivError as error:
        why = "" if isinstance(error, InternalError) else f": {error}"
        raise PolicyError(f"{what} {name!r} cannot be read{why}") from None


def _refuse_type(source: Source, axis: Axis, own: str, entry: str, rows: str) -> None:
    """Refuse values of two types that are never equal as texts."""
    try:
        (other,) = Relation(source.con, f"(SELECT {entry} AS e FROM {rows})").columns.values()
    except SqlprivError:
        raise PolicyError(f"the entry of {axis.column!r} does not work on the dictionary: try it in SQL") from None
    alike = source.calls.value(f"_alike({literal(literal(own))}, {literal(literal(other))})")
    if not fetch(source.con, f"SELECT {alike}")[0][0]:
        raise PolicyError(
            f"{axis.column!r} is {own}, and what the dictionary knows of it is {other}: these are never equal as "
            "texts; write an entry that casts it, or give the column a hierarchy that has both"
        )


# -------------------- hierarchies and weights


def _read_tree(source: Source, axis: Axis, own: str, values: str, entries: str | None) -> Relation:
    """The hierarchy of an attribute; one that does not cover the entries of a dictionary is refused."""
    assert axis.given is not None
    tree = _labels(source, axis, values)
    if entries is None:
        return tree

    def missed(covered: Relation) -> str:
        labels = f"SELECT unnest(list_value(*COLUMNS(*))) AS label FROM {covered.name}"
        return (
            f"SELECT DISTINCT e FROM ({entries}) WHERE e IS NOT NULL AND e <> {literal(TOP)} AND e NOT IN "
            f"(SELECT label FROM ({labels}) WHERE label IS NOT NULL)"
        )

    if not comes_from_a_table(axis.given):
        # Labels in the dictionary are covered already. What is left may be values that no row has.
        read = f"TRY_CAST(e AS {own})"
        tree = _labels(
            source, axis, f"{values} UNION SELECT {read} FROM ({missed(tree)}) WHERE CAST({read} AS VARCHAR) = e"
        )
    left = fetch(source.con, f"SELECT count(*) FROM ({missed(tree)})")[0][0]
    if left:
        raise PolicyError(
            f"the hierarchy of {axis.column!r} does not cover the dictionary: {left:,} of its values are neither "
            "values nor labels of it; add them, or write an entry that makes them so"
        )
    return tree


def _labels(source: Source, axis: Axis, values: str) -> Relation:
    assert axis.given is not None
    below = source.scratch.table(values, "values")
    try:
        return source.scratch.table(wide_rows(source, axis.given, axis.column, below.name), "tree")
    except InternalError:
        raise PolicyError(f"the hierarchy of {axis.column!r} does not work on the values of the dictionary") from None


def _read_weights(source: Source, axis: Axis, given: str) -> Relation:
    """The weights of the values of an attribute."""
    what = f"the table of weights of {axis.column!r},"
    columns = _described(source, given, what)
    if len(columns) != 2:
        raise PolicyError(f"{what} {given!r} must have two columns, values and weights, and has {len(columns)}")
    value, weight = map(quoted, columns)
    rows = from_with_texts(source, given, list(columns)[:1])
    return source.scratch.table(f"SELECT {value} AS value, {weight} AS weight FROM {rows}", "weights")


def _any_order(name: str) -> tuple[str, ...]:
    """The name of an attribute or of a set, as in 'age and zip', whatever the order of its columns."""
    return tuple(sorted(folded(name).split(" and ")))


def _read_personal(source: Source, policy: DisclosePolicy) -> Relation | None:
    """People's own weights, if the policy has them; other names than of attributes and sets are refused."""
    if policy.personal is None:
        return None
    name, what = policy.personal.source, "the table of personal weights,"
    columns = _described(source, name, what)
    if len(columns) != 3:
        raise PolicyError(
            f"{what} {name!r} must have three columns, persons, attributes and weights, and has {len(columns)}"
        )
    person, attribute, weight = map(quoted, columns)
    rows = from_with_texts(source, name, list(columns)[:2])
    # Attributes and sets by their names in the owner's table, in any order, with their names in lists of weights.
    names = {_any_order(own): f"a{a}" for a, own in enumerate(policy.qis)}
    for own in policy.pairs:
        numbered = " and ".join(names[_any_order(column)] for column in own.columns)
        names[_any_order(" and ".join(own.columns))] = numbered
    found = [r[0] for r in fetch(source.con, f"SELECT DISTINCT CAST({attribute} AS VARCHAR) FROM {rows}")]
    unknown = [one for one in found if one is None or _any_order(one) not in names]
    if unknown:
        raise PolicyError(
            f"{what} {name!r} names {len(unknown):,} attributes that the policy does not have; it has "
            f"{', '.join(map(repr, policy.qis))}, and pairs as in 'age and zip'"
        )
    known = ", ".join(f"({literal(one)}, {literal(names[_any_order(one)])})" for one in found)
    return source.scratch.table(
        f"SELECT CAST({person} AS VARCHAR) AS {PERSON}, k.numbered AS attribute, {weight} AS weight FROM {rows} AS t "
        f"JOIN (VALUES {known or '(NULL, NULL)'}) AS k(given, numbered) ON CAST(t.{attribute} AS VARCHAR) = k.given",
        "personal_weights",
    )
