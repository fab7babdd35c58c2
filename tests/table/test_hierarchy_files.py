"""Hierarchies as a policy names them: every kind, every fault, and codes that look like numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.policies import IN_DATABASE, policy_text, qi, read, role, write_policy

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods.generalized.scan import scan_table
from sqlpriv.publishing import open_private, plan

pytestmark = pytest.mark.slow

MARKER = "SECRET-42"
CSV = 'source = "people.csv"'
Files = Mapping[str, str | bytes]


def labels(folder: Path, hierarchy: str, values: str, files: Files | None = None, more: str = "") -> list[tuple[str]]:
    """The wide table of a hierarchy for a column q with these values (a SQL list), in the order of its texts."""
    sql = f"CREATE TABLE people AS SELECT unnest({values}) AS q; {more}"
    return wide(write_policy(folder, policy_text({"q": qi(hierarchy)}), sql, files))


def wide(path: Path, column: str = "q") -> list[tuple[str]]:
    policy = read(path)
    with open_private(policy) as (source, policy):
        (made,) = (h for h in scan_table(source, policy).hierarchies if h.column == column)
        return source.con.execute(f"FROM {made.table} ORDER BY ALL NULLS LAST").fetchall()


FLAT = "a;g;*\nb;g;*\n"
TREE = "a;g\nb;g\nc;h\ng;all\nh;all\n"


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("hierarchy", "values", "files", "expected"),
    [
        ("suppression", "[1, NULL]", {}, [("1", "*"), (None, "*")]),
        ("ranges:5,10", "[3, 12]", {}, [("12", "10-14", "10-19", "*"), ("3", "0-4", "0-9", "*")]),
        ("ranges:5,10@1", "[1, 6]", {}, [("1", "1-5", "1-10", "*"), ("6", "6-10", "1-10", "*")]),
        ("ranges: 5 , 10 @ 1", "[1]", {}, [("1", "1-5", "1-10", "*")]),
        ("ranges:0.5", "[1.25]", {}, [("1.25", "[1, 1.5)", "*")]),
        ("mask:3", "['ab', NULL]", {}, [("ab", "ab*", "a**", "*"), (None, None, None, "*")]),
        ("mask:3", "[123, 345]", {}, [("123", "12*", "1**", "*"), ("345", "34*", "3**", "*")]),
        ("dates:month,year", "[DATE '2024-03-17']", {}, [("2024-03-17", "2024-03", "2024", "*")]),
        ("dates", "[DATE '2024-03-17']", {}, [("2024-03-17", "2024-03", "2024-Q1", "2024", "2020s", "*")]),
        (
            "dates:",
            "[TIMESTAMP '2024-03-17 10:00:00']",
            {},
            [("2024-03-17 10:00:00", "2024-03-17", "2024-03", "2024-Q1", "2024", "2020s", "*")],
        ),
        ("bins:2", "[1, 3, 4]", {}, [("1", "less than 4", "*"), ("3", "less than 4", "*"), ("4", "4 or more", "*")]),
        ("tree:t.csv", "['a']", {"t.csv": TREE}, [("a", "g", "*"), ("b", "g", "*"), ("c", "h", "*")]),
        ("h.csv", "['a', NULL]", {"h.csv": FLAT}, [("a", "g", "*"), ("b", "g", "*")]),
        ("it's (1).csv", "['a']", {"it's (1).csv": FLAT}, [("a", "g", "*"), ("b", "g", "*")]),
        ("h[1].csv", "['a']", {"h[1].csv": FLAT, "h1.csv": "a;other;*\n"}, [("a", "g", "*"), ("b", "g", "*")]),
        ("deep/h*.csv", "['a']", {"deep/h*.csv": FLAT, "deep/h2.csv": "a;x;*"}, [("a", "g", "*"), ("b", "g", "*")]),
        ("h.csv", "['a']", {"h.csv": "\ufeffa;g;*\r\nb;g;*\r\n"}, [("a", "g", "*"), ("b", "g", "*")]),
        ("h.csv", "['x;y']", {"h.csv": '"x;y";"a ""b""";*\nz;g;*\n'}, [("x;y", 'a "b"', "*"), ("z", "g", "*")]),
        ("h.csv", "['a']", {"h.csv": "a;g;any\nb;g;any\n"}, [("a", "g", "any"), ("b", "g", "any")]),
        ("h.csv", "['a']", {"h.csv": FLAT + FLAT}, [("a", "g", "*"), ("b", "g", "*")]),
        ("table:h", "['a']", {}, [("a", "g", "*")]),
        ("table:h.csv", "['a']", {"h.csv": FLAT}, [("a", "g", "*"), ("b", "g", "*")]),
        ("tree:e", "['a']", {}, [("a", "*")]),
        ("['left(q, 1)']", "['ab', NULL]", {}, [("ab", "a", "*"), (None, None, "*")]),
        ("['q[1:2]', 'q[1:1]']", "['abc']", {}, [("abc", "ab", "a", "*")]),
        ("['Q // 10', 'q // 100']", "[123]", {}, [("123", "12", "1", "*")]),
        ('["CASE WHEN q < 18 THEN \'minor\' ELSE \'adult\' END"]', "[5]", {}, [("5", "minor", "*")]),
    ],
)  # fmt: skip
def test_every_kind(tmp_path: Path, hierarchy: str, values: str, files: Files, expected: list[tuple[str, ...]]) -> None:
    more = "CREATE TABLE h AS SELECT 'a' AS v, 'g' AS g, '*' AS top; CREATE TABLE e AS SELECT 'a' AS c, 'r' AS p"
    assert labels(tmp_path, hierarchy, values, files, more) == expected


