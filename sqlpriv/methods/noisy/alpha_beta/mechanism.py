"""The mechanisms of alpha-beta releases: rows kept with alpha + beta, all else of the domain added with beta."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar

from sqlpriv.core.engine import Row
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights, ErrorWeights, Mechanism
from sqlpriv.release.file import ReleaseFile, double
from sqlpriv.release.layout import NumberNames
from sqlpriv.rewrite.release import Weights

U = TypeVar("U", bound="Uniform")


@dataclass(frozen=True)
class Uniform(Mechanism):
    """Every element of the domain has the same noise, in one view."""

    name: ClassVar[str] = "uniform"
    held: ClassVar[NumberNames] = NumberNames(frozenset({"alpha", "beta"}), frozenset({"n_public"}))
    composes: ClassVar[bool] = False
    alpha: float
    beta: float
    slots: int
    view: int

    @property
    def keep(self) -> str:
        """The probability that an element of the table is in the view, by uniform noise: a formula of helpers."""
        return f"_keeps({self.alpha!r}, {self.beta!r})"

    @property
    def persists(self) -> float:
        """With which probability what was in an earlier view stays; any where there is none."""
        return 0.5

    @classmethod
    def read(cls: type[U], calls: Calls, file: ReleaseFile) -> U:
        """The mechanism of a file that names it."""
        numbers: dict[str, Any] = {f.name: file.parameters[f.name] for f in fields(cls)}
        return cls(**numbers | {name: int(numbers[name]) for name in ("slots", "view")})

    def weights(self, calls: Calls) -> AllWeights:
        """The weights; all slots of a tuple count together for the domain."""
        return self._of_slots(calls.rows("alpha_beta_weights", self.alpha, self.beta))

    def _of_slots(self, rows: list[Row]) -> AllWeights:
        found, slots = {r[0]: Weights(*r[1:]) for r in rows}, self.slots
        domain = found.pop("domain")
        return AllWeights(found, {0: Weights(domain.weight * slots, domain.variance * slots, domain.skew * slots)})


@dataclass(frozen=True)
class ByShares(Uniform):
    """Noise follows the public shares of the values of a tuple; beta is that of the likeliest."""

    name: ClassVar[str] = "by_shares"
    held: ClassVar[NumberNames] = NumberNames(frozenset({"alpha", "beta", "rate"}), frozenset({"n_public"}))
    follows: ClassVar[Literal["nothing", "column", "tuple"]] = "tuple"
    rate: float

    def weights(self, calls: Calls) -> AllWeights:
        """Of the domain by powers of the share; a row has those of its tuple's noise (row_weights)."""
        rows = calls.rows("alpha_beta_source_weights", self.alpha, self.rate, self.slots, self.beta)
        return AllWeights({}, {int(power): Weights(*values) for power, *values in rows})

    def noise_of(self, share: str) -> str:
        """SQL for the noise of an element, from that of the share of its tuple: a formula of helpers."""
        return f"_source_noise({double(self.rate)}, {self.slots}, {share})"

    def row_weights(self, noise: str) -> tuple[str, ...]:
        """SQL for weight, variance and skew of a row, from that of its tuple's noise: formulas of helpers."""
        alpha = double(self.alpha)
        return f"_source_weight({alpha})", f"_source_variance({alpha}, {noise})", f"_source_skew({alpha}, {noise})"

    def error_weights(self, calls: Calls) -> ErrorWeights:
        """Those that give the error of estimates beforehand: a row has those of its tuple's noise."""
        view = self.row_weights(self.noise_of("__share"))
        rows = calls.rows("expected_source_weights", self.alpha, self.rate, self.slots, self.beta)
        return ErrorWeights(
            {part: inlined(f"_of_a_row({number}, {view[0]})") for part, number in zip(WEIGHTS, view, strict=True)},
            {int(power): Weights(*numbers) for power, *numbers in rows},
        )


@dataclass(frozen=True)
class Sequence(Uniform):
    """One of several views of a table as it changes; what was in an earlier view stays with `persist`."""

    name: ClassVar[str] = "sequence"
    held: ClassVar[NumberNames] = NumberNames(frozenset({"alpha", "beta", "persist"}), frozenset({"n_public"}))
    row_kind: ClassVar[str] = (
        "CASE WHEN __view AND __earlier THEN 'both' WHEN __view THEN 'view' WHEN __earlier THEN 'earlier' END"
    )
    persist: float

    @property
    def persists(self) -> float:
        """With which probability what was in an earlier view stays."""
        return self.persist

    @property
    def seed(self) -> dict[str, float]:
        """`persist` follows from them."""
        return {"alpha": self.alpha, "beta": self.beta}

    def weights(self, calls: Calls) -> AllWeights:
        """From the second view on a row counts by whether it is in this view, an earlier one, or both."""
        if self.view == 1:
            return super().weights(calls)
        return self._of_slots(calls.rows("sequence_weights", self.alpha, self.beta, self.persist))


MECHANISMS: tuple[type[Uniform], ...] = (Uniform, ByShares, Sequence)
