"""epsilon-privacy against all four classes of adversaries, and the priors and shapes made from tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import INFINITY, canon
from support import strategies
from support.agreement import assert_rows, call, macros_of, persons, verify
from support.strategies import Case, Texts

CHECKS = ("epsilon_class1", "epsilon_class2", "epsilon_class3", "epsilon_class4")
TESTED = macros_of(CHECKS, "prior_from_counts", "shape_from_counts", "uniform_shape", "guarding_nodes")

Con = duckdb.DuckDBPyConnection
Beliefs = Mapping[str, tuple[list[object], list[object], Texts]]


@st.composite
def beliefs(draw: st.DrawFn, con: Con, case: Case) -> Beliefs:
    """What each class of adversary believes, in SQL and in Python, and the values that it knows."""
    prior, shape, sigma = draw(strategies.priors(case)), draw(strategies.shapes(case)), draw(strategies.sigmas(case))
    create_beliefs(con, "prior", "sigma", prior)
    create_beliefs(con, "shape", "share", shape)
    return {
        "epsilon_class1": (["prior"], [prior], list(prior)),
        "epsilon_class2": ([sigma], [sigma], case.texts()),
        "epsilon_class3": (["shape"], [shape], list(shape)),
        "epsilon_class4": ([], [], case.texts()),
    }


def create_beliefs(con: Con, table: str, column: str, weights: Mapping[Any, float]) -> None:
    strategies.create_table(con, table, {"value": "VARCHAR", column: "DOUBLE"}, list(weights.items()))


def create_sets(con: Con, sets: Sequence[Sequence[object]], bounded: bool = False) -> str:
    """The predicates as a table, its columns named by its width; returns its name. A bound stands last."""
    bound = {"at_most": "DOUBLE"} if bounded else {}
    names = ["id", "name", "value"][-len(sets[0]) + len(bound) :]
    strategies.create_table(con, "sets", dict.fromkeys(names, "VARCHAR") | bound, sets)
    return "sets"


BOUNDS = st.sampled_from([1.0, 1.25, 2.0, 8.0])
# Few, because as soon as they are as many as a class has others, everything is infinite.
known_tuples = st.sampled_from([0, 1, 2, 3, 50])


@given(data=st.data(), case=strategies.text_cases())
def test_oracles_agree(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    known, b = data.draw(beliefs(con, case)), data.draw(known_tuples)
    for check, (asked, told, values) in known.items():
        last, options = data.draw(secrets(con, case, values))
        verify(
            con,
            data,
            check,
            ["t", case.qis, case.sensitive, *asked, b, *last],
            [case.rows, case.qis, case.sensitive, *told, b],
            **options,
        )


@st.composite
def secrets(draw: st.DrawFn, con: Con, case: Case, values: Texts) -> tuple[list[object], dict[str, Any]]:
    """Single values or sets, of rows, of persons, or each person's own: the last arguments in SQL and in Python."""
    sets: Any = draw(st.none() | strategies.predicates(values))
    person, whose = draw(st.sampled_from([([], {}), ([case.person], {"person": case.person})]))
    if person and draw(st.booleans()):
        sets = draw(strategies.person_predicates(case, values))
        whose = {"id_column": case.person}
    bounded = sets is not None and draw(st.booleans())
    sets = [(*row, draw(BOUNDS)) for row in sets] if bounded else sets
    named = [] if sets is None and not person and draw(st.booleans()) else [sets and create_sets(con, sets, bounded)]
    return [*named, *person], {"predicates": sets, **whose}


@strategies.fewer(2)
@given(case=strategies.text_cases(), data=st.data())
def test_guarding_nodes_agree(con: Con, data: st.DataObject, case: Case) -> None:
    """Nodes on any level, also of people who are not there, and the checks of what is made of them."""
    strategies.create(con, "t", case)
    paths = data.draw(strategies.hierarchies(case))
    known = case.texts()
    labels = sorted({label for path in paths for label in path if label is not None})
    whose = st.sampled_from([*case.texts(case.person), "nobody"])
    nodes = data.draw(st.lists(st.tuples(whose, st.sampled_from(labels), BOUNDS), max_size=4))
    strategies.create_table(con, "nodes", {"id": "VARCHAR", "node": "VARCHAR", "at_most": "DOUBLE"}, nodes)
    strategies.create_table(con, "tree", {f"level {n}": "VARCHAR" for n in range(len(paths[0]))}, paths)
    strategies.create_table(con, "known", {"value": "VARCHAR"}, [[value] for value in known])
    expected = oracles.guarding_nodes(nodes, paths, known)
    found = call(con, "guarding_nodes", "nodes", "tree", "known")
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    if expected:
        create_sets(con, expected, bounded=True)
        sigma = data.draw(strategies.sigmas(case))
        verify(
            con, data, "epsilon_class2", ["t", case.qis, case.sensitive, sigma, 0, "sets", case.person],
            [case.rows, case.qis, case.sensitive, sigma, 0], predicates=expected, id_column=case.person,
        )  # fmt: skip