@pytest.mark.some(15)
@pytest.mark.parametrize(
    ("hierarchy", "values", "files", "message"),
    [
        ("h.csv", f"['a', '{MARKER}', '{MARKER}2']", {"h.csv": FLAT}, "level 0: 2 value(s) of the table are not in it"),
        ("h.csv", "['a']", {"h.csv": f"a;g;x;*\nb;g;{MARKER};*\n"}, "level 1: 1 label(s) have two different labels"),
        ("h.csv", "['a']", {"h.csv": f"a;g\nb;{MARKER}\n"}, "level 1: 2 labels stand on it, the top"),
        ("h.csv", "['a']", {"h.csv": FLAT + f"a;{MARKER};*\n"}, "level 0: 1 value(s) are listed twice"),
        ("h.csv", "['a']", {"h.csv": "a;;*\nb;g;*\n"}, "level 1: 1 value(s) have no label on it"),
        ("h.csv", "['a']", {"h.csv": f"a\n{MARKER}\n"}, "it has no level above the value; levels are separated by ;"),
        ("h.csv", "['a']", {"h.csv": ""}, "it has no level above the value"),
        ("h.csv", "['a']", {"h.csv": "a,g,*\nb,g,*\n"}, "it has no level above the value; levels are separated by ;"),
        ("h.csv", "['a']", {"h.csv": f"{FLAT}{MARKER};*\n"}, "the file cannot be read as CSV"),
        ("h.csv", "['a']", {"h.csv": b"a;g\xe9;*\nb;g;*\n"}, "the file is not UTF-8: write it as UTF-8"),
        ("h.csv", "['a']", {"h.csv": bytes(range(256))}, "the file cannot be read as CSV"),
        ("no.csv", "['a']", {}, "'no.csv' is neither a file nor a kind of hierarchy; there are ranges:5,10@0"),
        ("x" * 5000, "['a']", {}, "is neither a file nor a kind of hierarchy"),
        ("a\\u0000b", "['a']", {}, "is neither a file nor a kind of hierarchy"),
        ("folder", "['a']", {"folder/h.csv": FLAT}, "is neither a file nor a kind of hierarchy"),
        ("Ranges:5", "[1]", {}, "is neither a file nor a kind of hierarchy"),
        ("table:", "['a']", {}, "is neither a file nor a kind of hierarchy"),
        ("suppression:1", "['a']", {}, "is neither a file nor a kind of hierarchy"),
        ("table:no", "['a']", {}, "there is no table 'no'"),
        ("table:x'; DROP TABLE people; --", "['a']", {}, "there is no table"),
        ("tree:no.csv", "['a']", {}, "there is no"),
        ("tree:t.csv", "['a']", {"t.csv": "a;g\nb;h\n"}, "the tree has 2 roots"),
        ("tree:t.csv", "['a']", {"t.csv": "a;g\ng;a\n"}, "the tree has a cycle"),
        ("tree:t.csv", "['a']", {"t.csv": f"a;g\na;{MARKER}\ng;r\n{MARKER};r\n"}, "have more than one parent"),
        ("tree:t.csv", f"['a', '{MARKER}']", {"t.csv": TREE}, "level 0: 1 value(s) of the table are not in it"),
        ("ranges:", "[1]", {}, "'ranges:' needs numbers"),
        ("ranges:a", "[1]", {}, "needs numbers"),
        ("ranges:5@", "[1]", {}, None),
        ("ranges:5@1,2", "[1]", {}, "needs one number there"),
        ("ranges:5@x", "[1]", {}, "needs numbers"),
        ("ranges:0", "[1]", {}, "every width must be a number greater than 0"),
        ("ranges:-5", "[1]", {}, "every width must be a number greater than 0"),
        ("ranges:10,15", "[1]", {}, "level 2 does not nest"),
        ("ranges:5", f"['{MARKER}']", {}, "ranges need a column of numbers"),
        ("ranges:5", "['inf'::DOUBLE]", {}, "1 values are infinite"),
        ("mask:0", "['a']", {}, "needs whole numbers"),
        ("mask:", "['a']", {}, "needs whole numbers"),
        ("mask:²", "['a']", {}, "needs whole numbers"),
        ("mask:5,4", "['a']", {}, "needs one number there"),
        ("mask:3", "[12, 345]", {}, "shows numbers with fewer digits whole"),
        ("mask:3", f"['a', '{MARKER}']", {}, "1 values are longer than the mask of length 3"),
        ("dates:week", "[DATE '2024-01-01']", {}, "the units must be a list out of day, month"),
        ("dates:year,month", "[DATE '2024-01-01']", {}, "in this order"),
        ("dates", f"['{MARKER}']", {}, "dates need a column of type DATE or TIMESTAMP"),
        ("bins:3,2", "[1, 2]", {}, "level 2 does not nest"),
        ("bins:x", "[1, 2]", {}, "needs whole numbers"),
        ("['left(q, 1)', 'left(q, 2)']", "['ab', 'ac']", {}, "level 1: 1 label(s) have two different labels"),
        ("['NULL']", f"['{MARKER}']", {}, "level 1: 1 value(s) have no label on it"),
        ("['CAST(q AS INTEGER)']", f"['{MARKER}']", {}, "its SQL does not work on the values of the column"),
        ("['nofunction(q)']", f"['{MARKER}']", {}, "its SQL does not work on the values of the column"),
        ("['left(other, 1)']", "['a']", {}, "uses other; a label may depend on 'q' alone"),
        ("['people.q']", "['a']", {}, "a label may depend on 'q' alone"),
        ("['(SELECT max(q) FROM people)']", "['a']", {}, "without subqueries and aggregates"),
        ("['max(q)']", "['a']", {}, "without subqueries and aggregates"),
        ("['row_number() OVER ()']", "['a']", {}, "without subqueries and aggregates"),
        ("['*']", "['a']", {}, "without subqueries and aggregates"),
        ("['q AS x']", "['a']", {}, "without subqueries and aggregates"),
        ("['q, q']", "['a']", {}, "is not one SQL expression"),
        ("['q) FROM people; DROP TABLE people; --']", "['a']", {}, "is not one SQL expression"),
        ("['q; SELECT 1']", "['a']", {}, "must be an expression of the one value"),
        ("['DROP TABLE people']", "['a']", {}, "without subqueries and aggregates"),
    ],
)  # fmt: skip
def test_every_fault_names_the_column_and_no_value(
    tmp_path: Path, hierarchy: str, values: str, files: Files, message: str | None
) -> None:
    if message is None:
        assert labels(tmp_path, hierarchy, values, files)
        return
    with pytest.raises(PolicyError) as refused:
        labels(tmp_path, hierarchy, values, files)
    assert str(refused.value).startswith("hierarchy of 'q'")
    assert message in str(refused.value)
    assert MARKER not in str(refused.value)
    if "DROP" in hierarchy:
        with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
            assert con.execute("SELECT count(*) > 0 FROM people").fetchall() == [(True,)]


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    files = {"h.csv": "a;g;x;1\nb;g;y;2\na;k;x;1\n"}
    with pytest.raises(PolicyError) as refused:
        labels(tmp_path, "h.csv", f"['a', '{MARKER}']", files)
    for part in ("not in it", "listed twice", "level 1: 1 label(s)", "level 3: 2 labels"):
        assert part in str(refused.value)


