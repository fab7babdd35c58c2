"""Verifying a randomized release from its file alone: what was published passes, whatever was changed in it fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.policies import role
from support.randomized_policies import publish_with, published, rows_of, write_noise_policy
from support.stamps import stamp_again
from support.titles import DECLARED, OF_POLICY, PUBLIC_PART

from sqlpriv import publishing
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Facts
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.methods.noisy.read import declared_mechanism
from sqlpriv.release.file import double, open_file

PEOPLE = "CREATE TABLE people AS SELECT i AS id, i % 20 AS a, ['x', 'y', NULL][1 + i % 3] AS b FROM range(600) AS r(i)"
COLUMNS = {
    "id": role("identifier"),
    "a": published('"range:0..39"'),
    "b": published('["x", "y", "it\'s"]', null="true"),
}
SHARES = {
    "id": role("identifier"),
    "a": published('"range:0..39"'),
    "b": published('["x", "y", "it\'s"]', share="[0.5, 0.3, 0.2]", outside='"drop"'),
}
SEQUENCE = 'method = "alpha_beta"\nd = 0.05\ngamma = 0.3\nslots = 40\nadversary = "independent"\nviews = 3'
POLICIES: Mapping[str, tuple[Mapping[str, str], str]] = {
    "slots": (COLUMNS, 'method = "alpha_beta"\nd = 0.05\ngamma = 0.3\nslots = 40'),
    "distinct": (COLUMNS, 'method = "alpha_beta"\nd = 0.05\ngamma = 0.3\nduplicates = "distinct"'),
    "shares": (SHARES, 'method = "alpha_beta"\nd = 0.05\ngamma = 0.3\nslots = 40\nadversary = "independent"'),
    "view 1": (COLUMNS, SEQUENCE),
    "view 2": (COLUMNS, SEQUENCE),
    "frapp": (COLUMNS, 'method = "frapp"\nd = 0.05\ngamma = 0.8'),
}
EACH = ("slots", "view 2", "shares", "frapp")
"""All forms that a file has."""
WEIGHTS = ("weight", "variance", "skew")


@dataclass(frozen=True)
class Release:
    path: Path
    policy: RandomizedPolicy


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """A release of every kind; each test has a copy."""
    found = {}
    for kind, (columns, release) in POLICIES.items():
        folder = tmp_path_factory.mktemp("released")
        policy = write_noise_policy(folder, columns, release, PEOPLE, {"regions.csv": "a,region\n1,north\n"},
                                    more='[public]\nregions = "regions.csv"')  # fmt: skip
        output = publish_with(policy, output="first.duckdb").written.output
        if kind == "view 2":
            policy = replace(policy, release={**policy.release, "earlier": ("first.duckdb",)})
            with duckdb.connect(str(folder / "private.duckdb")) as con:
                con.execute("DELETE FROM people WHERE a > 15").fetchall()
            written = publish_with(policy, output="second.duckdb").written
            assert written.view == 2
            output = written.output
        found[kind] = Release(output, policy)
    return found


QUICK = {"slots", "frapp"}


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def copy(kind: str, releases: dict[str, Release], tmp_path: Path) -> Path:
    path = tmp_path / "copy.duckdb"
    shutil.copy(releases[kind].path, path)
    return path


def of(*kinds: str) -> pytest.MarkDecorator:
    """These kinds of release, all but two of them in `make test-all` only."""
    marked = [
        kind if kind in QUICK or len(kinds) == 1 else pytest.param(kind, marks=pytest.mark.slow) for kind in kinds
    ]
    return pytest.mark.parametrize("kind", marked, indirect=True)


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for sql in statements:
            con.execute(sql).fetchall()
        stamp_again(con)


def number(path: Path, name: str) -> float:
    return float(rows_of(path, f"SELECT value FROM sqlpriv_release.parameters WHERE name = '{name}'")[0][0])


def state(path: Path, name: str, value: float) -> None:
    change(path, f"UPDATE sqlpriv_release.parameters SET value = CAST('{value!r}' AS DOUBLE) WHERE name = '{name}'")


def failed(facts: Facts) -> list[str]:
    """The checks that fail; there is one, and the command says so with its exit code."""
    assert not facts.passed
    assert facts.content["passed"] is False
    return [c["check"] for c in facts.content["checks"] if c["passed"] is False]


def found(facts: Facts, check: str) -> str:
    """What a check found."""
    return next(str(c["found"]) for c in facts.content["checks"] if c["check"] == check)


def weigh(path: Path) -> None:
    """All weights anew, as the parameters of the file have them: a forger's work."""
    with open_file(path) as file:
        calls, stated = Calls(file.con), file.parameters
        method = METHODS[file.about["method"]]
        assert isinstance(method, Randomized)
        weights = declared_mechanism(file, method.mechanisms).read(calls, file).weights(calls)
    if "rate" in stated:
        _weigh_by_shares(path, stated)
    else:
        for kind, w in weights.view.items():
            where = {"view": "__view AND NOT __earlier", "both": "__view AND __earlier", "earlier": "NOT __view"}[kind]
            listed = ", ".join(f"__{part} = CAST('{getattr(w, part)!r}' AS DOUBLE)" for part in WEIGHTS)
            condition = f" WHERE {where}" if stated.get("views", 1) > 1 else ""
            change(path, f"UPDATE sqlpriv_release.published SET {listed}{condition}")
    rows = ", ".join(
        f"({power}, {', '.join(repr(getattr(w, part)) for part in WEIGHTS)})" for power, w in weights.domain.items()
    )
    change(
        path, "DELETE FROM sqlpriv_release.domain_weights", f"INSERT INTO sqlpriv_release.domain_weights VALUES {rows}"
    )
    state(path, "cross_estimate", weights.cross_estimate)
    state(path, "cross_square", weights.cross_square)


