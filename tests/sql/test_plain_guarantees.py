"""What plain SQL promises, over many keys: estimates are right on average, intervals hold the truth as often as said.

A table of 60 rows over 24 tuples is published with KEYS keys by each family, and each publication is asked for counts
and sums, of all rows and of groups. Each mean error is within 5 standard errors of 0: a false alarm has a probability
of 6 in ten million for one number, and below 1 in 10,000 for all of them together. The number of intervals that hold
the truth is judged by a binomial limit at a coverage of 90%, which a true coverage of 90% falls below once in a
million. Keys are fixed, so what passes goes on passing.
"""

from __future__ import annotations

import math
from collections import defaultdict

import duckdb
import pytest
from scipy import stats
from support.strategies import EXAMPLES

pytestmark = [pytest.mark.slow, pytest.mark.one_version]
Con = duckdb.DuckDBPyConnection
KEYS = 300 if EXAMPLES >= 2000 else 100
COINS = {"alpha_beta": "0.45, 0.1", "noisy_counts": "0.5, 0.15", "signed_noisy_counts": "0.45", "frapp": "0.6"}
ASKED = {
    ("true", "NULL"): "SELECT count(*) FROM {t}",
    ("g < 3 AND h = 'x'", "NULL"): "SELECT count(*) FROM {t} WHERE g < 3 AND h = 'x'",
    ("h IS NULL", "'g - 3'"): "SELECT sum(g - 3) FROM {t} WHERE h IS NULL",
    ("true", "'g'"): "SELECT sum(g) FROM {t}",
}


@pytest.fixture(scope="module")
def tables(con: Con) -> Con:
    con.execute(
        "CREATE OR REPLACE TABLE many_d AS FROM (SELECT unnest(range(8)) AS g), (VALUES ('x'), ('y'), (NULL)) AS v(h)"
    ).fetchall()
    con.execute(
        "CREATE OR REPLACE TABLE many_t AS SELECT (i * i) % 8 AS g, "
        "CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'y' ELSE 'x' END AS h FROM range(60) AS r(i)"
    ).fetchall()
    con.execute("CREATE OR REPLACE TABLE many_distinct AS SELECT DISTINCT * FROM many_t").fetchall()
    return con


def limit(trials: int) -> int:
    """So many intervals at least hold the truth if 90% do in the long run, but for one time in a million."""
    return int(stats.binom.ppf(1e-6, trials, 0.9))


@pytest.mark.parametrize("family", COINS)
def test_estimates_are_unbiased_and_covered(tables: Con, family: str) -> None:
    private = "many_distinct" if family == "alpha_beta" else "many_t"
    truth = {asked: tables.execute(sql.format(t=private)).fetchall()[0][0] for asked, sql in ASKED.items()}
    by_group = dict(tables.execute(f"SELECT h, count(*) FROM {private} GROUP BY h").fetchall())
    errors: dict[object, list[float]] = defaultdict(list)
    held: dict[object, int] = defaultdict(int)
    coins = COINS[family]

    def judge(what: object, true: float, found: tuple[float, float, float]) -> None:
        errors[what].append(found[0] - true)
        held[what] += found[1] <= true <= found[2]

    for key in range(KEYS):
        tables.execute(
            f"CREATE OR REPLACE TABLE many_v AS FROM priv.{family}('many_t', 'many_d', ['g', 'h'], {coins}, "
            f"'the key of round {key:06}')"
        ).fetchall()
        for (condition, value), true in truth.items():
            text = condition.replace("'", "''")
            asked = f"FROM priv.{family}_estimate('many_v', 'many_d', '{text}', {coins}, {value})"
            judge((condition, value), true, tables.execute(asked).fetchall()[0])
        grouped = tables.execute(f"FROM priv.{family}_estimates('many_v', 'many_d', ['h'], 'true', {coins})").fetchall()
        for group, *found in grouped:
            judge(("group", group), by_group[group], tuple(found))
    for what, found in errors.items():
        mean = sum(found) / len(found)
        spread = math.sqrt(sum((x - mean) ** 2 for x in found) / (len(found) - 1))
        assert abs(mean) <= 5 * spread / math.sqrt(len(found)) + 1e-9, (family, what, mean)
        assert held[what] >= limit(KEYS), (family, what, held[what])


