"""Every macro keeps what its header promises: fields, example, refusals; and every macro has a property test."""

import math
from typing import Any

import duckdb
import pytest
import test_average_disclosure
import test_bag_shares
import test_bags
import test_chained_views
import test_ck_safety
import test_closeness
import test_counted
import test_disclosure_offers
import test_disclosure_risk
import test_epsilon
import test_estimate_macro
import test_expected_weights
import test_hierarchies
import test_k_and_l
import test_linkage
import test_operators
import test_optimal_disclosure
import test_plain_views
import test_population_risk_utility
import test_randomized
import test_randomized_views
import test_report
import test_sdgs
import test_sdgs_numbers
import test_smooth_composition
import test_uniqueness
import test_worlds
from support import strategies
from support.agreement import literal

from sqlpriv.macros.catalog import defined, macro, macros
from sqlpriv.macros.language import Overload
from sqlpriv.version import __version__

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
MODULES = (
    test_average_disclosure,
    test_bag_shares,
    test_bags,
    test_chained_views,
    test_ck_safety,
    test_closeness,
    test_counted,
    test_disclosure_offers,
    test_disclosure_risk,
    test_epsilon,
    test_estimate_macro,
    test_expected_weights,
    test_hierarchies,
    test_k_and_l,
    test_linkage,
    test_operators,
    test_optimal_disclosure,
    test_plain_views,
    test_population_risk_utility,
    test_randomized,
    test_randomized_views,
    test_report,
    test_sdgs,
    test_sdgs_numbers,
    test_smooth_composition,
    test_uniqueness,
    test_worlds,
)
WITHOUT_PROPERTIES = {"version"}


def test_every_macro_has_a_property_test() -> None:
    tested = {name for module in MODULES for name in module.TESTED}
    assert tested | WITHOUT_PROPERTIES == set(macros())


def test_no_macro_is_defined_twice() -> None:
    """Helpers of all files have one space of names: the later one would silently stand in the macros of the other."""
    found = [(name, len(o.params)) for name, own in defined().items() for d in own for o in d.read().overloads]
    assert len(found) == len(set(found)), sorted({name for name in found if found.count(name) > 1})


@pytest.mark.parametrize("name", macros())
def test_the_header_is_complete(name: str) -> None:
    header = macro(name).header
    assert header.prose.endswith("."), name
    assert bool(header.columns) == macro(name).is_table
    for field in ("nulls", "guarantee", "example", "expect"):
        assert header.fields.get(field), field


@pytest.mark.parametrize("name", macros())
def test_the_signature_has_all_parameters(name: str) -> None:
    arguments = macro(name).header.arguments.replace("[", "").replace("]", "")
    written = tuple(part.strip() for part in arguments.split(",") if part.strip())
    assert written == macro(name).overloads[-1].params


def alike(found: object, expected: object) -> bool:
    """Equal, floats to six digits, inside rows and classes too."""
    if isinstance(expected, (list, tuple)):
        return type(found) is type(expected) and len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and list(found) == list(expected)
            and all(map(alike, found.values(), expected.values()))
        )
    if isinstance(expected, float):
        return isinstance(found, float) and f"{found:.6g}" == f"{expected:.6g}"
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize("name", macros())
def test_the_example_gives_what_it_says(example_tables: Con, name: str) -> None:
    fields = macro(name).header.fields
    assert f"priv.{name}(" in fields["example"]
    expected = eval(fields["expect"], {"__builtins__": {}, "inf": math.inf})
    found = example_tables.execute(fields["example"]).fetchall()
    assert alike(found, expected), found


def test_the_version_is_this_one(con: Con) -> None:
    assert con.execute("SELECT version FROM priv.version()").fetchall() == [(__version__,)]


# --- What every check refuses -----------------------------------------------------------------

COLUMNS = {"q": "INTEGER", "s": "VARCHAR", "p": "INTEGER"}
ROWS = [[1, "a", 1], [1, "b", 2], [2, "a", 3]]
ARGUMENTS: dict[str, object] = {
    "tbl": "t",
    "population": "everybody",
    "original": "everybody",
    "qis": ["q"],
    "buckets": ["q"],
    "sensitive": "s",
    "person": "p",
    "id": "p",
    "l": 2,
    "k": 1,
    "b": 0,
    "sigma": 100,
    "prior": "prior",
    "shape": "shape",
    "hierarchy": "tree",
    "predicates": "sets",
    "threshold": 2,
}


def overloads(*parameters: str) -> list[Any]:
    """All overloads, of all checks, that have one of these parameters; tests/test_operators.py has the others."""
    return [
        pytest.param(name, overload, id=f"{name}({', '.join(overload.params)})")
        for name, found in macros().items()
        for overload in found.overloads
        if set(parameters) & set(overload.params) and set(overload.params) <= set(ARGUMENTS)
    ]


@pytest.fixture(scope="module")
def surroundings(con: Con) -> Con:
    """All tables that an overload can need, but for the table itself."""
    strategies.create_table(con, "everybody", COLUMNS, ROWS)
    for table, column in (("prior", "sigma"), ("shape", "share")):
        weights = [["a", 0.5], ["b", 0.5]] if column == "share" else [["a", 2], ["b", 1]]
        strategies.create_table(con, table, {"value": "VARCHAR", column: "DOUBLE"}, weights)
    strategies.create_table(con, "tree", {"value": "VARCHAR", "top": "VARCHAR"}, [["a", "*"], ["b", "*"]])
    strategies.create_table(con, "sets", {"name": "VARCHAR", "value": "VARCHAR"}, [["one", "a"]])
    return con


def ask(con: Con, name: str, overload: Overload, **instead: object) -> list[tuple[Any, ...]]:
    arguments = ", ".join(literal({**ARGUMENTS, **instead}[parameter]) for parameter in overload.params)
    return con.execute(f"FROM priv.{name}({arguments})").fetchall()


@pytest.mark.some(35)
@pytest.mark.parametrize(("name", "overload"), overloads("tbl"))
def test_every_overload_answers(surroundings: Con, name: str, overload: Overload) -> None:
    strategies.create_table(surroundings, "t", COLUMNS, ROWS)
    ask(surroundings, name, overload)


@pytest.mark.some(35)
@pytest.mark.parametrize(("name", "overload"), overloads("tbl"))
def test_a_table_without_rows_is_refused(surroundings: Con, name: str, overload: Overload) -> None:
    strategies.create_table(surroundings, "t", COLUMNS, [])
    instead = {"predicates": None} if name.startswith(("epsilon_class2", "epsilon_class4")) else {}
    with pytest.raises(duckdb.Error, match="no rows"):
        ask(surroundings, name, overload, **instead)


@pytest.mark.parametrize(("name", "overload"), overloads("person", "id"))
def test_a_person_column_with_null_is_refused(surroundings: Con, name: str, overload: Overload) -> None:
    strategies.create_table(surroundings, "t", COLUMNS, [*ROWS, [1, "a", None]])
    complaint = "id column is not unique" if name == "kl_divergence" else "the person column holds NULL"
    with pytest.raises(duckdb.Error, match=complaint):
        ask(surroundings, name, overload)