def test_an_empty_hierarchy_covers_nothing(tmp_path: Path) -> None:
    empty = "CREATE TABLE h AS SELECT 'a' AS v, '*' AS top WHERE false"
    with pytest.raises(PolicyError, match=r"hierarchy of 'q', level 0: 2 value\(s\) of the table are not in it"):
        labels(tmp_path, "table:h", "['a', 'b']", {}, empty)


def test_a_table_beside_one_with_dots_and_quotes_in_its_name(tmp_path: Path) -> None:
    name, source = '"a.b"."my ""t.x"', r'"\"a.b\".\"my \"\"t.x\""'
    path = write_policy(
        tmp_path,
        policy_text({"q": qi("table:h")}, table=f'database = "private.duckdb"\nsource = {source}'),
        f"""CREATE SCHEMA "a.b"; CREATE TABLE {name} AS SELECT 1 AS q;
        CREATE TABLE "a.b".h AS SELECT '1' AS v, '*' AS top; CREATE TABLE h AS SELECT 'wrong' AS v, '*' AS top""",
    )
    assert wide(path) == [("1", "*")]


# --- codes in CSV files -------------------------------------------------------------------------

MANY = "13053\n" * 25_000  # DuckDB looks at the first 20,480 rows


def types(path: Path) -> dict[str, str]:
    policy = read(path)
    with open_private(policy) as (source, policy):
        scan = scan_table(source, policy)
        seen = {str(r[0]): str(r[1]) for r in source.con.execute(f"DESCRIBE {source.table}").fetchall()}
        counted = scan.frequencies.relation.columns
        assert {c: kind for c, kind in counted.items() if c != "__priv_n"} == {c: seen[c] for c in policy.qis}
        return seen


