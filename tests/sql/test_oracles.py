"""The oracles against the numbers of the papers, and against brute force on small tables."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import INFINITY, canon
from oracles.counting import Number, class_of
from oracles.epsilon import belief_in, belief_out, belief_ratio
from oracles.implications import none_holds, none_holds_by_draws
from oracles.sampling import least_epsilon, tail
from scipy.optimize import linprog
from support import strategies

pytestmark = pytest.mark.one_version

Row = dict[str, object]


def table(*classes: Sequence[object]) -> list[Row]:
    """One class a sequence of sensitive values."""
    return [{"q": q, "s": s} for q, values in enumerate(classes) for s in values]


def spell(counts: Sequence[int]) -> list[object]:
    """A class with these counts of the values 0, 1, 2, ..."""
    return [value for value, count in enumerate(counts) for _ in range(count)]


def histograms(most: int = 8, values: int = 4) -> st.SearchStrategy[list[int]]:
    counts = st.lists(st.integers(0, most), min_size=2, max_size=values)
    return counts.filter(any)


def of_persons(persons: Sequence[tuple[int, set[int]]]) -> list[Row]:
    """Rows of persons given as (class, values)."""
    return [{"q": q, "p": p, "s": s} for p, (q, own) in enumerate(persons) for s in sorted(own)]


def several_values(classes: int, most: int) -> st.SearchStrategy[list[Row]]:
    values = st.sets(st.integers(0, 2), min_size=1)
    person = st.tuples(st.integers(0, classes - 1), values)
    return st.lists(person, min_size=1, max_size=most).map(of_persons)


# --- Counting ---------------------------------------------------------------------------------


def test_a_null_class_of_one_row_is_a_class() -> None:
    rows = [{"q": "a"}] * 5 + [{"q": None}]
    assert oracles.k_anonymity(rows, ["q"]) == 1


def test_nan_is_one_value_and_a_reader_sees_the_sign_of_a_zero() -> None:
    rows = [{"q": x} for x in (math.nan, float("nan"), 0.0, 0.0, -0.0)]
    assert oracles.k_anonymity(rows, ["q"]) == 1
    assert oracles.k_anonymity(rows[:4], ["q"]) == 2
    assert canon([math.nan, -0.0]) == canon([float("nan"), 0.0])


def test_five_rows_of_one_patient_are_one_person() -> None:
    rows = [{"q": 1, "p": "ann"}] * 5
    assert oracles.k_anonymity(rows, ["q"]) == 5
    assert oracles.k_anonymity(rows, ["q"], "p") == 1


def test_rows_without_a_person_are_refused() -> None:
    rows = [{"q": 1, "p": None}, {"q": 1, "p": "ann"}]
    assert oracles.k_anonymity(rows, ["q"]) == 2
    with pytest.raises(ValueError, match="NULL"):
        oracles.k_anonymity(rows, ["q"], "p")


def test_persons_with_several_values_give_the_most_concentrated_histogram() -> None:
    rows = of_persons([(0, {0, 1}), (0, {0, 2}), (0, {1, 2})])
    assert oracles.l_diversity(rows, ["q"], "s", "p").distinct_l == 2
    assert oracles.alpha_k_anonymity(rows, ["q"], "s", "p") == (Fraction(2, 3), 3)
    assert oracles.recursive_diversity(rows, ["q"], "s", 2, "p") == 2
    assert oracles.negation_diversity(rows, ["q"], "s", 3, "p") == 1


@pytest.mark.parametrize(
    ("rows", "qis", "sensitive"),
    [
        ([], ["q"], "s"),
        (table([1]), [], "s"),
        (table([1]), "q", "s"),
        (table([1]), ["q", "s"], "s"),
        (table([1]), ["Q?"], "s"),
    ],
)
def test_refusals(rows: list[Row], qis: list[str], sensitive: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        oracles.t_closeness(rows, qis, sensitive)


def test_failing_classes_come_worst_first_with_a_tolerance() -> None:
    rows = table(spell([2, 2, 2]), spell([3, 1]), spell([5]), spell([1]))
    per_class = oracles.entropy_diversity_per_class(rows, ["q"], "s")
    assert [key for key, _, _ in oracles.failing(per_class, "<", 3)] == [(3,), (2,), (1,)]
    recursive = oracles.recursive_diversity_per_class(rows, ["q"], "s", 2)
    assert [key for key, _, _ in oracles.failing(recursive, ">=", 3.0)] == [(3,), (2,), (1,)]
    alpha = oracles.alpha_k_anonymity_per_class(rows, ["q"], "s")
    assert [size for _, size, _ in oracles.failing(alpha, ">", 0.75)] == [1, 5]
    assert oracles.failing(alpha, ">", 1) == []
    assert oracles.failing(recursive, ">=", INFINITY)[0] == ((3,), 1, INFINITY)


# --- Diversity --------------------------------------------------------------------------------


def test_diversity_of_the_lecture() -> None:
    rows = table(spell([1000, 5, 2, 1, 1]))
    assert oracles.negation_diversity(rows, ["q"], "s", 5) == Fraction(1000, 1001)
    assert oracles.recursive_diversity(rows, ["q"], "s", 5) == 1000
    four = table(spell([10, 5, 2, 1]))
    assert oracles.negation_diversity(four, ["q"], "s", 5) == 1
    assert oracles.recursive_diversity(four, ["q"], "s", 5) == INFINITY
    assert oracles.l_diversity(four, ["q"], "s").distinct_l == 4


def test_entropy_is_a_real_number() -> None:
    assert oracles.l_diversity(table(spell([2, 2, 2])), ["q"], "s").entropy_l == pytest.approx(3)
    entropy = oracles.l_diversity(table(spell([3, 1])), ["q"], "s").entropy_l
    assert entropy == pytest.approx(math.exp(0.5623351446188083))


@given(st.lists(histograms(), min_size=1, max_size=3), st.integers(2, 5))
def test_negation_diversity_is_the_worst_set_of_negations(counts: list[list[int]], length: int) -> None:
    rows = table(*map(spell, counts))
    by_search = oracles.negation_diversity_by_search(rows, ["q"], "s", length)
    assert oracles.negation_diversity(rows, ["q"], "s", length) == by_search


@given(several_values(2, 8), st.integers(2, 4))
def test_negation_diversity_bounds_persons_with_several_values(rows: list[Row], length: int) -> None:
    by_search = oracles.negation_diversity_by_search(rows, ["q"], "s", length, "p")
    assert oracles.negation_diversity(rows, ["q"], "s", length, "p") >= by_search


# --- Closeness --------------------------------------------------------------------------------

SALARIES = table([3, 4, 5], [6, 8, 11], [7, 9, 10])


def test_salaries() -> None:
    ordered = oracles.t_closeness_ordered_per_class(SALARIES, ["q"], "s")
    assert [value for _, value in ordered.values()] == [
        Fraction(3, 8),
        Fraction(1, 6),
        Fraction(17, 72),
    ]
    equal = oracles.t_closeness_per_class(SALARIES, ["q"], "s")
    assert {value for _, value in equal.values()} == {Fraction(2, 3)}
    assert oracles.t_closeness_ordered(SALARIES, ["q"], "s") == Fraction(3, 8)


def transport(own: Sequence[int], whole: Sequence[int], cost: list[list[float]]) -> float:
    """Earth mover's distance by linear programming: ship own shares to the table's shares."""
    m = len(own)
    leave = [[1.0 if i == row else 0.0 for i in range(m) for _ in range(m)] for row in range(m)]
    arrive = [[1.0 if j == col else 0.0 for _ in range(m) for j in range(m)] for col in range(m)]
    shares = [x / sum(own) for x in own] + [x / sum(whole) for x in whole]
    flat = [cell for row in cost for cell in row]
    return float(linprog(flat, A_eq=leave + arrive, b_eq=shares).fun)


@given(st.data(), st.integers(2, 5))
def test_ordered_closeness_is_the_cheapest_transport(data: st.DataObject, m: int) -> None:
    counts = st.lists(st.integers(0, 4), min_size=m, max_size=m)
    own, rest = data.draw(counts.filter(any)), data.draw(counts)
    whole = [x + y for x, y in zip(own, rest, strict=True)]
    used = [i for i in range(m) if whole[i]]
    steps = max(1, len(used) - 1)
    cost = [[abs(i - j) / steps for j in range(len(used))] for i in range(len(used))]
    per_class = oracles.t_closeness_ordered_per_class(table(spell(own), spell(rest)), ["q"], "s")
    expected = transport([own[i] for i in used], [whole[i] for i in used], cost)
    assert float(per_class[0,][1]) == pytest.approx(expected, abs=1e-9)


def lowest_common(left: Sequence[object], right: Sequence[object]) -> int:
    return next(i for i in range(len(left)) if left[i:] == right[i:])


@given(st.data(), strategies.cases(most=12))
def test_hierarchical_closeness_is_the_cheapest_transport(data: st.DataObject, case: strategies.Case) -> None:
    hierarchy = data.draw(strategies.hierarchies(case))
    args = (case.rows, case.qis, case.sensitive)
    per_class = oracles.t_closeness_hierarchical_per_class(*args, hierarchy)
    height = len(hierarchy[0]) - 1
    cost = [[lowest_common(a, b) / height for b in hierarchy] for a in hierarchy]
    texts = [oracles.text(row[case.sensitive]) for row in case.rows]
    keys = [class_of(row, case.qis) for row in case.rows]
    key = keys[0]
    mine = [value for value, own in zip(texts, keys, strict=True) if own == key]
    own, whole = ([values.count(path[0]) for path in hierarchy] for values in (mine, texts))
    assert float(per_class[key][1]) == pytest.approx(transport(own, whole, cost), abs=1e-9)


@given(st.lists(histograms(), min_size=1, max_size=3))
def test_a_flat_hierarchy_gives_the_equal_distance(counts: list[list[int]]) -> None:
    rows = table(*map(spell, counts))
    flat = [(value, "*") for value in range(4)]
    hierarchical = oracles.t_closeness_hierarchical_per_class(rows, ["q"], "s", flat)
    assert hierarchical == oracles.t_closeness_per_class(rows, ["q"], "s")


@pytest.mark.parametrize(
    "bad",
    [
        [(0, "*")],
        [(0, "*"), (1, "?")],
        [(0, "g", "h", "*"), (1, "g", "i", "*")],
        [(0,), (1,)],
        [(0, "a", "*"), (1, "*")],
        [(0, "a", "*"), (0, "b", "*"), (1, "a", "*")],
    ],
)
def test_hierarchies_that_are_no_tree_are_refused(bad: list[tuple[object, ...]]) -> None:
    with pytest.raises(ValueError, match=r"."):
        oracles.t_closeness_hierarchical(table([0, 1]), ["q"], "s", bad)


def test_likeness_and_disclosure() -> None:
    rows = table(spell([3, 1]), spell([1, 3, 4]))
    assert oracles.beta_likeness(rows, ["q"], "s") == Fraction(5, 4)
    assert oracles.enhanced_beta_likeness(rows, ["q"], "s") == INFINITY
    delta = oracles.delta_disclosure(rows, ["q"], "s")
    assert delta.delta == INFINITY
    assert delta.delta_present == pytest.approx(math.log(8 / 3))
    assert oracles.enhanced_beta_likeness(table([1, 1], [1]), ["q"], "s") == 0
    mild = table(spell([2, 1]), spell([1, 2]))
    assert oracles.enhanced_beta_likeness(mild, ["q"], "s") == Fraction(1, 3)


# --- epsilon-privacy --------------------------------------------------------------------------


def hospital() -> list[Row]:
    """Table 3 of the paper."""
    groups = [("<40", "M", 200, 300), (">=40", "M", 1800, 2700), (">=40", "F", 18000, 2000)]
    return [
        {"age": age, "sex": sex, "s": disease}
        for age, sex, flu, cancer in groups
        for disease, count in (("flu", flu), ("cancer", cancer))
        for _ in range(count)
    ]


def test_table_3() -> None:
    args = (hospital(), ["age", "sex"], "s")
    class1 = oracles.epsilon_class1(*args, {"flu": 12000, "cancer": 18000})
    assert class1 == Fraction(200000, 49999)
    class2 = oracles.epsilon_class2_per_class(*args, 30000)
    assert float(class2[">=40", "F"][1]) == pytest.approx(6.39993, abs=5e-6)
    assert float(class2["<40", "M"][1]) == pytest.approx(60.998, abs=5e-4)
    assert oracles.epsilon_class2(*args, 30000) == class2["<40", "M"][1]
    assert float(oracles.epsilon_class2(*args, 1000)) == pytest.approx(2.998, abs=5e-4)
    assert oracles.epsilon_class3(*args, {"flu": 0.4, "cancer": 0.6}) == 6
    assert oracles.epsilon_class4(*args) == INFINITY


def test_theorem_1_is_unsound_below_one() -> None:
    n, n_s, sigma, sigma_s, epsilon = 3, 1, Fraction("29.25"), Fraction("0.25"), Fraction("38.98")
    delta = (epsilon - 1) * n / sigma
    slack = 1 / (epsilon * (1 - 1 / sigma) + delta)
    r1 = n >= sigma / (epsilon - 1)
    r2 = Fraction(n_s, n) <= 1 - slack + slack * (sigma_s - 1) / sigma
    assert r1
    assert r2
    needed = belief_ratio(belief_in(n, n_s, 0), belief_out(n, n_s, sigma, sigma_s))
    assert float(needed) == pytest.approx(41.67, abs=5e-3)
    with pytest.raises(ValueError, match="at least 1"):
        oracles.epsilon_class1(table([0, 1, 1]), ["q"], "s", {0: 0.25, 1: 29})


@given(st.lists(histograms(), min_size=1, max_size=3), st.integers(1, 40), st.integers(1, 40))
def test_c2_diversity_is_class_3_with_a_uniform_shape(counts: list[list[int]], up: int, down: int) -> None:
    rows = table(*map(spell, counts))
    c, size = Fraction(up, down), 4
    shape = {value: Fraction(1, size) for value in range(size)}
    allowed = max(size * c / (c + 1), (c + 1) * (size - 1) / size)
    private = oracles.epsilon_class3(rows, ["q"], "s", shape) <= allowed
    r1_shares = oracles.alpha_k_anonymity(rows, ["q"], "s").alpha
    assert private == (r1_shares <= c / (c + 1))
    worst = oracles.recursive_diversity(rows, ["q"], "s", 2)
    strict = not oracles.fails(worst, ">=", c)
    assert private == (strict or worst == c)


def test_recursive_diversity_is_strict_where_class_3_is_not() -> None:
    rows = table(spell([3, 1]))
    assert oracles.epsilon_class3(rows, ["q"], "s", {0: 0.5, 1: 0.5}) == 2
    assert oracles.recursive_diversity(rows, ["q"], "s", 2) == 3
    assert oracles.fails(Fraction(3), ">=", 3)


@given(st.lists(histograms(), min_size=1, max_size=4))
def test_lemma_1(counts: list[list[int]]) -> None:
    rows = table(*map(spell, counts))
    values = [row["s"] for row in rows]
    shape = {value: Fraction(values.count(value), len(rows)) for value in set(values)}
    t = Fraction(oracles.t_closeness(rows, ["q"], "s"))
    if t < min(shape.values()):
        bound = max(max((p + t) / p, p / (p - t)) for p in shape.values())
        assert oracles.epsilon_class3(rows, ["q"], "s", shape) <= bound


def test_known_tuples_and_sets() -> None:
    rows = table(spell([2, 1, 3]))
    shape = {0: 0.25, 1: 0.25, 2: 0.5}
    sets = [("low", 0), ("low", 1)]
    assert oracles.epsilon_class3(rows, ["q"], "s", shape, 2, predicates=sets) == 2
    assert oracles.epsilon_class3(rows, ["q"], "s", shape, 3, predicates=sets) == INFINITY
    assert oracles.epsilon_class2(rows, ["q"], "s", 10, predicates=sets) == Fraction(15, 8)
    whole = [("any", value) for value in range(3)]
    assert oracles.epsilon_class3(rows, ["q"], "s", shape, 9, predicates=whole) == 1
    wider = {0: 0.25, 1: 0.25, 2: 0.25, 7: 0.25}
    assert oracles.epsilon_class3(rows, ["q"], "s", wider, predicates=[("none", 7)]) == 1
    for misspelt in ([("none", 7)], [("low", 0), ("low", 7)]):
        with pytest.raises(ValueError, match="missing"):
            oracles.epsilon_class3(rows, ["q"], "s", shape, predicates=misspelt)
        with pytest.raises(ValueError, match="missing"):
            oracles.epsilon_class2(rows, ["q"], "s", 10, predicates=misspelt)
        with pytest.raises(ValueError, match="missing"):
            oracles.epsilon_class4(rows, ["q"], "s", predicates=misspelt)
    with pytest.raises(ValueError, match="missing"):
        oracles.epsilon_class1(rows, ["q"], "s", {0: 2, 1: 2})


def test_a_set_of_a_person_counts_where_the_person_is() -> None:
    rows = of_persons([(0, {0}), (0, {1}), (1, {0}), (1, {0})])
    shape = {0: 0.5, 1: 0.5}
    own: dict[str, Any] = {"predicates": [(1, "mine", 0)], "id_column": "p"}
    assert oracles.epsilon_class3_per_class(rows, ["q"], "s", shape, **own) == {(0,): (2, 1)}
    elsewhere: dict[str, Any] = {"predicates": [(3, "mine", 0)], "id_column": "p"}
    assert oracles.epsilon_class3(rows, ["q"], "s", shape, **elsewhere) == INFINITY


@given(st.lists(histograms(), min_size=1, max_size=3), st.integers(4, 60), st.integers(0, 3))
def test_class_2_is_the_worst_prior_of_its_stubbornness(counts: list[list[int]], sigma: int, b: int) -> None:
    rows = table(*map(spell, counts))
    worst: Number = 0
    for value in {row["s"] for row in rows}:
        others = [v for v in range(4) if v != value]
        prior = {value: 1, others[0]: sigma - 3, others[1]: 1, others[2]: 1}
        worst = max(worst, oracles.epsilon_class1(rows, ["q"], "s", prior, b))
    assert oracles.epsilon_class2(rows, ["q"], "s", sigma, b) == worst


def test_prior_from_counts() -> None:
    rows = table(["a", None, "a"])
    assert oracles.prior_from_counts(rows, "s") == {"a": 3, None: 2}
    assert oracles.shape_from_counts(rows, "s") == {"a": Fraction(2, 3), None: Fraction(1, 3)}
    assert oracles.uniform_shape(rows, "s") == {"a": Fraction(1, 2), None: Fraction(1, 2)}
    twice = of_persons([(0, {0, 1}), (1, {0})])
    assert oracles.prior_from_counts([*twice, *twice], "s", "p") == {0: 3, 1: 2}


# --- (c,k)-safety -----------------------------------------------------------------------------

BUCKETS = table(["flu", "flu", "lung", "lung", "mumps"], ["flu", "flu", "breast", "ovarian", "heart"])


@pytest.mark.parametrize(("k", "expected"), [(0, "2/5"), (1, "2/3"), (2, "1")])
def test_the_two_buckets(k: int, expected: str) -> None:
    assert oracles.ck_safety(BUCKETS, ["q"], "s", k) == Fraction(expected)


TINY = [
    [[1, 1]], [[2, 1]], [[1, 1, 1]], [[2, 2]], [[3, 1]], [[2, 1, 1]], [[1, 1, 1, 1]], [[3, 2]],
    [[2, 2, 1]], [[3, 1, 1]], [[2, 1, 1, 1]], [[1, 1], [1, 1]], [[2, 1], [1, 1]], [[2, 1], [2, 1]],
    [[1, 1, 1], [2, 1]], [[1, 1, 1], [1, 1, 1]], [[2, 2], [1, 1]], [[1], [2, 1]], [[3, 1], [1, 1]],
    [[1, 1], [1, 1], [1, 1]], [[2, 1, 1], [1, 1]], [[2, 2], [2, 1]], [[2, 1, 1], [1, 1, 1]],
    [[4, 1], [1, 1, 1]],
]  # fmt: skip


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("counts", TINY, ids=str)
def test_the_dynamic_programme_counts_worlds_rightly(counts: list[list[int]], k: int) -> None:
    rows = table(*map(spell, counts))
    by_worlds = oracles.ck_safety_by_worlds_per_class(rows, ["q"], "s", k)
    assert oracles.ck_safety_per_class(rows, ["q"], "s", k) == by_worlds


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("counts", TINY[:9] + TINY[11:14], ids=str)
def test_other_consequents_do_not_disclose_more(counts: list[list[int]], k: int) -> None:
    rows = table(*map(spell, counts))
    any_consequents = oracles.ck_safety_any_consequents(rows, ["q"], "s", k)
    assert any_consequents == oracles.ck_safety(rows, ["q"], "s", k)


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize("counts", TINY[:6] + TINY[11:13], ids=str)
def test_basic_implications_do_not_disclose_more(counts: list[list[int]], k: int) -> None:
    rows = table(*map(spell, counts))
    basic = oracles.ck_safety_basic_implications(rows, ["q"], "s", k)
    assert basic == oracles.ck_safety(rows, ["q"], "s", k)


@given(several_values(2, 5), st.integers(0, 2))
def test_ck_safety_bounds_persons_with_several_values(rows: list[Row], k: int) -> None:
    by_worlds = oracles.ck_safety_by_worlds(rows, ["q"], "s", k, "p")
    assert oracles.ck_safety(rows, ["q"], "s", k, "p") >= by_worlds


@pytest.mark.parametrize(
    ("r", "atoms", "parts"),
    [
        ([3, 3, 1, 1, 1], 3, [2, 1]),
        ([6, 4, 1, 1], 3, [2, 1]),
        ([2, 2, 2, 1, 1, 1, 1, 1, 1], 4, [3, 1]),
        ([2, 2, 2, 1, 1], 3, [3]),
        ([4, 2], 3, [1, 1, 1]),
    ],
)
def test_atoms_split_over_persons_in_uneven_ways(r: list[int], atoms: int, parts: list[int]) -> None:
    chance = Fraction(1)
    for t, j in enumerate(parts):
        chance *= Fraction(max(0, sum(r) - sum(r[:j]) - t), sum(r) - t)
    assert none_holds(sum(r), r, atoms) == none_holds_by_draws(r, atoms) == chance


@given(histograms(3, 4).filter(lambda counts: sum(counts) <= 7), st.integers(0, 4))
def test_none_holds_is_the_smallest_chance(counts: list[int], atoms: int) -> None:
    r = sorted((count for count in counts if count), reverse=True)
    assert none_holds(sum(r), r, atoms) == none_holds_by_draws(r, atoms)


def test_more_atoms_than_a_class_has_room_for() -> None:
    assert none_holds(1, [1], 5) == 0
    assert none_holds(3, [1, 1, 1], 1) == Fraction(2, 3)
    assert none_holds(3, [1, 1, 1], 2) == Fraction(1, 3)


# --- Population and risk ----------------------------------------------------------------------


def test_population() -> None:
    rows, people = table([1, 2], [3]), table([1, 2, 3, 4], [1, 2], [5])
    assert oracles.k_map(rows, people, ["q"]) == 2
    assert oracles.delta_presence(rows, people, ["q"]) == (0, Fraction(1, 2))
    assert oracles.population_risk(rows, people, ["q"]) == {
        "journalist": Fraction(1, 2),
        "marketer": Fraction(1, 3),
    }
    assert oracles.k_map(people, rows, ["q"]) == 0
    assert oracles.population_risk(people, table([1, 2, 3]), ["q"]) == {
        "journalist": 1,
        "marketer": Fraction(13, 21),
    }
    for population in (rows, table([], [3]), table([1, 2])):
        with pytest.raises(ValueError, match="not part"):
            oracles.delta_presence(people, population, ["q"])


def test_risk() -> None:
    rows = table([1, 2], [3], [4])
    assert oracles.risk(rows, ["q"]) == {
        "prosecutor": 1,
        "marketer": Fraction(3, 4),
        "uniques": 2,
        "unique_share": Fraction(1, 2),
    }
    assert oracles.class_sizes(rows, ["q"]) == {1: 2, 2: 1}


@given(st.data(), strategies.cases())
def test_a_population_hides_at_least_the_table(data: st.DataObject, case: strategies.Case) -> None:
    people = data.draw(strategies.populations(case))
    for person in (None, case.person):
        k = oracles.k_anonymity(case.rows, case.qis, person)
        assert oracles.k_map(case.rows, people.rows, case.qis, person) >= k
        assert oracles.delta_presence(case.rows, people.rows, case.qis, person).delta_max <= 1


# --- Sampled k-anonymity ----------------------------------------------------------------------

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
TABLE_1 = {
    0.05: ("6.83e-10", "2.50e-14", "3.19e-17", "1.76e-19", "3.97e-22", "2.00e-24"),
    0.1: ("4.19e-06", "1.61e-09", "3.44e-12", "4.07e-14", "3.22e-16", "1.89e-18"),
    0.2: ("2.16e-03", "8.02e-06", "1.89e-07", "6.03e-09", "4.79e-11", "1.59e-12"),
}


@pytest.mark.parametrize("beta", TABLE_1)
def test_table_1(beta: float) -> None:
    found = tuple(f"{oracles.sdgs_delta(20, beta, epsilon):.2e}" for epsilon in EPSILONS)
    assert found == TABLE_1[beta]


def test_the_first_n_is_not_always_the_worst() -> None:
    assert f"{oracles.sdgs_delta(20, 0.05, 3):.3e}" == "9.990e-27"
    assert f"{tail(20, 20, 0.05):.3e}" == "9.537e-27"
    assert f"{tail(22, 21, 0.05):.3e}" == "9.990e-27"


def exact_delta(k: int, beta: Fraction, gamma: Fraction, last: int) -> Fraction:
    """The theorem's sum in exact arithmetic, from its first form: j >= k and j > gamma n."""
    best = Fraction(0)
    for n in range(k, last):
        terms = [math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(k, n + 1) if j > gamma * n]
        best = max(best, sum(terms, Fraction(0)))
    return best


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("beta", [0.05, 0.3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 40.0])
def test_delta_in_exact_arithmetic(k: int, beta: float, epsilon: float) -> None:
    gamma = 1 - (1 - Fraction(beta)) / Fraction(math.exp(epsilon))
    exact = exact_delta(k, Fraction(beta), gamma, 60)
    assert oracles.sdgs_delta(k, beta, epsilon) == pytest.approx(float(exact), rel=1e-12)


