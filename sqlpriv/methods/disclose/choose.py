"""The best choice of every record, as a relation that a release is written from.

A choice has the columns row, labels, depths, entries, loss, utility, where row is the number of a combination of the
frequency table. Candidates are, for every record and each utility that it can have, the choice with the least loss.
Whatever the goal, the best choice is among them: no other has less loss and as much utility. So they are found once,
and the choices for a bounded mean and for other thresholds are taken from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.policy import BOTH, RISK, DisclosePolicy
from sqlpriv.methods.disclose.risk_tables import PERSON, RiskTables, read_tables
from sqlpriv.methods.generalized.boxes import Boxes
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.risk.coding import DisclosureProblem
from sqlpriv.risk.minimax import Minimax, choose_minimax
from sqlpriv.risk.optimal import disclose_optimally
from sqlpriv.table.hierarchies import TOP

_CHOICE = "record.number AS row, labels, depths, entries, loss, utility"
"""The columns of a choice, of what the macros answer."""


@dataclass(frozen=True)
class WeighedRecords:
    """The combinations of the table as records of texts, and the tables by which their risk is computed."""

    scan: BoxScan
    tables: RiskTables
    relation: Relation
    """number, a0, a1, ..., and the person where weights are personal."""
    full_utility: Relation
    """number, utility: of every record if it is disclosed as it is."""

    @cached_property
    def candidates(self) -> Relation:
        """The choices of each record that may be best."""
        judge = f", {literal(self.tables.policy.judge)}"
        return self.tables.table(f"SELECT {_CHOICE} FROM {self._listed('disclosure_offers', judge)}", "candidates")

    def _listed(self, macro: str, judge: str = "") -> str:
        """A call of a macro that lists choices of each record, or of its twin for records of persons with weights."""
        tables, policy = self.tables, self.tables.policy
        given = (
            f"{literal(self.relation.name)}, {tables.dictionaries_argument}, {literal(tables.candidate_weights)}, "
            f"{literal(policy.form)}, {policy.psi!r}{judge}{tables.person_arguments}"
        )
        return f"{self.scan.source.need(f'personal_{macro}' if tables.person_arguments else macro)}({given})"

    @property
    def _places(self) -> str:
        """SQL of the place of each record: ties are broken by its cells, since row numbers differ from run to run."""
        cells = [f"a{axis.number}" for axis in self.scan.axes] + ([PERSON] if self.tables.policy.person else [])
        return f"SELECT number, row_number() OVER (ORDER BY {', '.join(cells)}) AS place FROM {self.relation.name}"

    @cached_property
    def _counted_candidates(self) -> Relation:
        """The candidates as `average_disclosure` needs them: record, copies, loss, utility, row."""
        return self.scan.source.scratch.table(
            "SELECT p.place AS record, f.__priv_n AS copies, o.loss, o.utility, o.row "
            f"FROM {self.candidates.name} AS o JOIN {self.scan.frequencies.relation.name} AS f ON o.row = f.rowid "
            f"JOIN ({self._places}) AS p ON o.row = p.number",
            "counted_candidates",
        )

    def average_choice(self, c: float) -> str:
        """A query for the best choice of every record, with the gap, where the mean of the records keeps c."""
        counted = self._counted_candidates.name
        given = f"{literal(counted)}, {literal(self.tables.policy.goal)}, {c!r}"
        same = "p.record = a.record AND p.loss = a.loss AND p.utility = a.utility"
        return (
            f"SELECT o.*, a.gap FROM {self.scan.source.need('average_disclosure')}({given}) AS a "
            f"JOIN {counted} AS p ON {same} "
            f"JOIN {self.candidates.name} AS o ON p.row = o.row AND p.utility = o.utility"
        )

    @cached_property
    def _all_choices(self) -> Relation:
        """All choices of each record, with the loss against each dictionary."""
        return self.tables.table(f"SELECT {_CHOICE}, losses FROM {self._listed('disclosure_choices')}", "all_choices")

    def minimax_choice(self, c: float, scratch: Scratch) -> tuple[str, Minimax | None]:
        """A query for a choice of every record that makes the largest of the risks against each dictionary small.

        It reads tables that are made in `scratch`. The bounds are of the risk, or of risk - c utility where that is the
        goal. None: there is a record whose losses are all infinite, and each record has its own best choice.
        """
        goal = self.tables.policy.goal
        keeps = inlined(f"_offer_keeps({literal(goal)}, {c!r}, o.loss, o.utility, m.utility)")
        count = len(self.tables.entries)
        value = f" - {c!r}::DOUBLE * o.utility" if goal == BOTH else ""
        costs = ", ".join(f"o.losses[{j}]{value}" for j in range(1, count + 1))
        counted = scratch.table(
            "SELECT row_number() OVER (ORDER BY p.place, o.utility, o.depths) AS choice, p.place AS record, "
            f"f.__priv_n AS copies, [{costs}] AS costs, o.row, o.depths FROM {self._all_choices.name} AS o "
            f"JOIN {self.scan.frequencies.relation.name} AS f ON o.row = f.rowid "
            f"JOIN {self.full_utility.name} AS m ON o.row = m.number JOIN ({self._places}) AS p ON o.row = p.number "
            f"WHERE isfinite(o.loss) AND {keeps}",
            "counted_choices",
        )
        [(records,)] = fetch(scratch.con, f"SELECT count(DISTINCT record) FROM {counted.name}")
        if records < self.scan.combinations:
            return f"SELECT * EXCLUDE (c) FROM ({self.choices_at([c])})", None
        taken, bounds = choose_minimax(scratch, counted, count)
        return (
            f"SELECT o.* EXCLUDE (losses) FROM {taken.name} AS t JOIN {counted.name} AS p ON t.choice = p.choice "
            f"JOIN {self._all_choices.name} AS o ON p.row = o.row AND p.depths = o.depths"
        ), bounds

    def choices_at(self, thresholds: Sequence[float]) -> str:
        """A query for the best choice of every record at each threshold c, where each record keeps c."""
        goal = literal(self.tables.policy.goal)
        keeps = inlined(f"_offer_keeps({goal}, t.c, o.loss, o.utility, m.utility)")
        order = inlined(f"_offer_order({goal}, t.c, o.loss, o.utility)")
        values = ", ".join(f"({c!r}::DOUBLE)" for c in thresholds)
        return (
            f"SELECT c, unnest(best) FROM (SELECT t.c, arg_min(o, {order}) AS best FROM {self.candidates.name} AS o "
            f"JOIN {self.full_utility.name} AS m ON o.row = m.number CROSS JOIN (VALUES {values}) AS t(c) "
            f"WHERE {keeps} GROUP BY t.c, o.row)"
        )


def read_records(scan: BoxScan, policy: DisclosePolicy) -> WeighedRecords:
    """The combinations as records, with the tables of risk; what does not fit the table or a dictionary is refused."""
    frequencies = scan.frequencies.relation.name
    listed = "".join(f", CAST({quoted(x.column)} AS VARCHAR) AS a{x.number}" for x in scan.axes)
    listed += f", CAST({quoted(policy.person)} AS VARCHAR) AS {PERSON}" if policy.person else ""
    relation = scan.source.scratch.table(f"SELECT rowid AS number{listed} FROM {frequencies}", "records")
    values = []
    for axis in scan.axes:
        name = quoted(axis.column)
        own = f"SELECT CAST({name} AS {scan.known.types[axis.column]}) AS {name} FROM {frequencies}"
        domain = scan.known.domains.get(axis.column)
        values.append(own if domain is None else f"{own} UNION SELECT value FROM {domain}")
    own_rows = f"SELECT *, unnest(range(__priv_n)) AS __priv_copy FROM {frequencies}"
    tables = read_tables(scan.source, policy, scan.axes, scan.known.types, values, own_rows)
    given = f"{literal(relation.name)}, {literal([a.as_weight for a in tables.attributes])}"
    utility = f"SELECT record.number AS number, utility FROM {scan.source.need('disclosure_utility')}({given})"
    return WeighedRecords(scan, tables, relation, tables.table(utility, "full_utility"))


@dataclass(frozen=True)
class Chosen:
    """Risk, utility and levels of the best choices, over all rows."""

    risk: float
    worst: float
    """The largest loss of a row."""
    utility: float
    whole: float
    """The utility if the table were disclosed as it is."""
    gap: float
    """The most by which another rule may be better; 0 where each record has its own best choice."""
    minimax: Minimax | None
    """Bounds of the largest of the risks against each dictionary, where that is made small."""
    unmatched: int
    """Rows without a consistent entry in the dictionary."""
    classes: int
    """The number of different published rows."""
    alone: int
    """Rows whose labels no other row has."""
    shares: dict[str, tuple[float, ...]]
    """For each attribute, the share of the rows that disclose it at each level, from the value to the top."""


def choose(records: WeighedRecords) -> tuple[Relation, Minimax | None]:
    """The best choice of every record, with the gap: section 4, equations (7), (8) and (9), or for their mean.

    Also the bounds of the largest of the risks against each dictionary, where that is made small.
    """
    bounds = None
    scan, tables, policy = records.scan, records.tables, records.tables.policy
    if policy.goal == RISK and not policy.is_average:
        _refuse_too_much_utility(records, policy.c)
    with scan.source.scratch.nested() as scratch:
        if policy.is_average:
            best = records.average_choice(policy.c)
        elif policy.is_minimax:
            rule, bounds = records.minimax_choice(policy.c, scratch)
            best = f"SELECT *, {0.0 if bounds is None else bounds.gap!r}::DOUBLE AS gap FROM ({rule})"
        elif not policy.is_plain:
            best = f"SELECT * EXCLUDE (c), 0e0 AS gap FROM ({records.choices_at([policy.c])})"
        else:
            problem = DisclosureProblem(records.relation, tables.entries[0], tables.candidate_weights, policy.form)
            with tables.naming():
                found = disclose_optimally(scratch, problem, policy.goal, policy.c)
            best = f"SELECT {_CHOICE}, 0e0 AS gap FROM {found.name}"
        chosen = tables.table(best, "chosen")
    if (chosen.written or 0) < scan.combinations:
        raise PolicyError(f"for some records no choice has a loss of at most c = {policy.c:g}; take a larger c")
    return chosen, bounds


def _refuse_too_much_utility(records: WeighedRecords, c: float) -> None:
    """Refuse a utility that some row cannot have: a missing cell has none."""
    scan = records.scan
    few, least = fetch(
        scan.source.con,
        f"SELECT sum(f.__priv_n) FILTER (m.utility < {c!r}), min(m.utility) FROM {records.full_utility.name} AS m "
        f"JOIN {scan.frequencies.relation.name} AS f ON m.number = f.rowid",
    )[0]
    if few:
        raise PolicyError(
            f"{few:,} of {scan.rows:,} rows have a utility below c = {c:g} even as they are; ask for at most {least:,} "
            'of every row, or for the mean: per = "average"'
        )


def chosen_boxes(records: WeighedRecords, chosen: Relation) -> Boxes:
    """Every combination as a class of its own, with its labels and their levels."""
    scan = records.scan
    assert scan.forest is not None
    scratch, top = scan.source.scratch, literal(TOP)
    classed = scratch.table(f"SELECT row, row AS class FROM {chosen.name}", "classed")
    paths = scratch.table(f"SELECT DISTINCT axis, labels FROM {scan.forest.steps.name}", "chosen_paths")
    columns, joins = ["c.row AS class", "f.__priv_n AS rows"], []
    for axis in scan.axes:
        a, label = axis.number, f"c.labels[{axis.number + 1}]"
        # A label that is on two levels counts as the higher one.
        level = f"len(p{a}.labels) - list_position(list_reverse(p{a}.labels), {label})"
        columns += [f"NULL AS low{a}", f"NULL AS high{a}", f"{label} AS label{a}"]
        columns.append(f"CASE WHEN {label} = {top} THEN {axis.height} ELSE {level} END AS level{a}")
        joins.append(f" JOIN {paths.name} AS p{a} ON p{a}.axis = {a} AND r.a{a} IS NOT DISTINCT FROM p{a}.labels[1]")
    boxes = (
        f"SELECT {', '.join(columns)}, min(c.row) OVER (PARTITION BY c.labels) AS box FROM {chosen.name} AS c "
        f"JOIN {scan.frequencies.relation.name} AS f ON c.row = f.rowid "
        f"JOIN {records.relation.name} AS r ON c.row = r.number"
    )
    return Boxes(classed, scratch.table(boxes + "".join(joins), "boxes"))


def summarize(records: WeighedRecords, chosen: Relation, boxes: Boxes, minimax: Minimax | None) -> Chosen:
    """Risk, utility and levels of what was chosen."""
    con, box = records.scan.source.con, boxes.relation.name
    means = ", ".join(inlined(f"_mean_of({value}, b.rows)") for value in ("c.loss", "c.utility", "m.utility"))
    ((risk, utility, whole, worst, gap, unmatched),) = fetch(
        con,
        f"SELECT {means}, max(c.loss), max(c.gap), coalesce(sum(b.rows) FILTER (c.entries = 0), 0) "
        f"FROM {chosen.name} AS c JOIN {box} AS b ON c.row = b.class "
        f"JOIN {records.full_utility.name} AS m ON c.row = m.number",
    )
    of_box = f"SELECT sum(rows) AS rows FROM {box} GROUP BY box"
    ((classes, alone),) = fetch(con, f"SELECT count(*), count(*) FILTER (rows = 1) FROM ({of_box})")
    shares = {}
    for axis in records.scan.axes:
        share = inlined(f"_share_of(sum(rows) FILTER (level{axis.number} = l.level), sum(rows))")
        levels = f"(SELECT unnest(range({axis.height} + 1)) AS level) AS l"
        found = fetch(con, f"SELECT l.level, {share} FROM {box} CROSS JOIN {levels} GROUP BY 1 ORDER BY 1")
        shares[axis.column] = tuple(float(s) for _, s in found)
    return Chosen(
        risk=float(risk), worst=float(worst), utility=float(utility), whole=float(whole), gap=float(gap),
        minimax=minimax, unmatched=int(unmatched), classes=int(classes), alone=int(alone), shares=shares,
    )  # fmt: skip