def _weigh_by_shares(path: Path, stated: Mapping[str, float]) -> None:
    alpha = double(stated["alpha"])
    noise = f"_source_noise({double(stated['rate'])}, {double(stated['slots'])}, da.share * db.share)"
    made = {
        "weight": f"_source_weight({alpha})",
        "variance": f"_source_variance({alpha}, {noise})",
        "skew": f"_source_skew({alpha}, {noise})",
    }
    listed = ", ".join(f"__{part} = {inlined(sql)}" for part, sql in made.items())
    joined = "WHERE da.value = a AND db.value = b"
    change(path, f"UPDATE sqlpriv_release.published SET {listed} FROM domain.a AS da, domain.b AS db {joined}")


@pytest.mark.slow
@of(*POLICIES)
def test_what_was_published_verifies_also_against_its_policy(
    kind: str, copy: Path, releases: dict[str, Release]
) -> None:
    for policy in (None, releases[kind].policy):
        facts = publishing.verify(copy, policy)
        assert facts.passed, facts.content
        assert all(c["passed"] for c in facts.content["checks"])
        assert "claimed" not in {p.mark for p in facts.parts}
    done = run(copy.parent, "verify", "copy.duckdb", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passed"] is True
    assert "holds what it says" in run(copy.parent, "verify", "copy.duckdb").stdout


@of("slots")
def test_the_command_fails_with_1_and_says_what_fails(kind: str, copy: Path) -> None:
    change(copy, "CREATE TABLE main.leak AS SELECT 42 AS secret")
    done = run(copy.parent, "verify", "copy.duckdb", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["passed"] is False
    shown = run(copy.parent, "verify", "copy.duckdb")
    assert shown.returncode == 1
    assert "does NOT hold what it says" in shown.stdout
    assert "main.leak is there, and should not be" in shown.stdout


@of(*POLICIES)
def test_a_row_outside_its_domain(kind: str, copy: Path) -> None:
    change(copy, "UPDATE sqlpriv_release.published SET a = 999 WHERE rowid = 3")
    assert "every published tuple is in its domain" in failed(publishing.verify(copy))


@of("distinct", "shares")
def test_a_null_outside_its_domain(kind: str, copy: Path) -> None:
    change(copy, "UPDATE sqlpriv_release.published SET a = NULL WHERE rowid = 3")
    assert "every published tuple is in its domain" in failed(publishing.verify(copy))


@pytest.mark.some(4)
@of(*EACH)
@pytest.mark.parametrize("part", WEIGHTS)
@pytest.mark.parametrize("value", ["{} * 1.000001", "NULL"])
def test_a_weight_of_one_row(kind: str, copy: Path, part: str, value: str) -> None:
    change(copy, f"UPDATE sqlpriv_release.published SET __{part} = {value.format(f'__{part}')} WHERE rowid = 3")
    assert failed(publishing.verify(copy)) == ["the weights of the rows are those of the parameters"]


@pytest.mark.some(1)
@of(*EACH)
@pytest.mark.parametrize("part", WEIGHTS)
def test_a_weight_of_the_domain(kind: str, copy: Path, part: str) -> None:
    """Tiny ones, too: the domain may have 10^40 tuples."""
    last = "power = (SELECT max(power) FROM sqlpriv_release.domain_weights)"
    change(copy, f"UPDATE sqlpriv_release.domain_weights SET {part} = {part} * 1.00001 WHERE {last}")
    assert "the weights of the domain are those of the parameters" in failed(publishing.verify(copy))


@of(*EACH)
def test_a_row_more_among_the_weights_of_the_domain(kind: str, copy: Path) -> None:
    change(copy, "INSERT INTO sqlpriv_release.domain_weights FROM sqlpriv_release.domain_weights LIMIT 1")
    assert failed(publishing.verify(copy)) == ["the weights of the domain are those of the parameters"]


@pytest.mark.some(1)
@of(*EACH)
@pytest.mark.parametrize("name", ["cross_estimate", "cross_square"])
def test_cross_terms(kind: str, copy: Path, name: str) -> None:
    state(copy, name, number(copy, name) * 1.00001 or -1e-30)
    assert failed(publishing.verify(copy)) == ["the weights of the domain are those of the parameters"]


NUMBERS = [
    *(
        (kind, name)
        for kind in ("slots", "view 2", "shares")
        for name in ("alpha", "beta", "gamma", "d", "slots", "epsilon", "elements")
    ),
    *(("shares", "rate"), ("view 2", "persist"), ("view 2", "views")),
    *(("frapp", name) for name in ("stay", "move", "gamma", "d", "rows", "epsilon", "elements")),
]


@pytest.mark.some(8)
@pytest.mark.parametrize(("kind", "name"), NUMBERS, indirect=["kind"])
@pytest.mark.parametrize("factor", [pytest.param(0.5, marks=pytest.mark.slow), 1.001])
def test_a_number_is_changed_alone(kind: str, copy: Path, name: str, factor: float) -> None:
    state(copy, name, number(copy, name) * factor)
    assert failed(publishing.verify(copy))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), NUMBERS, indirect=["kind"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_numbers_that_are_none(kind: str, copy: Path, name: str, value: float) -> None:
    state(copy, name, value)
    assert failed(publishing.verify(copy))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), NUMBERS, indirect=["kind"])
