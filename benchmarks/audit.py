"""The guarantees, measured: `python -m benchmarks.audit [FILE]` prints one table, and writes it as a page. Minutes.

Releases are published as anybody would publish them, and read as anybody could read them:

- random noise: a table in which one half of the tuples has a row more than the other half. How often each outcome is
  published of the one half and of the other is a likelihood ratio, for every outcome; the claim bounds it.
- intervals: small releases with many keys; how often the truth lies in the bounds of an answer.
- hard bounds: random questions; the truth must always lie in them.
- k, l and t: computed again from the published rows, in plain Python that shares nothing with sqlpriv.

A measured ratio is one of chance, too. It fails where it passes the claim by more than four standard errors.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

import sqlpriv
from sqlpriv.core.errors import SqlprivError
from sqlpriv.version import __version__

TUPLES, WIDTH = 200_000, 1000
_ERRORS = 4.0
_FEWEST = 400
"""Outcomes that were seen less often say nothing of a ratio."""
RELEASES, QUESTIONS = 200, 2000
CONFIDENCE = 0.95
_DOMAINS = f'a = {{ role = "published", domain = "range:0..{TUPLES // WIDTH - 1}" }}\n' + (
    f'b = {{ role = "published", domain = "range:0..{WIDTH - 1}" }}\n'
)
_BOUND = 'd = 0.1\ngamma = 0.5\nuncovered = "an audit"\n'


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    over: str
    measured: str
    claim: str
    holds: bool


class Workshop:
    """A folder in which releases are published, each with a ledger and a key of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.con = duckdb.connect()
        self._made = 0

    def table(self, query: str) -> None:
        """The private table."""
        (self.folder / "people.parquet").unlink(missing_ok=True)
        self.con.execute(f"COPY ({query}) TO '{self.folder / 'people.parquet'}'").fetchall()

    def publish(self, columns: str, release: str, require: str = "") -> Path:
        """A release of it."""
        self._made += 1
        policy, output = (self.folder / f"{self._made}.{end}" for end in ("toml", "duckdb"))
        required = f"[require]\n{require}\n" * bool(require)
        table = f'[table]\nsource = "people.parquet"\n[columns]\n{columns}{required}'
        text = f'{table}[release]\n{release}accept = "an audit"\n'
        policy.write_text(text, encoding="utf-8")
        key = None
        if not any(f'"{name}"' in release for name in ("generalize", "mondrian", "hilbert")):
            key = self.folder / "key"
            key.write_text(f"a key of thirty letters or more, the {self._made}th", encoding="utf-8")
        ledger = self.folder / f"{self._made}.ledger"
        sqlpriv.publish(policy, output, key_file=key, ledger_file=ledger, force=True)
        return output

    def read(self, release: Path, query: str) -> list[tuple[Any, ...]]:
        """What a query finds in the file."""
        with duckdb.connect(str(release), read_only=True) as con:
            return con.execute(query).fetchall()


# -------------------- random noise


def noise(shop: Workshop) -> Iterator[Line]:
    """Noisy counts, alpha-beta, FRAPP and samples against what they claim."""
    half = TUPLES // 2
    for rows, given in ((1, "p = 0.5\n"), (6, "")):
        # The first half of the tuples has `rows` rows each, the second one row less.
        shop.table(_tuples(f"CASE WHEN i < {half} THEN {rows} ELSE {rows - 1} END"))
        number = half * (2 * rows - 1)
        file = shop.publish(_DOMAINS, f'method = "noisy_counts"\n{_BOUND}n_public = {number}\n{given}')
        parameters = _parameters(shop, file)
        kind = {row[0] for row in shop.read(file, "SELECT value FROM sqlpriv_release.about WHERE name = 'mechanism'")}
        seen = shop.read(file, _seen("CAST(sum(sign(__weight)) AS INTEGER)"))
        label = f"noisy counts, {kind.pop().replace('_', '-')}, {rows} rows and {rows - 1}: a row replaced"
        yield _ratio(label, seen, parameters["epsilon"], both=True)
    shop.table(_tuples(f"CASE WHEN i < {half} THEN 1 ELSE 0 END"))
    file = shop.publish(_DOMAINS, f'method = "alpha_beta"\nduplicates = "distinct"\n{_BOUND}')
    odds = math.log(0.5 * 0.9 / (0.1 * 0.5))
    yield _ratio("alpha-beta: which tuple is a person's", shop.read(file, _seen("count(*)")), odds, both=True)
    shop.table(f"SELECT 7 AS a FROM range({TUPLES})")
    file = shop.publish('a = { role = "published", domain = "range:0..199" }\n', f'method = "frapp"\n{_BOUND}')
    stayed = shop.read(file, "SELECT count(*) FILTER (a = 7), count(*) FROM sqlpriv_release.published")[0]
    moved = (stayed[1] - stayed[0]) / 199
    error = math.sqrt(1 / stayed[0] + 1 / (199 * moved))
    measured = math.log(stayed[0] / moved)
    claim = _parameters(shop, file)["epsilon"]
    holds = measured - _ERRORS * error <= claim
    yield Line("FRAPP: a record replaced", f"{TUPLES:,} records", f"{measured:.3f}", f"epsilon {claim:.3f}", holds)
    yield _sampled(shop)