def test_a_bound_of_ones_own_is_what_epsilon_is_measured_by(small: Con) -> None:
    """The same set in the same class: the stricter bound of two people counts there, and nowhere else."""
    plain = call(small, "epsilon_class2", "t", ["q"], "s", 10, 0, create_sets(small, [("1", "m", "a")]), "p")[0][0]
    for bounds, allowed in (((4.0,), 4), ((4.0, 2.0), 2)):
        sets = create_sets(small, [(str(i + 1), "mine", "a", bound) for i, bound in enumerate(bounds)], bounded=True)
        assert call(small, "epsilon_class2", "t", ["q"], "s", 10, 0, sets, "p") == [(pytest.approx(plain / allowed),)]


@pytest.mark.parametrize("bound", [None, 0.5, float("nan"), float("inf")])
def test_a_bound_that_is_none_is_refused(small: Con, bound: float | None) -> None:
    sets = create_sets(small, [("1", "mine", "a", 2.0), ("2", "mine", "a", bound)], bounded=True)
    with pytest.raises(duckdb.Error, match="must be a number of at least 1"):
        call(small, "epsilon_class2", "t", ["q"], "s", 10, 0, sets, "p")


@pytest.mark.parametrize(
    ("nodes", "known", "complaint"),
    [
        ([("1", "nothing", 2.0)], "a", "1 guarding nodes are not in the hierarchy"),
        ([("1", None, 2.0)], "a", "the id or the node of a guarding node is NULL"),
        ([(None, "*", 2.0)], "a", "the id or the node of a guarding node is NULL"),
        ([("1", "*", None)], "a", "must be a number of at least 1"),
        ([("1", "*", 2.0)], "misspelt", "does not cover every sensitive value"),
    ],
)
def test_a_node_that_is_none_is_refused(con: Con, nodes: list[object], known: str, complaint: str) -> None:
    strategies.create_table(con, "nodes", {"id": "VARCHAR", "node": "VARCHAR", "at_most": "DOUBLE"}, nodes)  # type: ignore[arg-type]
    strategies.create_table(con, "tree", {"value": "VARCHAR", "top": "VARCHAR"}, [["a", "*"], ["b", "*"]])
    strategies.create_table(con, "known", {"value": "VARCHAR"}, [[known]])
    for asked in ("count(*)", "any_value(value)"):
        with pytest.raises(duckdb.Error, match=complaint):
            con.execute(f"SELECT {asked} FROM priv.guarding_nodes('nodes', 'tree', 'known')").fetchall()