def test_a_sample_holds_the_truth_and_never_shows_a_rare_row(tables: Con) -> None:
    """Limits of a sample are wider than need be: they hold at least as often as they say."""
    tables.execute(
        "CREATE OR REPLACE TABLE sample_t AS SELECT 10 * (i % 7) AS age, "
        "CASE WHEN i % 50 = 0 THEN 'rare' ELSE 'flu' END AS ill FROM range(700) AS r(i)"
    ).fetchall()
    tables.execute(
        "CREATE OR REPLACE TABLE sample_d AS FROM (SELECT unnest(range(0, 70, 10)) AS age), "
        "(VALUES ('rare'), ('flu')) AS v(ill)"
    ).fetchall()
    tables.execute(
        "CREATE OR REPLACE TABLE hierarchy_age AS FROM priv.hierarchy_ranges('sample_d', 'age', [20], 0)"
    ).fetchall()
    held: dict[str, int] = defaultdict(int)
    for key in range(KEYS):
        tables.execute(
            "CREATE OR REPLACE TABLE sample_v AS FROM "
            f"priv.sdgs('sample_t', MAP {{'age': 1}}, MAP {{}}, 5, 0.3, 'the key of round {key:06}')"
        ).fetchall()
        ((least,),) = tables.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM sample_v GROUP BY ALL)").fetchall()
        assert least >= 5
        for condition in ("age < 30", "ill = 'rare'", "true"):
            text = condition.replace("'", "''")
            ((true,),) = tables.execute(f"SELECT count(*) FROM sample_t WHERE {condition}").fetchall()
            asked = f"FROM priv.sdgs_estimate('sample_v', '{text}', 5, 0.3, 'sample_d', MAP {{'age': 1}}, MAP {{}})"
            ((_, low, high),) = tables.execute(asked).fetchall()
            held[condition] += low <= true <= high
    assert all(count >= limit(KEYS) for count in held.values()), held


def test_sampled_rows_are_as_many_as_they_should_be(tables: Con) -> None:
    """Of a class of 100 rows, 30 are sampled on average: within 5 standard errors over all keys."""
    tables.execute("CREATE OR REPLACE TABLE alike AS SELECT 1 AS x FROM range(100)").fetchall()
    shown = []
    for key in range(KEYS):
        made = f"FROM priv.sdgs('alike', MAP {{'x': 0}}, MAP {{}}, 1, 0.3, 'the key of round {key:06}')"
        shown.append(tables.execute(f"SELECT count(*) FROM ({made})").fetchall()[0][0])
    assert abs(sum(shown) / KEYS - 30) <= 5 * math.sqrt(100 * 0.3 * 0.7 / KEYS)


def test_partners_in_groups_of_anatomy_are_any_others(tables: Con) -> None:
    """A row of x is together with each of the four rows of y in a quarter of the keys, within 5 standard deviations."""
    tables.execute(
        "CREATE OR REPLACE TABLE pairs AS SELECT i AS id, "
        "CASE WHEN i < 4 THEN 'x' ELSE 'y' END AS s FROM range(8) AS r(i)"
    ).fetchall()
    together: dict[int, int] = defaultdict(int)
    names: dict[int, int] = defaultdict(int)
    for key in range(KEYS):
        made = f"priv.anatomy_rows('pairs', 's', 2, 'the key of round {key:06}')"
        rows = tables.execute(f"SELECT group_id, id FROM {made}").fetchall()
        ((own,),) = [(group,) for group, row in rows if row == 0]
        names[own] += 1
        ((partner,),) = [(row,) for group, row in rows if group == own and row != 0]
        together[partner] += 1
    spread = 5 * math.sqrt(KEYS * 0.25 * 0.75)
    assert set(together) == {4, 5, 6, 7}
    assert set(names) == {1, 2, 3, 4}
    assert all(abs(count - KEYS / 4) <= spread for count in (*together.values(), *names.values())), (together, names)