def test_delta_never_reaches_zero() -> None:
    assert oracles.sdgs_delta(20, 0.2, 500) == pytest.approx(0.2**20)


betas = st.floats(0.01, 0.6)
epsilons = st.floats(0.001, 3)


@given(st.integers(1, 30), betas, epsilons)
def test_the_smooth_bound_is_a_bound(k: int, beta: float, more: float) -> None:
    epsilon = least_epsilon(beta) + more
    smooth = oracles.sdgs_smooth_delta(k, beta, epsilon)
    assert oracles.sdgs_delta(k, beta, epsilon) <= smooth * (1 + 1e-12)
    assert oracles.sdgs_delta(k + 1, beta, epsilon) <= oracles.sdgs_delta(k, beta, epsilon)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("beta", [0.05, 0.2])
def test_solvers_stop_where_delta_is_reached(beta: float, delta: float) -> None:
    epsilon = oracles.sdgs_epsilon(20, beta, delta)
    assert oracles.sdgs_delta(20, beta, epsilon) <= delta
    if epsilon > least_epsilon(beta):
        assert oracles.sdgs_delta(20, beta, epsilon * (1 - 1e-9)) > delta
    k = oracles.sdgs_k(beta, 1.0, delta)
    assert oracles.sdgs_delta(k, beta, 1.0) <= delta
    assert k == 1 or oracles.sdgs_delta(k - 1, beta, 1.0) > delta
    largest = oracles.sdgs_beta(20, 1.0, delta)
    assert oracles.sdgs_delta(20, largest, 1.0) <= delta
    assert oracles.sdgs_delta(20, largest * (1 + 1e-9), 1.0) > delta