@pytest.mark.some(4)
@pytest.mark.parametrize("zeros", ["01305\n", "1\n01305\n", MANY + "01305\n"])
@pytest.mark.parametrize("hierarchy", ["mask:5", "h.csv", "suppression", "tree:t.csv"])
def test_a_code_keeps_its_zero(tmp_path: Path, zeros: str, hierarchy: str) -> None:
    files = {
        "people.csv": f"zip\n{zeros}",
        "h.csv": "01305;0*;*\n13053;1*;*\n1;1*;*\n",
        "t.csv": "01305;r\n13053;r\n1;r\n",
    }
    path = write_policy(tmp_path, policy_text({"zip": qi(hierarchy)}, table=CSV), files=files)
    assert types(path) == {"zip": "VARCHAR"}
    assert "01305" in {row[0] for row in wide(path, "zip")}


@pytest.mark.parametrize("hierarchy", ["mask:2", "h.csv", "suppression", "ranges:10", "bins:2"])
def test_a_number_stays_a_number(tmp_path: Path, hierarchy: str) -> None:
    files = {"people.csv": "age,x\n39,1.50\n 40,2\n", "h.csv": "39;3*;*\n40;4*;*\n"}
    columns = {"age": qi(hierarchy), "x": role("other")}
    path = write_policy(tmp_path, policy_text(columns, table=CSV), files=files)
    assert types(path) == {"age": "BIGINT", "x": "DOUBLE"}


