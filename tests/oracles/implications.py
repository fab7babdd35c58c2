"""(c,k)-safety: the dynamic programme, and possible worlds for tables of a few persons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

from .counting import Class, Group, Number, PerClass, Rows, group, largest


def partitions(whole: int, top: int) -> Iterator[list[int]]:
    """The ways to write `whole` as a sum of descending parts of at most `top`."""
    if whole == 0:
        yield []
    for part in range(min(whole, top), 0, -1):
        for rest in partitions(whole - part, part):
            yield [part, *rest]


def none_holds(n: int, r: Sequence[int], atoms: int) -> Fraction:
    """g_q: smallest probability that none of the atoms on the persons of q holds."""
    best = Fraction(1)
    for parts in partitions(atoms, atoms):
        if len(parts) <= n:
            chance = Fraction(1)
            for t, j in enumerate(parts):
                chance *= Fraction(max(0, n - sum(r[:j]) - t), n - t)
            best = min(best, chance)
    return best


def _spread(groups: Sequence[Group], atoms: int) -> Fraction:
    """Smallest probability that none of the atoms, placed anywhere on the groups, holds."""
    best = [Fraction(1)] + [Fraction(1)] * atoms
    for found in groups:
        g = [none_holds(found.n, found.histogram(), i) for i in range(atoms + 1)]
        best = [min(best[a - i] * g[i] for i in range(a + 1)) for a in range(atoms + 1)]
    return best[atoms]


def ck_safety_per_class(
    rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None
) -> PerClass:
    if k < 0:
        raise ValueError("k is a number of implications, at least 0")
    groups = group(rows, buckets, sensitive, person)
    values = disclosures(list(groups.values()), k)
    return {key: (found.n, value) for (key, found), value in zip(groups.items(), values, strict=True)}


def disclosures(groups: Sequence[Group], k: int) -> list[Fraction]:
    """The disclosure in each of the groups, which are all that there is."""
    result = []
    for at, found in enumerate(groups):
        others = [*groups[:at], *groups[at + 1 :]]
        r = found.histogram()
        x = min(none_holds(found.n, r, i + 1) * Fraction(found.n, r[0]) * _spread(others, k - i) for i in range(k + 1))
        result.append(1 / (1 + x))
    return result


def disclosure_bound(counts: Sequence[int], k: int, rho: Fraction) -> Fraction:
    """What the disclosure in a bucket of these counts is at most among buckets that are all below 1 for this rho."""
    n, r = sum(counts), sorted(counts, reverse=True)
    if any(none_holds(n, r, j) < rho**j for j in range(k + 1)):
        return Fraction(1)
    x = min(none_holds(n, r, i + 1) * Fraction(n, r[0]) * rho ** (k - i) for i in range(k + 1))
    return 1 / (1 + x)


def ck_safety(rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None) -> Number:
    return largest(ck_safety_per_class(rows, buckets, sensitive, k, person))


def _deals(sets: Sequence[frozenset[object]]) -> Iterator[tuple[frozenset[object], ...]]:
    """The different orders of the sets, each of which stands for equally many permutations."""
    if not sets:
        yield ()
    for first in set(sets):
        rest = list(sets)
        rest.remove(first)
        for others in _deals(rest):
            yield (first, *others)


def _worlds(groups: dict[Class, Group]) -> list[dict[tuple[Class, int], frozenset[object]]]:
    """Every way to hand the value sets of a bucket's persons to the persons of the bucket."""
    choices = []
    for key, found in groups.items():
        sets = [frozenset(value for value, units in found.by_value.items() if unit in units) for unit in found.units]
        choices.append([{(key, i): own for i, own in enumerate(deal)} for deal in _deals(sets)])
    worlds = []
    for chosen in product(*choices):
        worlds.append({seat: values for part in chosen for seat, values in part.items()})
    return worlds


Atoms = dict[tuple[Class, int, object], int]


def _atoms(groups: dict[Class, Group]) -> tuple[int, Atoms]:
    """All worlds, and for every "this person has this value" the worlds where so, as bits."""
    worlds = _worlds(groups)
    result = {}
    for key, found in groups.items():
        for seat, value in product(range(found.n), found.by_value):
            bits = (1 << i for i, world in enumerate(worlds) if value in world[key, seat])
            result[key, seat, value] = sum(bits)
    return (1 << len(worlds)) - 1, result


def ck_safety_by_worlds_per_class(
    rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None
) -> PerClass:
    """Largest Pr(B | A_1 -> B and ... and A_k -> B) over all atoms, by counting worlds."""
    groups = group(rows, buckets, sensitive, person)
    everything, atoms = _atoms(groups)
    different = sorted(set(atoms.values()))
    result: PerClass = {key: (found.n, Fraction(0)) for key, found in groups.items()}
    for (key, _, _), b in atoms.items():
        for chosen in combinations(different, min(k, len(different))):
            kept = everything
            for a in chosen:
                kept &= (everything & ~a) | b
            disclosed = Fraction(b.bit_count(), kept.bit_count())
            result[key] = (groups[key].n, max(result[key][1], disclosed))
    return result


def ck_safety_by_worlds(
    rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None
) -> Number:
    return largest(ck_safety_by_worlds_per_class(rows, buckets, sensitive, k, person))


def none_holds_by_draws(r: Sequence[int], atoms: int) -> Fraction:
    """g_q by drawing the values of the first persons in every way, for every set of atoms."""
    values = [value for value, count in enumerate(r) for _ in range(count)]
    seats = min(atoms, len(values))
    draws = list(permutations(values, seats))
    holds = [
        sum(1 << i for i, draw in enumerate(draws) if draw[seat] == value)
        for seat, value in product(range(seats), range(len(r)))
    ]
    best = len(draws)
    for chosen in combinations(holds, min(atoms, len(holds))):
        some = 0
        for one in chosen:
            some |= one
        best = min(best, len(draws) - some.bit_count())
    return Fraction(best, len(draws))


def _worst_given(everything: int, atoms: Sequence[int], knowledge: set[int], k: int) -> Fraction:
    best = Fraction(0)
    for chosen in combinations(sorted(knowledge), min(k, len(knowledge))):
        kept = everything
        for clause in chosen:
            kept &= clause
        if kept:
            held = max((b & kept).bit_count() for b in atoms)
            best = max(best, Fraction(held, kept.bit_count()))
    return best


def ck_safety_any_consequents(
    rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None
) -> Fraction:
    """The same over k simple implications A_i -> B_i that need not share the consequent."""
    groups = group(rows, buckets, sensitive, person)
    everything, by_atom = _atoms(groups)
    atoms = list(by_atom.values())
    knowledge = {(everything & ~a) | b for a, b in product(atoms, atoms)}
    return _worst_given(everything, atoms, knowledge, k)


def _unions(sets: Sequence[int]) -> set[int]:
    """The unions of the non-empty families of the sets."""
    result: set[int] = set()
    for one in sets:
        result |= {one} | {one | other for other in result}
    return result


def ck_safety_basic_implications(
    rows: Rows, buckets: Sequence[str], sensitive: str, k: int, person: str | None = None
) -> Fraction:
    """The same over k basic implications: some atoms together imply one of some atoms."""
    groups = group(rows, buckets, sensitive, person)
    everything, by_atom = _atoms(groups)
    atoms = list(by_atom.values())
    lefts = _unions([everything & ~a for a in atoms])
    knowledge = {left | right for left in lefts for right in _unions(atoms)}
    return _worst_given(everything, atoms, knowledge, k)
