"""Mondrian as a method."""

from __future__ import annotations

from typing import Any

from sqlpriv.methods.generalized.boxes import Cells, box_rows
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.method import BoxMethod
from sqlpriv.methods.generalized.mondrian.cuts import cut_in_rounds
from sqlpriv.methods.generalized.plan import BoxPlan, Divided
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.methods.generalized.policy import CUTS
from sqlpriv.methods.method import Request
from sqlpriv.policy.keys import Key, Keys, ValueKind


def _only_true(value: Any) -> bool | None:
    return True if value is True else None


OPTIONS: Keys = (
    CUTS,
    Key(
        "strict",
        ValueKind("true", _only_true, _only_true),
        "that rows of one value are never parted: the only way there is",
        True,
        complaint="strict must be true: cuts that part rows of one value are not there, since boxes would overlap",
    ),
)


class Mondrian(BoxMethod):
    """Cut by cut, breadth first: the requirements decide whether a cut is allowed."""

    name = "mondrian"
    options = OPTIONS
    retraces_choice = True

    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Divided:
        """Cut as long as it is allowed."""
        classed, cells, rounds = cut_in_rounds(scan, measures, request.on_progress)
        return Divided(classed, {"rounds": rounds}, Cells.of(scan, cells))

    def choice(self, plan: BoxPlan) -> object:
        """The boxes, with their rows."""
        return box_rows(plan.scan, plan.boxed)


METHOD = Mondrian()