def test_solvers_at_their_ends() -> None:
    assert oracles.sdgs_epsilon(2, 0.5, 0.2) == INFINITY
    assert oracles.sdgs_epsilon(500, 0.05, 0.5) == least_epsilon(0.05)
    assert oracles.sdgs_beta(500, 2.0, 0.9) == pytest.approx(1 - math.exp(-2))
    with pytest.raises(ValueError, match="epsilon"):
        oracles.sdgs_delta(20, 0.5, 0.5)


def test_amplification_and_composition() -> None:
    assert oracles.amplified_epsilon(1.0, 0.1) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)))
    assert oracles.amplified_epsilon(1.0, 1.0) == pytest.approx(1.0)
    assert oracles.composition([(0.1, 1e-6)] * 10) == pytest.approx((1, 1e-5))


# --- Utility ----------------------------------------------------------------------------------


def test_class_sizes_as_utility() -> None:
    rows = table([1, 2], [3], [4])
    assert oracles.average_class_size(rows, ["q"]) == Fraction(4, 3)
    assert oracles.discernibility(rows, ["q"]) == 6


def test_kl_divergence() -> None:
    original = [{"id": i, "q": q} for i, q in enumerate("aaab")]
    general: list[Row] = [{"id": i, "q": "*"} for i in range(4)]
    expected = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert oracles.kl_divergence(general, original, ["q"], "id") == pytest.approx(expected)
    assert oracles.kl_divergence(original, original, ["q"], "id") == 0


