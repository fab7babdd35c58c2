"""Every node on the allow-list means in DuckDB what it meant before sqlglot read and wrote it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from sqlpriv.rewrite.bind.functions import FOREIGN, NAMES, ROW_NODES, allowed

ROWS = """
CREATE TABLE t AS FROM (VALUES
  (1, 2.5::DOUBLE, 'Hello World', 'lo', DATE '2024-02-29', TIMESTAMP '2023-12-31 23:59:58', true, 7.25::DECIMAL(10, 2)),
  (7, 0.5, 'ABC abc', 'b', DATE '1999-12-31', TIMESTAMP '2000-01-01 00:00:00', false, -3.5),
  (3, 0.0, '', 'x%', DATE '2021-01-03', TIMESTAMP '2021-06-15 12:30:00', NULL, 0),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) AS v(i, f, s, u, d, ts, b, c)
"""
EXPRESSIONS = """
i + 2 * i - 3 % i | -i * 2 | - (i + 1) | i // 2 | i / 2 | c / 3 | i - - 1 | i ** 2 | i ^ 2 | 2 * i ** 2
(i + 1) * 2 % 3
i & 3 | i | 4 | (i << 2) >> 1 | ~i | i & 3 = 1 | i + 1 << 2 | xor(i, 3)
NOT b AND i = 1 OR f > 1 | NOT i = 1 | NOT (i = 1 OR b) | i = 1 AND NOT b | i <> 3 | i != 3 | i == 3 | i >= 3 | i <= 3
i BETWEEN 1 AND 3 AND b | i NOT BETWEEN 1 AND 3 | i IN (1, 3, NULL) | i NOT IN (1, 3) | (i, s) IN ((1, 'x'), (3, ''))
i IN [1, 3] | i IS NULL | i IS NOT NULL | b IS TRUE | b IS NOT TRUE | i IS DISTINCT FROM 3 | i IS NOT DISTINCT FROM NULL
s LIKE 'H%' | s NOT LIKE '%o%' | s ILIKE 'h%' | s LIKE 'a!%' ESCAPE '!' | u LIKE 'x!%' ESCAPE '!' | s GLOB 'H*'
s SIMILAR TO 'A.*' | s NOT SIMILAR TO 'A.*' | regexp_matches(s, '[a-z]+') | regexp_full_match(s, '[A-Z ]+')
regexp_matches(s, 'hello', 'i') | regexp_full_match(s, 'hello.*', 'i') | regexp_extract(s, '([a-z]+) ([A-Z])', 1)
regexp_extract(s, '[a-z]+') | regexp_replace(s, '[a-z]', 'X') | regexp_replace(s, '[a-z]', 'X', 'g')
CASE WHEN i > 2 THEN 'a' WHEN b THEN 'b' ELSE s END | CASE i WHEN 1 THEN 2 WHEN 3 THEN 4 END | if(b, 1, 2)
coalesce(i, 5) | ifnull(i, 5) | nullif(i, 1) | CAST(i AS VARCHAR) || s | s || u | i::DOUBLE | TRY_CAST(s AS INTEGER)
CAST(f AS DECIMAL(10, 3)) | c::INTEGER | i::BOOLEAN | d::VARCHAR | d::TIMESTAMP | DATE '2020-01-01' < d | true | NULL
abs(c) | ceil(f) | floor(c) | round(f) | round(c, 1) | trunc(c) | sign(c) | sqrt(f) | cbrt(f) | exp(f) | ln(f + 1)
log(f + 1) | log10(f + 1) | log2(f + 1) | log(2, f + 1) | pow(i, 2) | power(f, i) | greatest(i, 2, f) | least(i, 2)
sin(f) | cos(f) | tan(f) | asin(f / 10) | acos(f / 10) | atan(f) | atan2(f, i) | cot(f + 1) | degrees(f) | radians(f)
isnan(f) | isinf(f) | mod(i, 2) | gcd(i, 6) | even(f) | isfinite(f) | lcm(i, 4)
lower(s) | upper(s) | length(s) | len(s) | strlen(s) | trim(s) | ltrim(s, 'H') | rtrim(s) | trim(s, 'Hd') | reverse(s)
left(s, 3) | right(s, 3) | substr(s, 2, 3) | substring(s, 2) | replace(s, 'o', '0') | repeat(u, 2)
lpad(s, 12, '*') | rpad(s, 12, '*') | split_part(s, ' ', 1) | string_split(s, ' ') | position('o' IN s) | instr(s, 'o')
strpos(s, 'o') | contains(s, 'lo') | starts_with(s, 'H') | s ^@ 'H' | ends_with(s, 'd') | suffix(s, 'd')
prefix(s, 'H')
concat(s, u, i) | concat_ws('-', s, u) | ascii(s) | unicode(s) | chr(65 + i) | translate(s, 'lo', '01') | md5(s)
sha256(s) | hex(s) | levenshtein(s, u) | jaccard('abc', 'bcd') | hamming(u, u)
list_contains([1, 3], i)
s[1] | s[-1] | s[i] | s[i - 1] | s[2:3] | s[:2] | s[-2:] | (s || u)[1] | upper(s)[1] | [i, 5][2] | s[1] || s[2]
format('{}-{:05d}', s, i) | format('{1} {0}', s, u) | time_bucket(INTERVAL 1 MONTH, d)
time_bucket(INTERVAL '7 days', ts) | time_bucket(INTERVAL 1 WEEK, d, DATE '2000-01-02')
date_add(d, INTERVAL 1 DAY) | date_add(ts, INTERVAL (i) MONTH)
DATE '2025-01-05' - date_add(d, INTERVAL 1 DAY) | date_add(d, INTERVAL 2 YEAR) = d
jaro_similarity(s, u) | damerau_levenshtein(s, u) | strip_accents(s) | ucase(s) | lcase(s) | printf('%d', i)
extract(year FROM d) | extract('month' FROM ts) | year(d) | month(d) | day(d) | quarter(d) | week(d) | hour(ts)
minute(ts)
second(ts) | dayofweek(d) | dayofmonth(d) | dayofyear(d) | weekofyear(d) | isodow(d) | weekday(d) | dayname(d)
monthname(d) | epoch(d) | epoch(date_trunc('month', ts))
date_part('year', d) | date_trunc('month', d) | date_trunc('year', ts) | date_trunc('month', CAST(d AS DATE))
date_trunc('year', DATE '2024-06-01') | date_diff('day', d, DATE '2025-01-01')
datediff('month', d, DATE '2025-01-01') | date_sub('day', d, DATE '2025-01-01') | d + 3 | d - DATE '2020-01-01'
d + INTERVAL 3 DAY | d - INTERVAL '1 month' | ts + INTERVAL 90 MINUTE | d + INTERVAL (i) DAY | d + to_days(i)
make_date(2024, 1, i) | last_day(d) | strftime(d, '%Y-%m') | strftime(ts, '%H:%M') | strptime('2024-01-05', '%Y-%m-%d')
isoyear(d) | decade(d) | century(d) | yearweek(d) | to_months(i) | era(d) | julian(d)
d BETWEEN DATE '2000-01-01' AND DATE '2021-12-31' | i > 2 AND f < 1 OR s = '' AND NOT b | (i > 2) = (f < 1) | -i + 3 > 2
"""
ALL = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" | ") if e.strip()]
ALL = [*(e for e in ALL if e not in {"i", "4"}), "i | 4"]
# Parts of other nodes.
INSIDE = {exp.Identifier, exp.DataTypeParam, exp.Var}


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(ROWS).fetchall()
        yield connection


@pytest.mark.parametrize("text", ALL)
def test_what_sqlglot_writes_means_what_it_read(con: duckdb.DuckDBPyConnection, text: str) -> None:
    read = sqlglot.parse_one(f"SELECT {text} AS x FROM t", dialect="duckdb")
    node = read.expressions[0].this
    assert all(allowed(n) for n in node.walk())
    written = node.sql(dialect="duckdb")
    expected = con.execute(f"SELECT {text}, typeof({text}) FROM t").fetchall()
    assert con.execute(f"SELECT {written}, typeof({written}) FROM t").fetchall() == expected


def test_every_allowed_node_is_tried() -> None:
    tried = {type(n) for text in ALL for n in sqlglot.parse_one(f"SELECT {text}", dialect="duckdb").walk()}
    assert {c.__name__ for c in ROW_NODES - tried - INSIDE} == set()


def test_nothing_that_changes_from_call_to_call_is_allowed(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT' "
        "AND regexp_full_match(function_name, '[a-z_0-9]+')"
    ).fetchall()
    changing = {name for (name,) in rows}
    assert len(changing) > 10
    assert not changing & NAMES
    for name in changing:
        assert not allowed(sqlglot.parse_one(f"SELECT {name}()", dialect="duckdb").expressions[0]), name


def test_no_function_of_another_engine_is_read_as_one_of_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    known = {name for (name,) in rows} | {"coalesce", "extract", "if", "ifnull"}  # these are syntax
    unknown = {name.lower() for name in DuckDB.Parser.FUNCTIONS} - known
    read = {name for name in unknown if any(_is_read(name, arguments) for arguments in ARGUMENTS)}
    assert read == FOREIGN


ARGUMENTS = ("", "a", "a, b", "a, b, c", "'day', a, b", "a, INTERVAL 1 DAY")


def _is_read(name: str, arguments: str) -> bool:
    try:
        return type(sqlglot.parse_one(f"SELECT {name}({arguments})", dialect="duckdb").expressions[0]) in ROW_NODES
    except (sqlglot.errors.ParseError, IndexError):  # some calls with too few arguments
        return False


def test_every_allowed_name_is_a_function_of_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    assert {name for (name,) in rows} >= NAMES