def test_a_number_is_matched_as_it_is_written(tmp_path: Path) -> None:
    files = {"people.csv": "x,y\n1.0,1\n2.50,1\n", "h.csv": "1.0;*\n2.50;*\n", "i.csv": "1.0;*\n"}
    path = write_policy(tmp_path, policy_text({"x": qi("h.csv"), "y": qi("suppression")}, table=CSV), files=files)
    assert wide(path, "x") == [("1.0", "*"), ("2.50", "*")]
    path = write_policy(tmp_path, policy_text({"x": qi("h.csv"), "y": qi("i.csv")}, table=CSV))
    with pytest.raises(PolicyError, match="hierarchy of 'y', level 0: 1 value"):
        wide(path, "y")


def test_what_the_policy_says_of_types_and_headers_is_done(tmp_path: Path) -> None:
    files = {"people.csv": "01305;7\n02000;08\n"}
    for options, expected in (
        ("header = false\ntypes = { column0 = 'BIGINT' }", {"column0": "BIGINT", "column1": "VARCHAR"}),
        ("header = false\ntypes = ['BIGINT', 'BIGINT']", {"column0": "BIGINT", "column1": "BIGINT"}),
        ("header = false\nall_varchar = true", {"column0": "VARCHAR", "column1": "VARCHAR"}),
        ("header = false\ndelimiter = ';'", {"column0": "VARCHAR", "column1": "VARCHAR"}),
    ):
        columns = {"column0": qi(), "column1": qi()}
        path = write_policy(tmp_path, policy_text(columns, table=f"{CSV}\n{options}"), files=files)
        assert types(path) == expected, options


def test_text_with_numbers_alone_keeps_its_header(tmp_path: Path) -> None:
    """Read as text, all columns are text, and DuckDB would have to guess again whether the first line is a header."""
    path = write_policy(
        tmp_path, policy_text({"zip": qi("mask:5")}, table=CSV), files={"people.csv": f"zip\n{MANY}07\n"}
    )
    assert types(path) == {"zip": "VARCHAR"}


def test_numbers_with_leading_zeros_fit_ranges(tmp_path: Path) -> None:
    path = write_policy(
        tmp_path, policy_text({"age": qi("ranges:10")}, table=CSV), files={"people.csv": "age\n" + "12\n" * 30 + "13\n"}
    )
    assert {r[1] for r in wide(path, "age")} == {"10-19"}


# --- the commands -------------------------------------------------------------------------------