def test_a_number_that_is_missing_empty_or_there_twice(kind: str, copy: Path, name: str, tmp_path: Path) -> None:
    where = f"WHERE name = '{name}'"
    for statement in (
        f"DELETE FROM sqlpriv_release.parameters {where}",
        f"UPDATE sqlpriv_release.parameters SET value = NULL {where}",
        f"INSERT INTO sqlpriv_release.parameters FROM sqlpriv_release.parameters {where}",
    ):
        again = tmp_path / "again.duckdb"
        shutil.copy(copy, again)
        change(again, statement)
        assert failed(publishing.verify(again))


LESS_PRIVATE = [
    *((kind, name, factor) for kind in ("slots", "distinct") for name, factor in (("alpha", 1.5), ("beta", 0.5))),
    *((kind, name, factor) for kind in ("view 1", "view 2") for name, factor in (("alpha", 1.1), ("beta", 0.5))),
    *(("shares", name, factor) for name, factor in (("alpha", 1.5), ("rate", 0.5))),
    *(("view 1", "persist", 0.5), ("view 2", "persist", 0.5), ("slots", "slots", 0.5)),
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("kind", "name", "factor"), LESS_PRIVATE, indirect=["kind"])
def test_coins_that_are_not_private_with_weights_to_match(kind: str, copy: Path, name: str, factor: float) -> None:
    """Such a file answers queries as it should; but it does not protect as it says."""
    state(copy, name, number(copy, name) * factor)
    weigh(copy)
    failing = failed(publishing.verify(copy))
    assert any(check.startswith("the noise keeps beliefs of at most") for check in failing), failing
    assert not any("weights" in check for check in failing), failing


@of("frapp")
def test_records_that_stay_too_often_with_weights_to_match(kind: str, copy: Path) -> None:
    stay = 1 - (1 - number(copy, "stay")) * 0.2
    state(copy, "stay", stay)
    state(copy, "move", (1 - stay) / (number(copy, "elements") - 1))
    weigh(copy)
    failing = failed(publishing.verify(copy))
    assert any(check.startswith("a prior of 0.05 becomes at most") for check in failing), failing
    assert not any("weights" in check for check in failing), failing


