"""Mondrian as a method."""

from __future__ import annotations

from sqlpriv.methods.generalized.axes import BoxScan
from sqlpriv.methods.generalized.box_method import BoxMethod
from sqlpriv.methods.generalized.box_plan import BoxPlan, Divided
from sqlpriv.methods.generalized.boxes import box_rows
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.mondrian.policy import OPTIONS
from sqlpriv.methods.generalized.mondrian.rounds import cut_in_rounds
from sqlpriv.methods.method import Request


class Mondrian(BoxMethod):
    """Cut by cut, breadth first: a cut is allowed by what is required."""

    name = "mondrian"
    options = OPTIONS
    retraces_choice = True

    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Divided:
        """Cut as long as it is allowed."""
        classed, rounds = cut_in_rounds(scan, measures, request.on_progress)
        return Divided(classed, {"rounds": rounds})

    def choice(self, plan: BoxPlan) -> object:
        """The boxes, with their rows."""
        return box_rows(plan.scan, plan.boxed)


METHOD = Mondrian()