@given(case=strategies.cases(), data=st.data())
def test_priors_and_shapes_from_tables_agree(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    person = data.draw(persons(case))
    for name, more in (("prior_from_counts", person), ("shape_from_counts", person), ("uniform_shape", [])):
        expected = getattr(oracles, name)(case.rows, case.sensitive, *more)
        found = {canon(value): weight for value, weight in call(con, name, "t", case.sensitive, *more)}
        assert found.keys() == expected.keys()
        assert_rows([(found[value],) for value in expected], [(weight,) for weight in expected.values()], name)


@strategies.fewer(4)
@given(case=strategies.text_cases(), data=st.data())
def test_a_prior_made_by_a_macro_is_taken(con: Con, data: st.DataObject, case: Case) -> None:
    strategies.create(con, "t", case)
    person = data.draw(persons(case))
    arguments = ", ".join(f"'{name.replace(chr(39), chr(39) * 2)}'" for name in ["t", case.sensitive, *person])
    con.execute(f"CREATE OR REPLACE TABLE seen AS FROM priv.prior_from_counts({arguments})").fetchall()
    counts = oracles.prior_from_counts(case.rows, case.sensitive, *person)
    texts = {canon(row[case.sensitive]): oracles.text(row[case.sensitive]) for row in case.rows}
    prior = {texts[value]: sigma for value, sigma in counts.items()}
    expected = oracles.epsilon_class1(case.rows, case.qis, case.sensitive, prior)
    assert_rows(call(con, "epsilon_class1", "t", case.qis, case.sensitive, "seen", 0), [(expected,)], case)


def test_a_person_with_two_values_of_a_set_counts_once(con: Con) -> None:
    rows = [["a", 1], ["b", 1], ["c", 2], ["c", 3], ["c", 4], ["d", 5]]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR", "p": "INTEGER"}, [[1, *row] for row in rows])
    sets = create_sets(con, [("either", "a"), ("either", "b")])
    # One of five persons has the set; the adversary expected 2 of 14.
    assert call(con, "epsilon_class2", "t", ["q"], "s", 10, 0, sets, "p") == [(pytest.approx(1.4),)]


# --- What is refused --------------------------------------------------------------------------


@pytest.fixture
def small(con: Con) -> Con:
    """Six people in two classes, and beliefs over their values; `x` is only believed in."""
    rows = [[1, "a", 1], [1, "b", 2], [1, None, 3], [2, "a", 4], [2, "b", 5], [2, "b", 6]]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR", "p": "INTEGER"}, rows)
    create_beliefs(con, "prior", "sigma", {"a": 4, "b": 2, None: 1, "x": 1})
    create_beliefs(con, "shape", "share", {"a": 0.25, "b": 0.25, None: 0.25, "x": 0.25})
    return con


BELIEFS: dict[str, list[object]] = {
    "epsilon_class1": ["prior", 0],
    "epsilon_class2": [9, 0],
    "epsilon_class3": ["shape", 0],
    "epsilon_class4": [0],
}
FORMS = {"summary": ("", []), "classes": ("_classes", [2.0])}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("person", [[], ["p"]], ids=["rows", "persons"])
@pytest.mark.parametrize("check", CHECKS)
def test_a_misspelt_predicate_is_refused(small: Con, check: str, person: list[str], form: str) -> None:
    suffix, threshold = FORMS[form]
    sets = create_sets(small, [("good", "a"), ("bad", "b"), ("bad", "B")])
    with pytest.raises(duckdb.Error, match="misspelt"):
        call(small, check + suffix, "t", ["q"], "s", *BELIEFS[check], sets, *person, *threshold)


@pytest.mark.parametrize("check", CHECKS)
def test_a_misspelt_predicate_of_nobody_is_refused(small: Con, check: str) -> None:
    sets = create_sets(small, [("nobody", "mine", "B")])
    with pytest.raises(duckdb.Error, match="misspelt"):
        call(small, check, "t", ["q"], "s", *BELIEFS[check], sets, "p")


@pytest.mark.parametrize(("check", "knows"), list(zip(CHECKS, [True, False, True, False], strict=True)))
def test_a_predicate_may_name_what_only_the_adversary_knows(small: Con, check: str, knows: bool) -> None:
    sets = create_sets(small, [("rare", "x")])
    arguments = ["t", ["q"], "s", *BELIEFS[check], sets]
    if knows:
        assert call(small, check, *arguments) == [(1.0,)]
        assert call(small, f"{check}_classes", *arguments, 0.5) == []
    else:
        with pytest.raises(duckdb.Error, match="misspelt"):
            call(small, check, *arguments)


def test_predicates_of_persons_need_the_id_column(small: Con) -> None:
    sets = create_sets(small, [("1", "mine", "a")])
    for check in CHECKS:
        with pytest.raises(duckdb.Error, match="name the id column"):
            call(small, check, "t", ["q"], "s", *BELIEFS[check], sets)


@pytest.mark.parametrize("form", FORMS)
def test_a_sigma_below_the_number_of_values_is_refused(small: Con, form: str) -> None:
    suffix, threshold = FORMS[form]
    assert call(small, "epsilon_class2", "t", ["q"], "s", 3, 0) == [(pytest.approx(1.8),)]
    for more in ([], [None, "p"], [create_sets(small, [("one", "a")])]):
        with pytest.raises(duckdb.Error, match="at least the number of sensitive values"):
            call(small, f"epsilon_class2{suffix}", "t", ["q"], "s", 2, 0, *more, *threshold)


BAD_BELIEFS: dict[str, dict[str, list[tuple[str | None, float]]]] = {
    "prior": {
        "missing from the prior": [("a", 4), ("b", 2)],
        "has a value twice": [("a", 4), ("b", 2), (None, 1), ("a", 1)],
        "a number of at least 1": [("a", 4), ("b", 2), (None, 0.5)],
    },
    "shape": {
        "missing from the prior or shape": [("a", 0.5), ("b", 0.5)],
        "has a value twice": [("a", 0.5), ("b", 0.25), (None, 0.125), (None, 0.125)],
        "a number of at least 0": [("a", 1), ("b", 0.5), (None, -0.5)],
        "must add up to 1": [("a", 0.5), ("b", 0.25), (None, 0.125)],
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("table", "complaint"), [(t, c) for t, found in BAD_BELIEFS.items() for c in found])
def test_bad_beliefs_are_refused(small: Con, table: str, complaint: str, form: str) -> None:
    suffix, threshold = FORMS[form]
    column, check = {"prior": ("sigma", "epsilon_class1"), "shape": ("share", "epsilon_class3")}[table]
    columns = {"value": "VARCHAR", column: "DOUBLE"}
    strategies.create_table(small, table, columns, BAD_BELIEFS[table][complaint])
    with pytest.raises(duckdb.Error, match=complaint):
        call(small, check + suffix, "t", ["q"], "s", table, 0, *threshold)


@pytest.mark.parametrize("b", [-1, 0.5, None])
def test_b_is_a_number_of_tuples(small: Con, b: object) -> None:
    for check, given_beliefs in BELIEFS.items():
        with pytest.raises(duckdb.Error, match="number of known tuples"):
            call(small, check, "t", ["q"], "s", *given_beliefs[:-1], b)


def test_class_4_needs_no_b(small: Con) -> None:
    assert call(small, "epsilon_class4", "t", ["q"], "s") == [(INFINITY,)]
    assert [size for _, size, _ in call(small, "epsilon_class4_classes", "t", ["q"], "s", 100)] == [3, 3]