@of("slots")
def test_noise_that_is_not_there_with_weights_to_match(kind: str, copy: Path) -> None:
    """More noise stated than there is: the bound holds, and the rows tell that it is not so."""
    state(copy, "beta", 0.45)
    state(copy, "alpha", 0.05)
    weigh(copy)
    failing = failed(publishing.verify(copy))
    assert "the number of rows is one that the noise can make" in failing
    assert not any("weights" in check or "beliefs" in check for check in failing), failing


@of("slots", "view 1", "view 2", "shares", "frapp")
def test_a_bound_that_is_changed_with_all_that_depends_on_it(kind: str, copy: Path) -> None:
    """A weaker bound holds, too; but it is not the one of the guarantee."""
    state(copy, "gamma", number(copy, "gamma") * 1.1)
    assert failed(publishing.verify(copy))


@pytest.mark.some(4)
@of(*EACH)
@pytest.mark.parametrize(
    ("name", "value"),
    [("adversary", "nobody"), ("counts", "persons"), ("n_public_is_rounded", "maybe"), ("n_public_is_rounded", "yes")],
)
def test_words_that_the_numbers_do_not_have(kind: str, copy: Path, name: str, value: str) -> None:
    change(copy, f"UPDATE sqlpriv_release.about SET value = '{value}' WHERE name = '{name}'")
    assert failed(publishing.verify(copy))


@pytest.mark.some(2)
@of(*EACH)
@pytest.mark.parametrize(("view", "views"), [(2, 1), (7, 7), (0, 1), (1, 4), (1.5, 3)])
def test_a_view_that_the_numbers_do_not_have(kind: str, copy: Path, view: float, views: float) -> None:
    state(copy, "view", view)
    state(copy, "views", views)
    assert failed(publishing.verify(copy))


@pytest.mark.some(2)
@of(*EACH)
@pytest.mark.parametrize("name", ["guarantee", "details", "warnings", "promise"])
def test_a_sentence_in_the_file(kind: str, copy: Path, name: str) -> None:
    """What people read is made from numbers: what a file says in words, nobody has verified."""
    change(copy, f"INSERT INTO sqlpriv_release.about VALUES ('{name}', 'Nobody learns anything.')")
    assert failed(publishing.verify(copy)) == [DECLARED]
    assert "Nobody learns anything." not in str(publishing.show(copy))


@of("slots", "distinct")
def test_another_adversary(kind: str, copy: Path) -> None:
    change(copy, "UPDATE sqlpriv_release.about SET value = 'independent' WHERE name = 'adversary'")
    assert PUBLIC_PART in failed(publishing.verify(copy))


@of("slots")
def test_a_file_of_another_version_of_the_same_format_verifies(kind: str, copy: Path) -> None:
    """It holds numbers, and what they mean is the same in all versions of a format."""
    said = publishing.show(copy).content["guarantee"]
    change(copy, "UPDATE sqlpriv_release.about SET value = '9.9' WHERE name = 'sqlpriv'")
    assert publishing.verify(copy).passed
    assert publishing.show(copy).content["guarantee"] == said


@of(*EACH)
@pytest.mark.parametrize("table", ["published", "about", "attributes", "parameters", "domain_weights"])
def test_a_column_more(kind: str, copy: Path, table: str) -> None:
    change(copy, f"ALTER TABLE sqlpriv_release.{table} ADD COLUMN leak INTEGER DEFAULT 42")
    assert failed(publishing.verify(copy))


@of("slots", "frapp")
def test_a_column_more_of_a_domain(kind: str, copy: Path) -> None:
    change(copy, "ALTER TABLE domain.a ADD COLUMN leak INTEGER DEFAULT 42")
    assert failed(publishing.verify(copy))