@given(strategies.recodings())
def test_kl_divergence_is_not_negative(
    recoding: tuple[strategies.Case, strategies.Case, str],
) -> None:
    general, original, key = recoding
    assert oracles.kl_divergence(general.rows, original.rows, original.qis, key) >= -1e-12


# --- The strategies ---------------------------------------------------------------------------


@strategies.fewer(4, deep=1)
@given(case=strategies.cases_or_empty())
def test_duckdb_stores_what_was_drawn(case: strategies.Case) -> None:
    with duckdb.connect() as con:
        strategies.create(con, "a 'table'", case)
        found = con.execute("SELECT * FROM \"a 'table'\"").fetchall()
    drawn = [tuple(row[name] for name in case.columns) for row in case.rows]
    assert sorted(map(repr, map(canon, found))) == sorted(map(repr, map(canon, drawn)))


@strategies.fewer(4, deep=1)
@given(case=strategies.cases())
def test_text_order_and_equality_are_duckdbs(case: strategies.Case) -> None:
    name = strategies.quote(case.sensitive)
    listed = ", ".join(map(strategies.quote, case.qis))
    with duckdb.connect() as con:
        strategies.create(con, "t", case)
        stored = con.execute(f"SELECT {name}, {name}::VARCHAR FROM t ORDER BY {name}").fetchall()
        texts = ", ".join(f"{strategies.quote(q)}::VARCHAR" for q in case.qis)
        sizes = con.execute(f"SELECT count(*) FROM t GROUP BY {listed}, {texts}").fetchall()
    in_order = sorted((row[case.sensitive] for row in case.rows), key=oracles.order_key)
    assert [canon(value) for value, _ in stored] == [canon(value) for value in in_order]
    for value, as_text in stored:
        assert oracles.text(value) == ("0.0" if as_text == "-0.0" else as_text)
    assert min(sizes)[0] == oracles.k_anonymity(case.rows, case.qis)


@given(st.data(), strategies.cases())
def test_side_tables_fit_the_case(data: st.DataObject, case: strategies.Case) -> None:
    args = (case.rows, case.qis, case.sensitive)
    prior, shape = data.draw(strategies.priors(case)), data.draw(strategies.shapes(case))
    sigma = data.draw(strategies.sigmas(case))
    sets = data.draw(strategies.predicates(case.texts()))
    own = data.draw(strategies.person_predicates(case, case.texts()))
    assert sum(shape.values()) == 1
    choices: list[dict[str, Any]] = [
        {},
        {"person": case.person},
        {"predicates": sets},
        {"predicates": own, "id_column": case.person},
    ]
    for options in choices:
        assert oracles.epsilon_class1(*args, prior, 1, **options) > 0
        assert oracles.epsilon_class2(*args, sigma, 1, **options) > 0
        assert oracles.epsilon_class3(*args, shape, 1, **options) > 0
        assert oracles.epsilon_class4(*args, 1, **options) >= 1