def _tuples(rows: str) -> str:
    return f"SELECT i // {WIDTH} AS a, i % {WIDTH} AS b FROM range({TUPLES}) AS t(i), range({rows}) AS r(j)"


def _seen(outcome: str) -> str:
    """By tuple what was published of it: its number, and the outcome."""
    counted = f"SELECT a * {WIDTH} + b AS i, {outcome} AS seen FROM sqlpriv_release.published GROUP BY ALL"
    return f"SELECT i, coalesce(seen, 0) FROM range({TUPLES}) AS t(i) LEFT JOIN ({counted}) USING (i)"


def _parameters(shop: Workshop, file: Path) -> dict[str, float]:
    return dict(shop.read(file, "SELECT name, value FROM sqlpriv_release.parameters"))


def _ratio(what: str, seen: Sequence[tuple[int, int]], claim: float, *, both: bool) -> Line:
    """The largest likelihood ratio of two neighbours; a row replaced is one more here and one less there."""
    more, less = (Counter(o for i, o in seen if (i < TUPLES // 2) == first) for first in (True, False))
    ratios = {
        o: (math.log(more[o] / less[o]), math.sqrt(1 / more[o] + 1 / less[o]))
        for o in more
        if min(more[o], less[o]) >= _FEWEST
    }
    high, low = max(ratios.values()), min(ratios.values())
    measured = high[0] - low[0] if both else max(high[0], -low[0])
    error = math.hypot(high[1], low[1])
    holds = measured - _ERRORS * error <= claim + 1e-9
    return Line(what, f"{TUPLES:,} tuples, {len(ratios)} outcomes", f"{measured:.3f}", f"epsilon {claim:.3f}", holds)


def _sampled(shop: Workshop) -> Line:
    """Of tuples with 2 to 6 rows: by how much the chances of neighbours differ beyond e^epsilon."""
    shop.table(_tuples("2 + i % 5"))
    levels = _DOMAINS.replace('"published"', '"quasi-identifier", hierarchy = "suppression"')
    release = (
        'method = "sdgs"\nepsilon = 1.0\nbeta = 0.3\nk = 3\nnode = { a = 0, b = 0 }\nnode_is_public = "an audit"\n'
    )
    file = shop.publish(levels, f"{release}n_public = {TUPLES * 4}\n")
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    for i, outcome in shop.read(file, _seen("count(*)")):
        seen[2 + i % 5][outcome] += 1
    number = TUPLES // 5
    worst = 0.0
    for rows in range(2, 6):
        for one, other in ((seen[rows], seen[rows + 1]), (seen[rows + 1], seen[rows])):
            over = sum(max(0.0, one[o] - math.e * other[o]) for o in one)
            worst = max(worst, over / number)
    claim = _parameters(shop, file)["delta"]
    holds = worst - _ERRORS * math.sqrt(worst / number) <= claim
    return Line("samples, k = 3, epsilon 1: a row more or less", f"{TUPLES:,} tuples of 2 to 6 rows", f"{worst:.4f}",
                f"delta {claim:.4f}", holds)  # fmt: skip


# -------------------- answers


_DRAW = "CAST(hash(i, {}) % {} AS INTEGER)"
_PEOPLE = (
    f"SELECT i AS id, 20 + {_DRAW.format(1, 40)} AS age, "
    f"['F', 'M', 'X'][1 + least({_DRAW.format(2, 5)}, 2)] AS sex, 100 + {_DRAW.format(3, 12)} AS zip, "
    f"'ill ' || least({_DRAW.format(4, 6)}, {_DRAW.format(5, 9)}) AS ill, 1 + {_DRAW.format(6, 30)} AS stay "
    "FROM range(2000) AS r(i)"
)
_ILLS = ", ".join(f'"ill {i}"' for i in range(6))
_NOISY = (
    'id = { role = "identifier" }\nage = { role = "published", domain = "range:20..59" }\n'
    'sex = { role = "published", domain = ["F", "M", "X"] }\nzip = { role = "drop" }\n'
    f'ill = {{ role = "published", domain = [{_ILLS}] }}\nstay = {{ role = "drop" }}\n'
)
_LEVELS = (
    'id = { role = "identifier" }\nage = { role = "quasi-identifier", hierarchy = "ranges:5,10@20", '
    'domain = "range:20..59" }\nsex = { role = "quasi-identifier", hierarchy = "suppression", domain = '
    '["F", "M", "X"] }\nzip = { role = "quasi-identifier", hierarchy = "ranges:3,6@100", domain = "range:100..111" }\n'
    f'ill = {{ role = "sensitive", domain = [{_ILLS}] }}\n'
    'stay = { role = "other" }\n'
)
_KINDS = {
    "noisy counts": (_NOISY, f'method = "noisy_counts"\n{_BOUND}n_public = 2000\n'),
    "alpha-beta": (_NOISY, f'method = "alpha_beta"\nslots = 24\n{_BOUND}'),
    "FRAPP": (_NOISY, f'method = "frapp"\n{_BOUND}'),
    "samples": (
        _LEVELS.replace('"other"', '"drop"'),
        'method = "sdgs"\nepsilon = 2.0\nbeta = 0.3\nk = 2\nnode = { age = 2, sex = 0, zip = 3 }\n'
        'node_is_public = "an audit"\nn_public = 2000\n',
    ),
}


def coverage(shop: Workshop, releases: int) -> Iterator[Line]:
    """How often the truth lies between the bounds of an answer, over releases with keys of their own."""
    shop.table(_PEOPLE)
    truth = f"(SELECT * FROM '{shop.folder / 'people.parquet'}')"
    each = max(1, releases // len(_KINDS))
    for name, (columns, release) in _KINDS.items():
        asked = [f"SELECT count(*) AS n FROM people WHERE {condition}" for condition in _CONDITIONS]
        right = 0
        for _ in range(each):
            with sqlpriv.open_release(shop.publish(columns, release)) as file:
                for question in asked:
                    _, low, high = file.sql(question).fetchall()[0]
                    number = shop.con.execute(question.replace("FROM people", f"FROM {truth}")).fetchall()[0][0]
                    right += low <= number <= high
        share, answers = right / (each * len(asked)), each * len(asked)
        # Answers of one release are not independent: the releases are counted.
        holds = share + _ERRORS * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / each) >= CONFIDENCE
        yield Line(f"{name}: the truth within the bounds", f"{answers:,} answers of {each} releases", f"{share:.1%}",
                   f"about {CONFIDENCE:.0%}", holds)  # fmt: skip


_CONDITIONS = (
    "age < 40", "sex = 'F'", "ill = 'ill 0'", "age >= 30 AND ill <> 'ill 1'", "sex = 'M' AND ill = 'ill 2'"
)  # fmt: skip
_STEPS = {
    "generalize": 'method = "generalize"\nsuppression = 0.05\n',
    "mondrian": 'method = "mondrian"\n',
    "hilbert": 'method = "hilbert"\n',
    "anatomy": 'method = "anatomy"\n',
    "slicing": 'method = "slicing"\ngroups = [["age", "sex"], ["zip", "stay"], ["ill"]]\nbucket = 10\n',
}
_REQUIRED = "k = 5\ndistinct_l = { ill = 3 }\nt = { ill = 0.6 }"
_APART = "distinct_l = { ill = 3 }"


def hard_bounds(shop: Workshop, questions: int) -> Iterator[Line]:
    """Random questions to releases without random noise, and what was required of them computed again."""
    shop.table(_PEOPLE)
    truth = f"(SELECT * FROM '{shop.folder / 'people.parquet'}')"
    for name, release in _STEPS.items():
        apart = name in {"anatomy", "slicing"}
        columns = _LEVELS
        if apart:
            columns = columns.replace('role = "other"', 'role = "quasi-identifier", domain = "range:1..30"')
        else:
            given = 'role = "quasi-identifier", hierarchy = "ranges:5,10@0", domain = "range:1..30"'
            columns = columns.replace('stay = { role = "other"', f"stay = {{ {given}")
        file = shop.publish(columns, release, _APART if apart else _REQUIRED)
        chance, inside, answered, refused = random.Random(name), 0, 0, 0
        with sqlpriv.open_release(file) as opened:
            while answered + refused < questions // len(_STEPS):
                question = _question(chance)
                try:
                    found = opened.sql(question).fetchall()[0]
                except SqlprivError:
                    refused += 1
                    continue
                answered += 1
                asked = question.replace("FROM people", f"FROM {truth}")
                number = shop.con.execute(asked).fetchall()[0][0]
                inside += number is None or _between(float(number), found[1], found[2])
        yield Line(f"{name}: the truth within hard bounds", f"{answered:,} random questions, {refused} refused",
                   f"{inside / answered:.1%}", "100%", inside == answered)  # fmt: skip
        yield _again(shop, name, file, apart)


def _question(chance: random.Random) -> str:
    conditions = [
        lambda: f"age {chance.choice(['<', '>=', '='])} {chance.randint(20, 59)}",
        lambda: f"zip BETWEEN {chance.randint(98, 108)} AND {chance.randint(101, 112)}",
        lambda: f"sex {chance.choice(['=', '<>'])} '{chance.choice('FMX')}'",
        lambda: f"ill IN ('ill {chance.randint(0, 6)}', 'ill {chance.randint(0, 6)}')",
        lambda: f"stay > {chance.randint(0, 30)}",
        lambda: f"NOT (age < {chance.randint(20, 59)} AND ill = 'ill {chance.randint(0, 5)}')",
    ]
    parts = [chance.choice(conditions)() for _ in range(chance.randint(1, 3))]
    where = f" {chance.choice(['AND', 'OR'])} ".join(parts)
    asked = chance.choice(["count(*)", "count(*)", "sum(stay)", "avg(stay)", "sum(age)"])
    return f"SELECT {asked} AS n FROM people WHERE {where}"


def _between(number: float, low: float | None, high: float | None) -> bool:
    room = 1e-9 * max(1.0, abs(number))
    return (low is None or low - room <= number) and (high is None or number <= high + room)


def _again(shop: Workshop, name: str, file: Path, apart: bool) -> Line:
    """k, l and t of the published rows, in plain Python."""
    if apart:
        named = (
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'side_%' AND schema_name = 'sqlpriv_release'"
        )
        sides = (shop.read(file, f"FROM sqlpriv_release.{side}") for (side,) in shop.read(file, named))
        with_ills = next(rows for rows in sides if str(rows[0][-1]).startswith("ill"))
        classes: dict[Any, list[Any]] = defaultdict(list)
        for row in with_ills:
            classes[row[0]].append(row[-1])
        distinct = min(len(set(found)) for found in classes.values())
        return Line(f"{name}: l in plain Python", f"{len(classes):,} groups", f"l {distinct}", "l 3", distinct >= 3)
    published = shop.read(file, "SELECT * FROM sqlpriv_release.published")
    with duckdb.connect(str(file), read_only=True) as con:
        names = [row[0] for row in con.execute("DESCRIBE sqlpriv_release.published").fetchall()]
    ill = names.index("ill")
    known = [i for i, n in enumerate(names) if n in {"age", "sex", "zip", "stay"}]
    kept = [row for row in published if any(row[i] != "*" for i in known)]
    classes = defaultdict(list)
    for row in kept:
        classes[tuple(row[i] for i in known)].append(row[ill])
    total = Counter(row[ill] for row in kept)
    k, distinct = min(map(len, classes.values())), min(len(set(found)) for found in classes.values())
    t = max(_distance(Counter(found), total) for found in classes.values())
    return Line(f"{name}: k, l and t in plain Python", f"{len(classes):,} classes", f"k {k}, l {distinct}, t {t:.3f}",
                "k 5, l 3, t 0.6", k >= 5 and distinct >= 3 and t <= 0.6 + 1e-12)  # fmt: skip


def _distance(some: Mapping[Any, int], everybody: Mapping[Any, int]) -> float:
    few, many = sum(some.values()), sum(everybody.values())
    return sum(abs(some.get(v, 0) / few - n / many) for v, n in everybody.items()) / 2


# -------------------- the table


def page(lines: Sequence[Line], seconds: float) -> str:
    """The table as a page."""
    rows = "".join(
        f"| {line.what} | {line.over} | {line.measured} | {line.claim} | {'yes' if line.holds else '**NO**'} |\n"
        for line in lines
    )
    return f"""# The audit

`make audit` publishes releases, measures whether they keep what they promise, and writes this page. It takes minutes,
so it is no part of the tests.

- **Random noise.** How often each outcome is published of one count and of the next is a likelihood ratio. The
  logarithm of the largest must not exceed the epsilon that the file declares. Outcomes that were seen fewer than
  {_FEWEST} times are left out.
- **Chance.** A measured ratio or share has an error of its own. It fails where it passes the claim by more than four
  standard errors. Hard bounds, and k, l and t, fail at the first case.

sqlpriv {__version__}, DuckDB {duckdb.__version__}, {time.strftime("%-d %B %Y")}, {seconds / 60:.0f} minutes.

| what | over | measured | claim | holds |
|---|---|---|---|---|
{rows}
An audit looks at these tables and these parameters. It proves nothing of others: the proofs are on the page of each
method, and the tests enumerate small cases completely.
"""


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write the page."""
    began, lines = time.monotonic(), list[Line]()
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for part in (noise(shop), hard_bounds(shop, QUESTIONS), coverage(shop, RELEASES)):
            for line in part:
                lines.append(line)
                said = "holds" if line.holds else "FAILS"
                print(f"{said}  {line.what}: {line.measured} ({line.claim}), {line.over}", flush=True)
    if arguments:
        Path(arguments[0]).write_text(page(lines, time.monotonic() - began), encoding="utf-8")
    return 0 if all(line.holds for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