@pytest.mark.some(1)
@of("slots", "frapp")
def test_a_column_that_is_declared_too(kind: str, copy: Path, releases: dict[str, Release]) -> None:
    """An identifier beside its domain is a proper release by its file, but not one of its policy."""
    rows = number(copy, "elements")
    change(
        copy,
        "CREATE TABLE with_id AS SELECT a, b, CAST(7 AS BIGINT) AS id, * EXCLUDE (a, b) FROM sqlpriv_release.published",
        "DROP TABLE sqlpriv_release.published",
        "CREATE TABLE sqlpriv_release.published AS FROM with_id",
        "DROP TABLE with_id",
        "INSERT INTO sqlpriv_release.attributes VALUES (2, 'id', 'BIGINT', 1, 'list', 'published', 1)",
        "CREATE TABLE domain.id AS SELECT CAST(7 AS BIGINT) AS value, CAST(NULL AS DOUBLE) AS share",
    )
    assert number(copy, "elements") == rows
    told = PUBLIC_PART
    assert failed(publishing.verify(copy)) == [told]
    new = '"columns": {"id": {"role": "published", "domain": "list"}, '
    change(
        copy,
        f"UPDATE sqlpriv_release.about SET value = replace(value, '\"columns\": {{', '{new}') WHERE name = 'policy'",
    )
    assert publishing.verify(copy).passed
    facts = publishing.verify(copy, releases[kind].policy)
    assert failed(facts) == [OF_POLICY, told]
    assert found(facts, OF_POLICY).startswith("'id' is not published by the policy")
    policy = releases[kind].policy.table.folder / "policy.toml"
    assert run(copy.parent, "verify", "copy.duckdb", "--policy", str(policy)).returncode == 1


@pytest.mark.some(12)
@of(*EACH)
@pytest.mark.parametrize(
    "statement",
    [
        *(f'CREATE TABLE "{s}".leak AS SELECT 42 AS x' for s in ("domain", "public", "main", "sqlpriv_release")),
        "CREATE SCHEMA priv; CREATE TABLE priv.leak AS SELECT 42 AS x",
        "CREATE SCHEMA fresh",
        "CREATE SCHEMA fresh; CREATE TABLE fresh.leak AS SELECT 42 AS x",
        "CREATE VIEW main.others AS FROM sqlpriv_release.published",
        "CREATE OR REPLACE VIEW main.people AS SELECT a FROM sqlpriv_release.published",
        "DROP VIEW main.people",
        "CREATE MACRO main.leak() AS 42",
        "CREATE MACRO sqlpriv_release.leak() AS TABLE SELECT 42 AS x",
        "CREATE TYPE main.leak AS ENUM ('secret')",
        "CREATE SEQUENCE main.leak START 42",
        "CREATE INDEX leak ON domain.a (value)",
        "COMMENT ON TABLE domain.a IS 'secret'",
        "COMMENT ON COLUMN domain.a.value IS 'secret'",
        "DROP TABLE domain.a",
        "DROP TABLE public.regions",
        "DROP TABLE sqlpriv_release.parameters",
        "DROP TABLE sqlpriv_release.attributes",
        "INSERT INTO sqlpriv_release.about VALUES ('leak', '42')",
        "INSERT INTO sqlpriv_release.about VALUES ('table', 'others')",
        "INSERT INTO sqlpriv_release.parameters VALUES ('leak', 42)",
        "DELETE FROM sqlpriv_release.about WHERE name = 'adversary'",
    ],
)
def test_anything_more_or_less_in_any_schema(kind: str, copy: Path, statement: str) -> None:
    change(copy, statement)
    assert failed(publishing.verify(copy))


@of("slots")
def test_a_view_in_the_place_of_the_rows(kind: str, copy: Path) -> None:
    """It could read anything."""
    change(
        copy,
        "ALTER TABLE sqlpriv_release.published RENAME TO kept",
        "CREATE VIEW sqlpriv_release.published AS FROM sqlpriv_release.kept",
    )
    with pytest.raises(ReleaseError, match="published is a view, which would run when it is read"):
        publishing.verify(copy)


@of("slots")
def test_a_view_beside_the_tables(kind: str, copy: Path) -> None:
    change(copy, "CREATE VIEW domain.leak AS SELECT 42 AS x")
    with pytest.raises(ReleaseError, match="leak is a view, which would run when it is read"):
        publishing.verify(copy)


@pytest.mark.some(1)
@of(*EACH)
def test_a_value_more_in_a_domain(kind: str, copy: Path) -> None:
    change(copy, "INSERT INTO domain.a SELECT 40, max(share) FROM domain.a")
    assert failed(publishing.verify(copy))[0] == "the domains are as large as is declared"
    change(copy, "UPDATE sqlpriv_release.attributes SET size = size + 1 WHERE name = 'a'")
    assert failed(publishing.verify(copy))[0] == "the domains are as large as is declared"


