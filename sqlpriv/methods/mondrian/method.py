"""Mondrian as a method."""

from __future__ import annotations

from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_method import BoxMethod
from sqlpriv.methods.labelled.box_plan import BoxPlan, Told
from sqlpriv.methods.labelled.box_policy import ROLES, BoxPolicy
from sqlpriv.methods.labelled.boxes import box_rows
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.method import Plan, Request
from sqlpriv.methods.mondrian.policy import OPTIONS
from sqlpriv.methods.mondrian.rounds import cut_in_rounds
from sqlpriv.policy.file import Policy


class Mondrian(BoxMethod):
    """Cut by cut, breadth first."""

    def divide(self, scan: BoxScan, measures: tuple[ClassMeasure, ...], request: Request) -> Told:
        """Cut as long as it is allowed."""
        return {"rounds": cut_in_rounds(scan, measures, request.on_progress)}

    def looks_at_values(self, policy: Policy) -> bool:
        """Cuts are allowed by what is required: of sensitive columns, too, or of the number of rows alone."""
        return any(r.measure.needs_sensitive for r in policy.requirements)

    def choice(self, plan: Plan) -> object:
        """The boxes, with their rows."""
        assert isinstance(plan, BoxPlan)
        return box_rows(plan.scan)


METHOD = Mondrian("mondrian", BoxPolicy, ROLES, OPTIONS)
