"""The closed ends of ranges that a method made, and which of them are points of a public grid or domain."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.grid import after_end, on_grid, point_of
from sqlpriv.methods.generalized.layout import CLOSED, WHOLE, has_ends
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.domains import range_ends


def closed_ends(file: ReleaseFile, policy: Policy | None) -> dict[str, str]:
    """By column, a query for its closed ends; for those in ranges that rows made, not a hierarchy of the policy."""
    given = {} if policy is None else {folded(c.name): range_ends(c.given.get("domain")) for c in policy.columns}
    found = {}
    for row in file.attributes:
        name, original, labels = str(row["name"]), str(row["original"]), str(row["labels"])
        if labels in CLOSED and has_ends(labels, original):
            found[name] = _RangeColumn(file, name, original, bool(row["has_domain"]), given.get(folded(name))).ends()
    return found


@dataclass(frozen=True)
class _RangeColumn:
    """A column that is published in ranges that a method made."""

    file: ReleaseFile
    name: str
    original: str
    has_domain: bool
    ends_given: tuple[str, str] | None = None
    """The ends of a range that the policy declares as the domain, where the policy is at hand."""

    @property
    def outer(self) -> str:
        """A query for the ends of its domain: first, last. NULL where none is known."""
        if self.has_domain:
            return f"SELECT min(value) AS first, max(value) AS last FROM {self._domain}"
        first, last = (f"'{end}'" for end in self.ends_given) if self.ends_given else ("NULL", "NULL")
        return f"SELECT TRY_CAST({first} AS {self.original}) AS first, TRY_CAST({last} AS {self.original}) AS last"

    @property
    def _domain(self) -> str:
        return quoted(self.file.catalog, "domain", self.name)

    @property
    def _is_public(self) -> str:
        """Whether an end is a point of its domain, as SQL. Every whole number is one of a range too long to list."""
        if self.has_domain:
            return f"edge IN (SELECT value FROM {self._domain})"
        part = self.file.policy
        columns = part.get("columns", {}) if isinstance(part, dict) else {}
        is_whole = WHOLE.fullmatch(self.original) is not None or self.original == "DATE"
        is_range = columns.get(self.name, {}).get("domain") == "range" and is_whole
        return "edge BETWEEN coalesce(first, edge) AND coalesce(last, edge)" if is_range else "false"

    def ends(self) -> str:
        """A query for closed ends: edge, is_low, whether it is a point of the grid or the domain, and an outer one."""
        labels = self.file.table(f"labels_{self.name}")
        listed = f"SELECT low AS edge, true AS is_low FROM {labels} UNION SELECT high, false FROM {labels}"
        axis = Axis(0, self.name, self.original, "")
        after = after_end(self.original, "edge")
        # What is a point is where a cell starts, or the next one does.
        cut = f"CASE WHEN is_low THEN edge ELSE TRY_CAST({after} AS {self.original}) END"
        placed = f"SELECT edge, is_low, {cut} AS cut FROM ({listed}) WHERE edge IS NOT NULL"
        numbered = f"SELECT *, {axis.number_of('cut')} AS own, {point_of(axis, 'cut')} AS v0 FROM ({placed})"
        return (
            f"SELECT edge, is_low, v0 = own OR {self._is_public} AS is_point, "
            "coalesce(CASE WHEN is_low THEN edge = first ELSE edge = last END, false) AS is_outer "
            f"FROM ({on_grid(numbered, [axis])}), ({self.outer})"
        )