@of("frapp")
def test_a_value_more_in_a_domain_and_in_all_sizes(kind: str, copy: Path) -> None:
    """Records of frapp go to every tuple, so there are as many as the coins say."""
    change(
        copy,
        "INSERT INTO domain.a VALUES (40, NULL)",
        "UPDATE sqlpriv_release.attributes SET size = size + 1 WHERE name = 'a'",
    )
    state(copy, "elements", 41 * 4)
    assert failed(publishing.verify(copy)) == ["a record goes somewhere"]


@of(*EACH)
def test_the_size_of_an_attribute(kind: str, copy: Path) -> None:
    change(copy, "UPDATE sqlpriv_release.attributes SET size = size + 1 WHERE name = 'a'")
    assert "the domains are as large as is declared" in failed(publishing.verify(copy))


@of(*EACH)
def test_a_value_twice_in_a_domain(kind: str, copy: Path) -> None:
    for table, column in (("domain.a", "value"), ("sqlpriv_release.published", "a")):
        change(copy, f"UPDATE {table} SET {column} = 39 WHERE {column} = 38")
    assert "the domains are as large as is declared" in failed(publishing.verify(copy))


@pytest.mark.some(1)
@of(*EACH)
@pytest.mark.parametrize("share", ["0.5", "0.0"])
def test_shares_that_nothing_is_drawn_by(kind: str, copy: Path, share: str) -> None:
    change(copy, f"UPDATE domain.a SET share = {share} WHERE value = 3")
    assert "the domains are as large as is declared" in failed(publishing.verify(copy))


@of("slots", "distinct", "view 2", "shares")
def test_more_copies_of_a_tuple_than_slots(kind: str, copy: Path) -> None:
    one = "(FROM sqlpriv_release.published LIMIT 1)"
    change(copy, f"INSERT INTO sqlpriv_release.published SELECT p.* FROM {one} AS p, range(41)")
    assert failed(publishing.verify(copy)) == ["no tuple is there more often than there are slots"]


@of("view 1", "view 2")
@pytest.mark.parametrize("slot", ["0", "41", "NULL"])
def test_a_slot_that_there_is_not(kind: str, copy: Path, slot: str) -> None:
    change(copy, f"UPDATE sqlpriv_release.published SET __slot = {slot} WHERE rowid = 3")
    assert failed(publishing.verify(copy)) == ["no tuple is there more often than there are slots"]


@of("frapp")
def test_a_record_more_or_less(kind: str, copy: Path) -> None:
    change(copy, "DELETE FROM sqlpriv_release.published WHERE rowid = 3")
    assert failed(publishing.verify(copy)) == ["there are as many rows as is declared"]


@pytest.mark.some(1)
@of("slots", "frapp")
def test_a_public_table_that_the_policy_does_not_name(kind: str, copy: Path, releases: dict[str, Release]) -> None:
    change(
        copy,
        "CREATE TABLE public.leak AS SELECT 42 AS x",
        "INSERT INTO sqlpriv_release.public_tables VALUES ('leak', false)",
    )
    assert publishing.verify(copy).passed  # by itself it says so
    facts = publishing.verify(copy, releases[kind].policy)
    assert failed(facts) == [OF_POLICY]
    assert found(facts, OF_POLICY) == "the policy names no public table 'leak'"


@of("slots")
def test_the_policy_of_another_method(kind: str, copy: Path, releases: dict[str, Release]) -> None:
    policy = releases["frapp"].policy.table.folder / "policy.toml"
    done = run(copy.parent, "verify", "copy.duckdb", "--policy", str(policy))
    assert done.returncode == 2
    assert "copy.duckdb is a release by alpha_beta, and the policy is for frapp" in done.stderr


@of(*POLICIES)
def test_show_tells_claims_as_claims(kind: str, copy: Path) -> None:
    marks = {p.mark for p in publishing.show(copy).parts if hasattr(p, "mark")}
    assert marks == {"claimed", ""}
    shown = run(copy.parent, "show", "copy.duckdb").stdout
    guarantee = publishing.show(copy).content["guarantee"]
    assert f"claimed  {guarantee}" in shown
    assert "holds" not in shown.replace("Whether it holds: sqlpriv verify", "")
    assert "verified" not in shown