def test_show_draws_the_tree(tmp_path: Path) -> None:
    files = {"h.csv": "a;[red]g;*\nb;[red]g;*\nc;[/x];*\n"}
    sql = "CREATE TABLE people AS SELECT unnest(['a', 'b', NULL]) AS q"
    write_policy(tmp_path, policy_text({"q": qi("h.csv")}), sql, files)
    done = run(tmp_path, "hierarchy", "show", "Q")
    assert done.returncode == 0, done.stderr
    assert "* (3)" in done.stdout
    assert "[red]g (2)" in done.stdout
    assert "[/x] (1)" in done.stdout
    assert "... and 1 more" in run(tmp_path, "hierarchy", "show", "q", "--most", "1").stdout
    refused = run(tmp_path, "hierarchy", "show", "z", "--policy", "policy.toml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "'z' is no quasi-identifier of policy.toml; there are q" in refused.stderr


def test_saved_hierarchies_can_be_edited_and_used(tmp_path: Path) -> None:
    sql = 'CREATE TABLE people AS SELECT unnest([1, 7, NULL]) AS "o\'q", 1 AS z'
    write_policy(tmp_path, policy_text({"o'q": qi("ranges:5"), "z": qi()}), sql)
    for database in ("private.duckdb", "new.duckdb"):
        done = run(tmp_path, "hierarchy", "save", database)
        assert (done.returncode, done.stdout) == (0, "hierarchy_o'q\nhierarchy_z\n"), done.stderr
        again = run(tmp_path, "hierarchy", "save", database)
        assert again.returncode == 2
        assert f'{database} has a table "hierarchy_o\'q" already' in again.stderr
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("UPDATE \"hierarchy_o'q\" SET level1 = 'low' WHERE value = '1'").fetchall()
    path = write_policy(tmp_path, policy_text({"o'q": qi("table:hierarchy_o'q"), "z": qi("table:hierarchy_z")}))
    assert ("1", "low", "*") in wide(path, "o'q")
    with duckdb.connect(str(tmp_path / "new.duckdb"), read_only=True) as con:
        assert con.execute('SELECT count(*) FROM "hierarchy_o\'q"').fetchall() == [(3,)]


def test_hierarchies_are_not_saved_into_something_else(tmp_path: Path) -> None:
    write_policy(tmp_path, policy_text({"q": qi()}), "CREATE TABLE people AS SELECT 1 AS q", {"h.csv": FLAT})
    for name, message in (("h.csv", "it is not a DuckDB database"), ("no/x.duckdb", "cannot open x.duckdb")):
        done = run(tmp_path, "hierarchy", "save", name)
        assert done.returncode == 2
        assert message in done.stderr
    assert (tmp_path / "h.csv").read_text() == FLAT


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "option",
    ['header = "x"', 'types = { q = "FOO" }', 'types = { no = "BIGINT" }', "skip = -1", 'encoding = "klingon"'],
)
def test_options_that_make_no_sense_are_named(tmp_path: Path, option: str) -> None:
    path = write_policy(tmp_path, policy_text({"q": qi()}, table=f"{CSV}\n{option}"), files={"people.csv": "q\n1\n"})
    with pytest.raises(InputError, match=f"cannot be read as CSV with the options {option.split(maxsplit=1)[0]}"):
        plan(path)


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    for name, message in (
        ("people.parquet", "cannot be read as what its name says"),
        ("people.xyz", "cannot be read as what its name says"),
    ):
        path = write_policy(tmp_path, policy_text({"q": qi()}, table=f'source = "{name}"'), files={name: "q\n1\n"})
        with pytest.raises(InputError, match=message):
            plan(path)


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    for table, message in (
        ('source = "no.csv"', "there is no file"),
        ('database = "no.duckdb"\nsource = "t"', "there is no database file"),
        (IN_DATABASE.replace("people", "nobody"), "has no table 'nobody'"),
    ):
        path = write_policy(
            tmp_path, policy_text({"q": qi()}, table=table), "CREATE TABLE IF NOT EXISTS people AS SELECT 1 AS q"
        )
        with pytest.raises(InputError, match=message):
            plan(path)


@pytest.mark.parametrize(
    ("hierarchy", "values", "where"),
    [
        ("ranges:5", "['x']", "hierarchy of 'q', a column of type VARCHAR, in [columns], 'ranges:5': "),
        ("dates:month", "[5]", "hierarchy of 'q', a column of type INTEGER, in [columns], 'dates:month': "),
        ("ranges:5", f"['{MARKER}'::ENUM('{MARKER}')]",
         "hierarchy of 'q', a column of type ENUM, in [columns], 'ranges:5': "),
    ],
)  # fmt: skip
def test_a_type_that_does_not_fit_is_named_with_its_column_and_place(
    tmp_path: Path, hierarchy: str, values: str, where: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        labels(tmp_path, hierarchy, values)
    assert str(refused.value).startswith(where)
    assert MARKER not in str(refused.value)
