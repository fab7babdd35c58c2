"""epsilon-privacy against the four classes of adversaries, by their belief ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .counting import (
    INFINITY,
    Class,
    Group,
    Number,
    PerClass,
    Rows,
    canon,
    class_of,
    group,
    largest,
    text,
)

Predicates = Sequence[tuple[object, ...]]
Texts = frozenset[str | None]
Prior = Mapping[Any, Number]


@dataclass(frozen=True)
class Secret:
    """A set S of values (as text), and whose it is: None for everybody's."""

    values: Texts
    owner: tuple[str | None] | None = None
    allowed: Fraction = Fraction(1)
    """What its epsilon is measured by."""


def exact(number: Number) -> Fraction:
    """A float as the decimal that it prints: .4 is 2/5."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def divide(x: Fraction, y: Fraction) -> Number:
    """x/y, with x/0 = infinity and 0/0 = 1."""
    if y == 0:
        return Fraction(1) if x == 0 else INFINITY
    return x / y


def belief_ratio(p_in: Fraction, p_out: Fraction) -> Number:
    return max(divide(p_in, p_out), divide(1 - p_out, 1 - p_in))


def belief_in(n: int, n_set: int, b: int) -> Fraction:
    """p_in of a set that n_set of n have, when b others are known."""
    return Fraction(1) if b >= n - n_set else Fraction(n_set, n - b)


def belief_out(n: int, n_set: int, sigma: Fraction, sigma_set: Fraction) -> Fraction:
    """p_out of classes I and II."""
    return (n_set + sigma_set - 1) / (n + sigma - 1)


def guarding_nodes(
    nodes: Sequence[tuple[object, str, Number]], paths: Sequence[tuple[str | None, ...]], known: Sequence[str | None]
) -> list[tuple[str | None, str, str | None, Number]]:
    """(id, node, value, bound): below a node are the values with it on their path. The top guards nothing."""
    path_of = {path[0]: path for path in paths}
    if not {value for value in known if value is not None} <= path_of.keys():
        raise ValueError("does not cover every value")
    if not {node for _, node, _ in nodes} <= {label for path in paths for label in path}:
        raise ValueError("not in the hierarchy")
    return [
        (text(who), node, value, bound)
        for who, node, bound in nodes
        for value in dict.fromkeys(known)
        if node in path_of.get(value, ()) and node != paths[0][-1]
    ]


def _secrets(values: Sequence[str | None], predicates: Predicates | None, id_column: str | None) -> list[Secret]:
    if predicates is None:
        return [Secret(frozenset([value])) for value in values]
    named: dict[tuple[str | None, ...], set[str | None]] = {}
    bounds: dict[tuple[str | None, ...], list[Fraction]] = {}
    width = 2 if id_column is None else 3
    for predicate in predicates:
        if len(predicate) not in (width, width + 1):
            raise ValueError("a predicate is (name, value), or (id, name, value) with an id column; a bound may follow")
        key = tuple(text(part) for part in predicate[: width - 1])
        named.setdefault(key, set()).add(text(predicate[width - 1]))
        bounds.setdefault(key, []).extend(Fraction(str(bound)) for bound in predicate[width:])
    return [
        Secret(frozenset(found), None if id_column is None else (key[0],), min(bounds[key], default=Fraction(1)))
        for key, found in named.items()
    ]


@dataclass(frozen=True)
class _Table:
    groups: Mapping[Class, Group]
    texts: Mapping[object, str | None]
    owners: Mapping[Class, set[str | None]]
    secrets: Sequence[Secret]


def _read(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    *,
    predicates: Predicates | None,
    id_column: str | None,
    person: str | None,
) -> _Table:
    person = person if id_column is None else id_column
    groups = group(rows, qis, sensitive, person)
    texts = {canon(row[sensitive]): text(row[sensitive]) for row in rows}
    owners: dict[Class, set[str | None]] = {}
    for row in rows:
        key = class_of(row, qis)
        owners.setdefault(key, set()).add(None if person is None else text(row[person]))
    secrets = _secrets(list(dict.fromkeys(texts.values())), predicates, id_column)
    return _Table(groups, texts, owners, secrets)


def _per_class(table: _Table, b: int, p_out: Callable[[int, int, Texts], Fraction]) -> PerClass:
    """The worst ratio over the sets that occur in a class, for the classes that have one."""
    if b < 0:
        raise ValueError("b is a number of known tuples, at least 0")
    result: PerClass = {}
    for key, found in table.groups.items():
        ratios: list[Number] = []
        for secret in table.secrets:
            members = [value for value in found.by_value if table.texts[value] in secret.values]
            n_set = found.n_set(members)
            here = secret.owner is None or secret.owner[0] in table.owners[key]
            if n_set and here:
                p_in = belief_in(found.n, n_set, b)
                ratios.append(belief_ratio(p_in, p_out(found.n, n_set, secret.values)) / secret.allowed)
        if ratios:
            result[key] = (found.n, max(ratios))
    return result


def _worst(per_class: PerClass) -> Number:
    """1 when no set ever occurs."""
    return largest(per_class) if per_class else Fraction(1)


def _complete(table: _Table, given: Prior) -> dict[str | None, Fraction]:
    """A prior or shape by text, refused when it lacks a value of the table."""
    by_text: dict[str | None, Fraction] = {}
    for value, number in given.items():
        if text(value) in by_text:
            raise ValueError("a value appears twice")
        by_text[text(value)] = exact(number)
    if set(table.texts.values()) - set(by_text):
        raise ValueError("a value is missing from the prior or shape")
    _refuse_unknown(table, set(by_text))
    return by_text


def _refuse_unknown(table: _Table, known: set[str | None]) -> None:
    """A set with a value that nobody knows may be misspelt: it would pass for a safe one."""
    if set().union(*(secret.values for secret in table.secrets)) - known:
        raise ValueError("a value of the predicates is missing from what is known")


def epsilon_class1_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    prior: Prior,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> PerClass:
    table = _read(rows, qis, sensitive, predicates=predicates, id_column=id_column, person=person)
    sigmas = _complete(table, prior)
    if any(sigma < 1 for sigma in sigmas.values()):
        raise ValueError("every sigma(s) must be at least 1")
    whole = sum(sigmas.values(), Fraction(0))

    def p_out(n: int, n_set: int, values: Texts) -> Fraction:
        return belief_out(n, n_set, whole, sum((sigmas[v] for v in values), Fraction(0)))

    return _per_class(table, b, p_out)


def epsilon_class1(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    prior: Prior,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> Number:
    return _worst(
        epsilon_class1_per_class(
            rows,
            qis,
            sensitive,
            prior,
            b,
            predicates=predicates,
            id_column=id_column,
            person=person,
        )
    )


def epsilon_class2_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    sigma: Number,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> PerClass:
    table = _read(rows, qis, sensitive, predicates=predicates, id_column=id_column, person=person)
    domain = set(table.texts.values())
    _refuse_unknown(table, domain)
    if sigma < len(domain):
        raise ValueError("no prior with every sigma(s) >= 1 has so small a sigma")

    def p_out(n: int, n_set: int, values: Texts) -> Fraction:
        return belief_out(n, n_set, exact(sigma), Fraction(len(values)))

    return _per_class(table, b, p_out)


def epsilon_class2(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    sigma: Number,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> Number:
    return _worst(
        epsilon_class2_per_class(
            rows,
            qis,
            sensitive,
            sigma,
            b,
            predicates=predicates,
            id_column=id_column,
            person=person,
        )
    )


def epsilon_class3_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    shape: Prior,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> PerClass:
    table = _read(rows, qis, sensitive, predicates=predicates, id_column=id_column, person=person)
    shares = _complete(table, shape)
    whole = sum(shares.values(), Fraction(0))
    if abs(whole - 1) > Fraction(1, 10**9) or any(share < 0 for share in shares.values()):
        raise ValueError("shares are not negative and add up to 1")

    def p_out(n: int, n_set: int, values: Texts) -> Fraction:
        return sum((shares[v] for v in values), Fraction(0)) / whole

    return _per_class(table, b, p_out)


def epsilon_class3(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    shape: Prior,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> Number:
    return _worst(
        epsilon_class3_per_class(
            rows,
            qis,
            sensitive,
            shape,
            b,
            predicates=predicates,
            id_column=id_column,
            person=person,
        )
    )


def epsilon_class4_per_class(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> PerClass:
    """Any prior is allowed, so the worst one gives the set no chance at all: p_out = 0."""
    table = _read(rows, qis, sensitive, predicates=predicates, id_column=id_column, person=person)
    _refuse_unknown(table, set(table.texts.values()))
    return _per_class(table, b, lambda n, n_set, values: Fraction(0))


def epsilon_class4(
    rows: Rows,
    qis: Sequence[str],
    sensitive: str,
    b: int = 0,
    *,
    predicates: Predicates | None = None,
    id_column: str | None = None,
    person: str | None = None,
) -> Number:
    return _worst(
        epsilon_class4_per_class(rows, qis, sensitive, b, predicates=predicates, id_column=id_column, person=person)
    )


def _holders(rows: Rows, sensitive: str, person: str | None) -> dict[object, int]:
    """How many rows, or persons, of the whole table have each (canonical) value."""
    everybody = [{"table": 1, "value": row[sensitive], "person": row.get(person)} for row in rows]
    found = group(everybody, ["table"], "value", None if person is None else "person")
    return {value: len(units) for value, units in found[canon(1),].by_value.items()}


def prior_from_counts(rows: Rows, sensitive: str, person: str | None = None) -> dict[object, int]:
    """The prior of somebody who saw this table and nothing before it: count + 1."""
    return {value: n + 1 for value, n in _holders(rows, sensitive, person).items()}


def shape_from_counts(rows: Rows, sensitive: str, person: str | None = None) -> dict[object, Fraction]:
    """The shape of somebody who believes this table: every value's part of all that is held."""
    counts = _holders(rows, sensitive, person)
    return {value: Fraction(n, sum(counts.values())) for value, n in counts.items()}


def uniform_shape(rows: Rows, sensitive: str) -> dict[object, Fraction]:
    """The shape of somebody to whom all values of the table are equally likely."""
    values = _holders(rows, sensitive, None)
    return {value: Fraction(1, len(values)) for value in values}
