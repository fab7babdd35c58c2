"""Mondrian as a method."""

from __future__ import annotations

from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_method import BoxMethod
from sqlpriv.methods.labelled.box_plan import Told
from sqlpriv.methods.labelled.box_policy import ROLES, BoxPolicy
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.method import Request
from sqlpriv.methods.mondrian.policy import OPTIONS
from sqlpriv.methods.mondrian.rounds import cut_in_rounds


class Mondrian(BoxMethod):
    """Cut by cut, breadth first."""

    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Told:
        """Cut as long as it is allowed."""
        return {"rounds": cut_in_rounds(scan, measures, request.on_progress)}


METHOD = Mondrian("mondrian", BoxPolicy, ROLES, OPTIONS)
