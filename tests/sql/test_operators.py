"""hide, gen, generalize and loss: against their oracles, Proposition 3 through stacked views, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.counting import Row, Rows
from oracles.hierarchies import Path
from support import strategies
from support.agreement import close, literal
from support.strategies import Case, fewer, quote

from sqlpriv.core.errors import InputError
from sqlpriv.macros.expand import create_view

TESTED = {"hide", "gen", "generalize", "loss"}
Con = duckdb.DuckDBPyConnection
ID, MARK = "record id", "its mark"


@dataclass(frozen=True)
class Condition:
    """The same condition as SQL and as Python, where None is unknown."""

    sql: str
    holds: Callable[[Row], bool | None]

    def __repr__(self) -> str:
        return self.sql


def both(left: Condition, right: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        answers = (left.holds(row), right.holds(row))
        return False if False in answers else None if None in answers else True

    return Condition(f"({left.sql}) AND ({right.sql})", holds)


def negation(inner: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        answer = inner.holds(row)
        return None if answer is None else not answer

    return Condition(f"NOT ({inner.sql})", holds)


def conditions(*columns: str) -> st.SearchStrategy[Condition]:
    """On the id, on a mark that may be NULL (and then the condition is), and on whether the columns are NULL."""
    numbers = st.integers(0, 6)
    marked = numbers.map(
        lambda n: Condition(f'"{MARK}" < {n}', lambda row: None if row[MARK] is None else int(str(row[MARK])) < n)
    )
    numbered = numbers.map(lambda n: Condition(f'"{ID}" % 7 <> {n}', lambda row: int(str(row[ID])) % 7 != n))
    odd = st.just(Condition(f"\"{ID}\" IN (SELECT 2 * i FROM range(99) AS r(i)) AND ';(''--' <> '$$'", is_even))
    given_ = [st.just(Condition(f"{quote(c)} IS NOT NULL", lambda row, c=c: row[c] is not None)) for c in columns]  # type: ignore[misc]
    return st.recursive(
        st.one_of(marked, numbered, odd, *given_),
        lambda inner: st.tuples(inner, inner).map(lambda pair: both(*pair)) | inner.map(negation),
        max_leaves=3,
    )


def is_even(row: Row) -> bool:
    return int(str(row[ID])) % 2 == 0


def unsigned(cell: object) -> object:
    """Without -0.0, whose text has a sign."""
    if isinstance(cell, dict):
        return {name: unsigned(inner) for name, inner in cell.items()}
    return cell + 0.0 if isinstance(cell, float) else cell


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> Case:
    """A random table with an id and a mark, both at random places."""
    case = draw(strategies.cases(least=least, most=20))
    marks = draw(st.lists(st.integers(0, 6) | st.none(), min_size=len(case.rows), max_size=len(case.rows)))
    columns = {**case.columns, ID: "INTEGER", MARK: "INTEGER"}
    order = draw(st.permutations(list(columns)))
    rows = [
        {**{name: unsigned(cell) for name, cell in row.items()}, ID: at, MARK: mark}
        for at, (row, mark) in enumerate(zip(case.rows, marks, strict=True))
    ]
    return replace(case, columns={name: columns[name] for name in order}, rows=tuple(rows))


def found(con: Con, sql: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(map(oracles.canon, row)) for row in con.execute(sql).fetchall())


def as_table(rows: Rows, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(oracles.canon(row[name]) for name in columns) for row in rows)


def call(name: str, *arguments: object) -> str:
    return f"FROM priv.{name}({', '.join(map(literal, arguments))})"


# --- hide and gen ---------------------------------------------------------------------------------


@given(data=st.data(), case=tables())
def test_hide_agrees(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    column = data.draw(st.sampled_from(list(case.columns)))
    condition = data.draw(conditions(*case.columns))
    expected = oracles.hide(case.rows, column, condition.holds)
    asked = con.execute(call("hide", "t", column, condition.sql))
    assert [c[0] for c in asked.description or []] == list(case.columns)
    asked.fetchall()
    assert found(con, call("hide", "t", column, condition.sql)) == as_table(expected, list(case.columns))


@st.composite
def labels_for(draw: st.DrawFn, case: Case, column: str) -> list[dict[str, object]]:
    """Labels for some of the rows, for rows that are not there, and for nobody."""
    ids = draw(st.lists(st.integers(0, len(case.rows) + 2), unique=True, max_size=8))
    label = st.sampled_from(["low", "*", "o'x", None])
    return [{ID: at, column: draw(label)} for at in ids] + [{ID: None, column: "never"}] * draw(st.integers(0, 2))


def create_labels(con: Con, name: str, column: str, labels: Sequence[Mapping[str, object]]) -> None:
    rows = [[row[column], 0, row[ID]] for row in labels]
    strategies.create_table(con, name, {column: "VARCHAR", "__other": "INTEGER", ID: "INTEGER"}, rows)


def roles(case: Case) -> list[str]:
    """The columns that an operator may change; the text of a STRUCT is not written down anywhere."""
    return [name for name, kind in case.columns.items() if name not in (ID, MARK) and not kind.startswith("STRUCT")]


@given(data=st.data(), case=tables())
def test_gen_agrees(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    column = data.draw(st.sampled_from(roles(case)))
    labels = data.draw(labels_for(case, column))
    create_labels(con, "labels", column, labels)
    condition = data.draw(conditions(*case.columns))
    names = list(case.columns)
    asked = ["t", ID, column, "labels"]
    assert found(con, call("gen", *asked)) == as_table(oracles.gen(case.rows, ID, column, labels), names)
    expected = oracles.gen(case.rows, ID, column, labels, condition.holds)
    assert found(con, call("gen", *asked, condition.sql)) == as_table(expected, names)


def test_the_figures_of_the_paper(con: Con) -> None:
    """Figures 5 and 6: rows 1 and 3 of four are private in A2."""
    rows = [[1, "a1", "b1"], [2, "a2", "b2"], [3, "a3", "b3"], [4, "a4", "b4"]]
    strategies.create_table(con, "t", {"A1": "INTEGER", "A2": "VARCHAR", "A3": "VARCHAR"}, rows)
    strategies.create_table(con, "g", {"A1": "INTEGER", "A2": "VARCHAR"}, [[1, "^a1"], [3, "^a3"]])
    hidden = con.execute(call("hide", "t", "A2", "A1 <> 1 AND A1 <> 3") + " ORDER BY A1").fetchall()
    assert hidden == [(1, None, "b1"), (2, "a2", "b2"), (3, None, "b3"), (4, "a4", "b4")]
    general = con.execute(call("gen", "t", "A1", "A2", "g", "A1 <> 1 AND A1 <> 3") + " ORDER BY A1").fetchall()
    assert general == [(1, "^a1", "b1"), (2, "a2", "b2"), (3, "^a3", "b3"), (4, "a4", "b4")]


# --- Proposition 3 --------------------------------------------------------------------------------


def stacked(con: Con, *steps: str) -> Counter[tuple[object, ...]]:
    """The rows of a chain of views, each over the one before: {} is the name of that."""
    below = "t"
    for at, step in enumerate(steps):
        create_view(con, f"step {at}", step.replace("'{}'", literal(f'"{below}"')), replace=True)
        below = f"step {at}"
    return found(con, f'FROM "{below}"')


@pytest.mark.slow
@fewer(10)
@given(data=st.data(), case=tables())
def test_hiding_commutes_and_is_associative(con: Con, data: st.DataObject, case: Case) -> None:
    """Each condition may read its own column, which the other one does not hide."""
    strategies.create(con, "t", case)
    mine, other = data.draw(st.permutations(roles(case)))[:2]
    first, second = data.draw(conditions(mine)), data.draw(conditions(mine))
    third = data.draw(conditions(other))
    hide_mine, hide_other = call("hide", "{}", mine, first.sql), call("hide", "{}", other, third.sql)
    assert stacked(con, hide_mine, hide_other) == stacked(con, hide_other, hide_mine)
    together = stacked(con, call("hide", "{}", mine, both(first, second).sql))
    assert stacked(con, hide_mine, call("hide", "{}", mine, second.sql)) == together
    assert stacked(con, call("hide", "{}", mine, second.sql), hide_mine) == together


@pytest.mark.slow
@fewer(10)
@given(data=st.data(), case=tables())
def test_generalizing_commutes_and_is_associative(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    mine, other = data.draw(st.permutations(roles(case)))[:2]
    for table, column in (("labels", mine), ("other labels", other)):
        create_labels(con, table, column, data.draw(labels_for(case, column)))
    first, second = data.draw(conditions(mine)), data.draw(conditions(mine))
    third = data.draw(conditions(other))
    gen_mine = call("gen", "{}", ID, mine, "labels", first.sql)
    gen_other = call("gen", "{}", ID, other, '"other labels"', third.sql)
    assert stacked(con, gen_mine, gen_other) == stacked(con, gen_other, gen_mine)
    together = stacked(con, call("gen", "{}", ID, mine, "labels", both(first, second).sql))
    assert stacked(con, gen_mine, call("gen", "{}", ID, mine, "labels", second.sql)) == together


@fewer(10)
@given(data=st.data(), case=tables())
def test_hiding_is_generalizing_to_null(con: Con, data: st.DataObject, case: Case) -> None:
    """The second remark after Definition 7; gen makes the column text, so both are compared as text."""
    strategies.create(con, "t", case)
    column = data.draw(st.sampled_from(roles(case)))
    condition = data.draw(conditions(*case.columns))
    create_labels(con, "labels", column, [{ID: at, column: None} for at in range(len(case.rows))])
    hidden = call("hide", "t", column, condition.sql)
    general = call("gen", "t", ID, column, "labels", condition.sql)
    as_text = f"SELECT * REPLACE (CAST({quote(column)} AS VARCHAR) AS {quote(column)}) "
    assert found(con, as_text + hidden) == found(con, as_text + general)


def test_a_condition_on_a_column_that_another_hides_does_not_commute(con: Con) -> None:
    """The proposition is about conditions on what stays: this is why the header warns."""
    strategies.create_table(con, "t", {"a": "INTEGER", "b": "INTEGER"}, [[1, 2]])
    hide_a, hide_b = call("hide", "{}", "a", "b = 2"), call("hide", "{}", "b", "false")
    assert stacked(con, hide_a, hide_b) == Counter([(1, None)])
    assert stacked(con, hide_b, hide_a) == Counter([(None, None)])


# --- generalize and loss --------------------------------------------------------------------------


@st.composite
def paths_for(draw: st.DrawFn, case: Case, column: str) -> list[Path]:
    """A hierarchy of a column and of other values, with or without a row for NULL."""
    paths = draw(strategies.hierarchies(replace(case, sensitive=column)))
    return [path for path in paths if path[0] is not None or draw(st.booleans())] or [("another", "*")]


@fewer(4)
@given(data=st.data(), case=tables(least=1))
def test_generalize_and_loss_agree(con: Con, data: st.DataObject, case: Case) -> None:
    chosen = data.draw(st.lists(st.sampled_from(roles(case)), min_size=1, unique=True))
    strategies.create(con, "t", case)
    trees = {name: data.draw(paths_for(case, name)) for name in chosen}
    node = {name: data.draw(st.integers(0, len(trees[name][0]) - 1)) for name in chosen}
    named = {name: f"tree {at}" for at, name in enumerate(chosen)}
    for name, paths in trees.items():
        for table in (named[name], f"hierarchy_{name}"):
            columns = {f"c{at}": "VARCHAR" for at in range(len(paths[0]))}
            strategies.create_table(con, table, columns, [*paths, paths[0]])
    expected = oracles.generalize(case.rows, node, trees)
    lost = oracles.loss(expected, node, trees)
    maps = MapLiteral(node), MapLiteral({name: quote(table) for name, table in named.items()})
    for arguments in (maps[:1], maps):
        assert found(con, call("generalize", "t", *arguments)) == as_table(expected, list(case.columns))
        con.execute(f"CREATE OR REPLACE TABLE general AS {call('generalize', 't', *arguments)}").fetchall()
        answer = con.execute(call("loss", "general", *arguments)).fetchall()
        assert close(answer[0][0], lost), (answer, lost)
    assert stacked(con, call("generalize", "{}", *maps)) == as_table(expected, list(case.columns))


class MapLiteral(dict[str, object]):
    """A dictionary that is written as a MAP."""

    def __repr__(self) -> str:
        return "MAP {" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in self.items()) + "}"


@pytest.fixture
def small(con: Con) -> Con:
    columns = {"id": "INTEGER", "age": "INTEGER", "Zip": "VARCHAR"}
    strategies.create_table(con, "t", columns, [[1, 31, "SECRET"], [2, None, "SECRET"], [None, 58, None]])
    for name, tops in (("age", "level1 VARCHAR, top VARCHAR"), ("zip", "top VARCHAR")):
        con.execute(f"CREATE OR REPLACE TABLE hierarchy_{name} (value VARCHAR, {tops})").fetchall()
    con.execute("INSERT INTO hierarchy_age VALUES ('31', '30-39', '*'), ('58', '50-59', '*')").fetchall()
    con.execute("INSERT INTO hierarchy_zip VALUES ('SECRET', '*')").fetchall()
    return con


def test_the_top_takes_null_in_and_lower_levels_leave_it(small: Con) -> None:
    levels = [small.execute(call("generalize", "t", MapLiteral(age=i))).fetchall() for i in (0, 1, 2)]
    assert [sorted(map(str, (row[1] for row in rows))) for rows in levels] == [
        ["31", "58", "None"],
        ["30-39", "50-59", "None"],
        ["*", "*", "*"],
    ]
    small.execute("INSERT INTO hierarchy_age VALUES (NULL, 'unknown', '*')").fetchall()
    rows = small.execute(call("generalize", "t", MapLiteral(age=1, zip=1))).fetchall()
    assert {row[1:] for row in rows} == {("30-39", "*"), ("unknown", "*"), ("50-59", "*")}


NODE = "the node must be a map from columns to levels, as in MAP {'age': 2, 'zip': 1}"
LEVEL = "every level of the node must be a whole number from 0 to 100"
MAPS = "the hierarchies must be a map from columns to tables"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        *((node, NODE) for node in ("5", "NULL", "'age'", "['age']", "MAP {}", "MAP {1: 1}")),
        *((f"MAP {{'age': {x}}}", LEVEL) for x in ("-1", "1.5", "NULL", "'x'", "101", "CAST('nan' AS DOUBLE)")),
        ("MAP {'age': 1, 'AGE': 1}", "a column is named twice in the node"),
        ("MAP {'__PRIV_t': 1}", "names that start with __priv_ are reserved"),
        ("MAP {'age': 3}", "there is no level 3 in the hierarchy of age, its top is level 2"),
        ("MAP {'id': 1}, MAP {'id': 'hierarchy_age'}", "the hierarchy of id does not cover every value"),
        ("MAP {'age': 1}, MAP {'age': 'empty'}", "the hierarchy of age has no rows"),
        ("MAP {'age': 1}, MAP {'age': 'twice'}", "a value stands twice in the hierarchy of age, with different labels"),
        *((f"MAP {{'age': 1}}, {maps}", MAPS) for maps in ("5", "NULL", "'x'", "MAP {'age': 5}", "MAP {'age': NULL}")),
        ("MAP {'age': 1}, MAP {'age': '__priv_t'}", "names that start with __priv_ are reserved"),
    ],
)
def test_what_cannot_be_generalized_is_refused(small: Con, arguments: str, complaint: str) -> None:
    small.execute("CREATE OR REPLACE TABLE empty AS FROM hierarchy_age WHERE false").fetchall()
    small.execute("CREATE OR REPLACE TABLE twice AS FROM hierarchy_age UNION ALL SELECT '31', 'x', '*'").fetchall()
    with pytest.raises(duckdb.Error) as refused:
        small.execute(f"FROM priv.generalize('t', {arguments})").fetchall()
    assert f"sqlpriv: {complaint}" in str(refused.value)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("name", ["agee", "nothing"])
def test_an_unknown_column_is_refused(small: Con, name: str) -> None:
    for asked in (
        call("hide", "t", name, "true"),
        call("generalize", "t", MapLiteral({name: 0})),
        call("generalize", "t", MapLiteral({name: 1}), MapLiteral({name: "hierarchy_age"})),
        call("loss", "t", MapLiteral({name: 0}), MapLiteral({name: "hierarchy_age"})),
    ):
        with pytest.raises(duckdb.BinderException, match=f'"{name}"'):
            small.execute(asked).fetchall()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("MAP {'age': 1}", "a label of the table is not on its level of the hierarchy"),
        ("MAP {'age': 3}", "a hierarchy does not have the level of the node"),
        ("MAP {'age': 0}, MAP {'age': 'empty'}", "a hierarchy has no rows"),
    ],
)
def test_what_has_no_loss_is_refused(small: Con, arguments: str, complaint: str) -> None:
    small.execute("CREATE OR REPLACE TABLE empty AS FROM hierarchy_age WHERE false").fetchall()
    with pytest.raises(duckdb.Error, match=f"sqlpriv: {complaint}"):
        small.execute(f"FROM priv.loss('t', {arguments})").fetchall()


def test_an_empty_table_stays_empty_but_has_no_loss(small: Con) -> None:
    small.execute("CREATE OR REPLACE TABLE nobody AS FROM t WHERE false").fetchall()
    for asked in (call("hide", "nobody", "age", "true"), call("generalize", "nobody", MapLiteral(age=1))):
        assert small.execute(asked).fetchall() == []
    with pytest.raises(duckdb.Error, match="no rows"):
        small.execute(call("loss", "nobody", MapLiteral(age=1))).fetchall()


def test_gen_refuses_an_id_with_two_labels(small: Con) -> None:
    for ids in ([7, 7], [1, 1]):
        strategies.create_table(small, "g", {"id": "INTEGER", "age": "VARCHAR"}, [[at, "x"] for at in ids])
        with pytest.raises(duckdb.Error, match="sqlpriv: an id has two rows in the table of generalized values"):
            small.execute(call("gen", "t", "id", "age", "g")).fetchall()
    for missing in ("id", "age"):
        small.execute(f"CREATE OR REPLACE TABLE g AS SELECT 1 AS {'age' if missing == 'id' else 'id'}").fetchall()
        with pytest.raises(duckdb.BinderException, match=missing):
            small.execute(call("gen", "t", "id", "age", "g")).fetchall()


# --- Views ----------------------------------------------------------------------------------------


def test_a_chain_of_all_operators(small: Con) -> None:
    strategies.create_table(small, "g", {"id": "INTEGER", "zip": "VARCHAR"}, [[1, "1****"]])
    steps = [
        call("hide", "{}", "age", "id = 1"),
        call("generalize", "{}", MapLiteral(age=1)),
        call("gen", "{}", "id", "zip", "g"),
        call("hide", "{}", "zip", "id IS NOT NULL"),
        call("generalize", "{}", MapLiteral(age=2), MapLiteral(age="age_above")),
    ]
    small.execute(
        "CREATE OR REPLACE TABLE age_above AS SELECT DISTINCT level1, top, '-' AS end FROM hierarchy_age"
    ).fetchall()
    assert stacked(small, *steps) == Counter([(1, "-", "1****"), (2, "-", "SECRET"), (None, "-", None)])


def test_a_view_is_replaced_only_when_asked(small: Con) -> None:
    create_view(small, 'main."odd view"', "SELECT id FROM t", replace=True)
    with pytest.raises(InputError, match="; say that it may be replaced"):
        create_view(small, '"odd view"', call("hide", "t", "age", "true"))
    create_view(small, '"odd view"', call("hide", "t", "age", "true"), replace=True)
    assert small.execute('SELECT age FROM "odd view" WHERE id = 1').fetchall() == [(31,)]
    for replaced in (False, True):
        with pytest.raises(InputError, match="already a table called 't'; drop it"):
            create_view(small, "t", "SELECT 1", replace=replaced)


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("SELECT 1; DROP TABLE t", "a view is made of one SELECT"),
        ("DROP TABLE t", "a view is made of one SELECT"),
        ("FROM priv.hide('t', 'age', 'true'); DROP TABLE t", "a view is made of one SELECT"),
        ("", "a view is made of one SELECT"),
        ("SELEC 1", "this is no SQL that DuckDB can read"),
        ("FROM priv.hide('t', 'age', 'true)')", "the parentheses of the condition do not match"),
        ("FROM priv.hide('t', 'agee', 'true')", "there is no column 'agee' in the table"),
        ("FROM priv.hide('nowhere', 'age', 'true')", "there is no table 'nowhere'"),
        ("FROM priv.generalize('t', MAP {'age': 1}, MAP {'age': 'nowhere'})", 'there is no table "nowhere"'),
        ("FROM priv.hidden('t', 'age', 'true')", "there is no macro 'hidden'"),
    ],
)
def test_what_makes_no_view_is_refused(small: Con, sql: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        create_view(small, "never", sql)
    assert small.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
    assert small.execute("FROM duckdb_views() WHERE view_name = 'never'").fetchall() == []
