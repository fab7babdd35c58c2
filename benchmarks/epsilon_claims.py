"""What the paper claims of Table 5, as statements that are checked on every node.

Class I needs at most as much epsilon as class II of the same stubbornness: with p_out = (n(s) + sigma(s) - 1) /
(n + sigma - 1), class II is the case sigma(s) = 1, the smallest p_out there is.

Against class III of the same shape it is true up to the -1 of that formula only. With N = n + sigma it takes p_out
below the mean of data and prior, so a class that looks just like the prior needs 1 + (1 - s)/(s N - 1) instead of 1, s
the smallest share; no class needs more, relative to class III. The tolerance checked here is the first term of that,
(1 - s)/(s N). In exact arithmetic one node exceeds it, the most general one against the table's own shape, by less than
1e-12 (100.0001% of the tolerance): no more than the rounding that every comparison here allows for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlpriv.checks.requirements import parse
from sqlpriv.methods.lattice import Node

ROUNDING = 1e-12
SHAPES = ("uniform", "table")
THRESHOLDS = (1.5, 2, 3, 4, 5, 8, 10, 13, 15, 20, 25, 50)  # at 13, 15 and 25 ACS has classes with exactly r1 = c r2


@dataclass(frozen=True)
class Adversary:
    """Who looks at the release; class III is an adversary of infinite stubbornness, class II one of any shape."""

    kind: str
    shape: str = ""
    sigma: float = math.inf

    @property
    def label(self) -> str:
        """As the heading of a column."""
        number = {"class1": "I", "class2": "II", "class3": "III"}[self.kind]
        sigma = "" if math.isinf(self.sigma) else f"1e{math.log10(self.sigma):g}"
        return " ".join(filter(None, ["class", number, self.shape, sigma]))

    @property
    def toml(self) -> str:
        """As a requirement of a policy. The threshold is the paper's; no claim depends on it."""
        given = {"column": "salary_class", "adversary": self.kind, "shape": self.shape, "at_most": 2.5}
        listed = [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in given.items()
                  if value]  # fmt: skip
        listed += [] if math.isinf(self.sigma) else [f"sigma = {self.sigma!r}"]
        return f"{{ {', '.join(listed)} }}"


@dataclass(frozen=True)
class Figures:
    """All epsilons of all nodes, the c of (c,2)-diversity, and what the tolerances need."""

    rows: int
    smallest_share: Mapping[str, float]
    sigmas: tuple[float, ...]
    epsilon: Mapping[Adversary, Mapping[Node, float]]
    recursive_c: Mapping[Node, float]

    def tolerance(self, shape: str, sigma: float) -> float:
        """How far class I may be above class III, as a share."""
        share = self.smallest_share[shape]
        return (1 - share) / (share * (self.rows + sigma))


@dataclass(frozen=True)
class Claim:
    """A statement with the number of comparisons and those that fail; `remark` is for people."""

    text: str
    compared: int
    failures: tuple[str, ...]
    remark: str = ""


def all_claims(figures: Figures) -> list[Claim]:
    """Every claim, checked."""
    return [
        class_one_below_class_two(figures),
        class_one_below_class_three(figures),
        epsilon_rises(figures),
        same_nodes_as_diversity(figures),
    ]


def class_one_below_class_two(figures: Figures) -> Claim:
    """Without any tolerance but that of doubles."""
    pairs = [
        (Adversary("class1", shape, sigma), Adversary("class2", "", sigma), 0.0)
        for shape in SHAPES
        for sigma in figures.sigmas
    ]
    return _compared("class I <= class II of the same sigma", figures, pairs)


def class_one_below_class_three(figures: Figures) -> Claim:
    """Up to the tolerance."""
    pairs = [
        (Adversary("class1", shape, sigma), Adversary("class3", shape), figures.tolerance(shape, sigma))
        for shape in SHAPES
        for sigma in figures.sigmas
    ]
    return _compared("class I <= class III of the same shape, up to (1-s)/(s(n+sigma))", figures, pairs)


def epsilon_rises(figures: Figures) -> Claim:
    """With stubbornness: class I up to the tolerance of the smaller sigma, class II without any."""
    steps = list(itertools.pairwise(figures.sigmas))
    pairs = [
        (Adversary("class1", shape, low), Adversary("class1", shape, high), figures.tolerance(shape, low))
        for shape in SHAPES
        for low, high in steps
    ]
    pairs += [(Adversary("class2", "", low), Adversary("class2", "", high), 0.0) for low, high in steps]
    return _compared("epsilon rises with stubbornness, class I up to the same tolerance", figures, pairs)


def _compared(text: str, figures: Figures, pairs: Sequence[tuple[Adversary, Adversary, float]]) -> Claim:
    """Each first adversary needs at most as much as the second, up to the share that is given."""
    failures, compared, used = [], 0, 0.0
    for less, more, tolerance in pairs:
        for node, epsilon in figures.epsilon[less].items():
            compared += 1
            other = figures.epsilon[more][node]
            if epsilon > other * (1 + tolerance) * (1 + ROUNDING):
                failures.append(f"{list(node)}: {less.label} needs {epsilon!r}, {more.label} only {other!r}")
            if math.isfinite(other) and epsilon > other * (1 + ROUNDING) and tolerance > 0:
                used = max(used, (epsilon / other - 1) / tolerance)
    return Claim(text, compared, tuple(failures), f"the largest excess is {used:.4%} of the tolerance" if used else "")


def same_nodes_as_diversity(figures: Figures, thresholds: Sequence[float] = THRESHOLDS) -> Claim:
    """(c,2)-diversity and class III uniform at epsilon = (c+1)/2, for two sensitive values.

    Both say r1 <= c r2, but the first is strict: where a class has r1 = c r2 exactly, only class III allows the node.
    So that this is tried, each node's own c is a threshold too.
    """
    uniform = figures.epsilon[Adversary("class3", "uniform")]
    own = {c for c in figures.recursive_c.values() if math.isfinite(c)}
    failures, compared, equal = [], 0, set()
    for c in sorted({*map(float, thresholds), *own}):
        diverse = _meets("recursive_c(l=2)<4", c)
        private = _meets("epsilon_class3(shape=uniform)<=2.5", (c + 1) / 2)
        for node, needed in figures.recursive_c.items():
            compared += 1
            at_equality = math.isclose(needed, c, rel_tol=ROUNDING)
            expected = (False, True) if at_equality else (needed < c, needed < c)
            if at_equality and c in map(float, thresholds):
                equal.add((node, c))
            if (diverse(needed), private(uniform[node])) != expected:
                failures.append(f"{list(node)}, c = {c!r}: needs c > {needed!r} and epsilon {uniform[node]!r}")
    listed = ", ".join(f"{list(node)} at c = {c:g}" for node, c in sorted(equal))
    remark = (
        f"only class III allows {listed}: equality, and (c,2) is strict" if listed else "each node's own c tried too"
    )
    return Claim(
        "(c,2)-diversity and class III uniform at (c+1)/2 allow the same nodes", compared, tuple(failures), remark
    )


def _meets(requirement: str, threshold: float) -> Callable[[float], bool]:
    return replace(parse(requirement), threshold=threshold).holds


def adversaries(sigmas: Sequence[float]) -> Iterator[Adversary]:
    """Everybody the claims are about."""
    for sigma in sigmas:
        yield from (Adversary("class1", shape, sigma) for shape in SHAPES)
        yield Adversary("class2", "", sigma)
    yield from (Adversary("class3", shape) for shape in SHAPES)
