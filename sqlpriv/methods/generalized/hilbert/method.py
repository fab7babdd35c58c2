"""Classes along a Hilbert curve as a method."""

from __future__ import annotations

from sqlpriv.methods.generalized.hilbert.grouping import group_points
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.method import BoxMethod
from sqlpriv.methods.generalized.plan import Divided
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.methods.generalized.policy import CUTS
from sqlpriv.methods.method import Request


class Hilbert(BoxMethod):
    """Neighbours on the curve together, in the classes of k rows or more that lose least."""

    name = "hilbert"
    options = (CUTS,)

    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Divided:
        """Group the points along the curve, and merge groups that fail a requirement."""
        grouped = group_points(scan, measures)
        facts = {"optimal": grouped.is_best and not grouped.merged, "merged": grouped.merged}
        return Divided(grouped.classed, facts, grouped.cells)


METHOD = Hilbert()
