"""The policies that the guard publishes, and the small tables that they are about.

What a kind of release is called in a policy stands once, in `KINDS`: whoever renames a method edits that table, and
`RENAMED` in guard.py where the name appears in what was recorded. The tables are generated from md5, so they are the
same on every DuckDB. `people` has the columns that fixtures/rewrite/ asks about, `visits` those of fixtures/bi/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ACCEPT = 'accept = "nobody is in a table that was made up"'
"""Without it what is required here protects too little for the verdict, and nothing would be published."""
KINDS = {
    "generalize": f'method = "generalize"\n{ACCEPT}',
    "mondrian": f'method = "mondrian"\n{ACCEPT}',
    "hilbert": f'method = "hilbert"\n{ACCEPT}',
    "anatomy": 'method = "anatomy"',
    "slicing": f'method = "slicing"\n{ACCEPT}',
    "sdgs": 'method = "sdgs"',
    "bag": 'method = "noisy_counts"',
    "distinct": 'method = "alpha_beta"\nduplicates = "distinct"',
    "slots": 'method = "alpha_beta"\nduplicates = "slots"',
    "frapp": 'method = "frapp"',
    "disclose": 'method = "disclose"',
}
"""How [release] begins for each kind of release."""
METHODS = ("generalize", "mondrian", "hilbert", "anatomy", "slicing", "sdgs", "noisy_counts", "frapp", "disclose")
"""What `init --method` takes."""
TUNED, UNTUNED = "generalize,noisy_counts,frapp", "mondrian,hilbert,anatomy,slicing,sdgs"
"""What `compare --methods` is given."""
PEOPLE_ROWS, VISITS_ROWS = 2400, 1500
OUTPUT = "out.duckdb"
KEYED = frozenset({"anatomy", "slicing", "sdgs", "bag", "distinct", "slots", "frapp"})
"""The kinds that randomize, and take a key."""


def _draw(purpose: str) -> str:
    """SQL for a whole number below 2^32 that the row and the purpose decide."""
    return f"CAST('0x' || substr(md5(CAST(i AS VARCHAR) || '|{purpose}'), 1, 8) AS BIGINT)"


def _one_of(purpose: str, values: str, count: int) -> str:
    return f"[{values}][1 + {_draw(purpose)} % {count}]"


PEOPLE = f"""
CREATE TABLE people AS SELECT i AS visit, CASE WHEN {_draw("again")} % 7 = 0 AND i > 0 THEN i - 1 ELSE i END AS pid,
  CAST(20 + least({_draw("age")} % 10, {_draw("age2")} % 12) AS INTEGER) AS age,
  {_one_of("nation", "'AT', 'AT', 'AT', 'DE', 'DE', 'US', NULL", 7)} AS nationality,
  CAST({_one_of("score", "81, 84, 87, 90, 90", 5)} AS INTEGER) AS score,
  {_one_of("born", "DATE '1990-01-01', DATE '1990-06-15', DATE '1991-06-30', DATE '2001-12-31'", 4)} AS born,
  {_one_of("member", "true, true, false, NULL", 4)} AS member,
  CAST(13000 + ({_draw("zip")} % 6) * 100 + ({_draw("zip2")} % 5) AS VARCHAR) AS zip,
  {_one_of("sex", "'F', 'F', 'F', 'M', 'M', 'M', 'X'", 7)} AS sex,
  'ill ' || least({_draw("ill")} % 8, ({_draw("ill2")} + age) % 9) AS ill,
  CAST(1 + least({_draw("days")} % 40, {_draw("days2")} % 30) AS INTEGER) AS days
FROM range({PEOPLE_ROWS}) AS r(i);
CREATE TABLE kinds AS FROM (VALUES ('ill 0', 'mild', '*'), ('ill 1', 'mild', '*'), ('ill 2', 'mild', '*'),
  ('ill 3', 'grave', '*'), ('ill 4', 'grave', '*'), ('ill 5', 'grave', '*'), ('ill 6', 'rare', '*'),
  ('ill 7', 'rare', '*')) AS v(ill, kind, top);
CREATE TABLE town AS SELECT age, sex, zip FROM people UNION ALL
  SELECT CAST(20 + i % 10 AS INTEGER), ['F', 'M', 'X'][1 + i % 3], CAST(13000 + (i % 6) * 100 + i % 5 AS VARCHAR)
  FROM range(3000) AS r(i);
"""
VISITS = f"""
CREATE TABLE visits AS SELECT i AS visit, {_one_of("region", "'north', 'north', 'south', 'east', NULL", 5)} AS region,
  {_one_of("product", "'a', 'a', 'b', 'c'", 4)} AS product,
  CAST({_one_of("amount", "5, 10, 10, 20, 30, 50", 6)} AS INTEGER) AS amount,
  CAST({_one_of("quantity", "1, 1, 2, 4", 4)} AS INTEGER) AS quantity,
  {
    _one_of(
        "day",
        "DATE '2023-11-30', DATE '2024-01-01', DATE '2024-01-31', DATE '2024-02-29', DATE '2024-05-05', "
        "DATE '2024-12-31'",
        6,
    )
} AS day, {_draw("paid")} % 3 > 0 AS paid FROM range({VISITS_ROWS}) AS r(i);
"""
CLUB = """
CREATE TABLE people AS SELECT i AS ssn, CASE WHEN i % 17 > 0 THEN CAST((i * 37 + i // 3) % 80 AS INTEGER) END AS age,
  ['Rome', 'Bari', 'Oslo', 'Bergen', NULL][1 + i % 5] AS city, ['M', 'F'][1 + i % 2] AS sex,
  'ill' || (i * 7 + i // 5) % 4 AS ill, i % 7 AS ward FROM range(160) AS r(i);
CREATE TABLE book AS SELECT 2026 - coalesce(age, 33) AS birth, coalesce(city, 'Turin') AS city, sex
  FROM people, range(3) UNION ALL SELECT 1980, 'south', NULL UNION ALL SELECT NULL, '*', 'F';
CREATE TABLE residents AS SELECT age, CASE WHEN ssn % 2 = 0 THEN city END AS city, sex FROM people
  UNION ALL SELECT age + 1, city, sex FROM people;
CREATE TABLE members AS SELECT age, city, sex FROM people WHERE ssn % 3 > 0;
CREATE TABLE minds AS SELECT ssn AS who, a AS attribute, CAST(1 + (ssn + length(a)) % 3 AS DOUBLE) / 4 AS weight
  FROM people, (VALUES ('age'), ('city'), ('sex'), ('ill')) AS v(a);
CREATE TABLE ill_weights AS FROM (VALUES ('ill0', 0.5), ('ill1', 1.0), ('ill2', 2.0), ('ill3', 4.0)) AS v(value, w);
"""
"""A smaller table to disclose, what attackers may hold of its people, and what they mind."""
PUBLIC_TABLES = {
    "people": {
        "regions": "SELECT * FROM (VALUES ('AT', 'Europe', 1.5::DOUBLE), ('DE', 'Europe', 2.0), "
        "('US', 'America', NULL), ('CA', 'America', 1.0)) AS v(country, continent, weight)",
        "nations": "SELECT * FROM (VALUES ('AT', 'a', 21), ('AT', 'b', 27), ('US', 'c', 0), (NULL, 'd', 1)) "
        "AS v(nationality, label, weight)",
        "nothing": "SELECT 'AT' AS nationality, 1 AS x WHERE false",
        'o"dd': "SELECT * FROM (VALUES (20, 'x'), (20, 'x'), (24, NULL), (NULL, 'y')) AS v(age, \"a \"\"b\")",
    },
    "visits": {
        "regions": "SELECT * FROM (VALUES ('north', 'Europe'), ('south', 'Africa'), ('east', 'Asia'), "
        "('west', 'Europe')) AS v(region, continent)",
    },
    "club": {},
}
"""By table: what queries may join, each written as a Parquet file beside the policy (`file_of`)."""
TABLES = {"people": PEOPLE, "visits": VISITS, "club": CLUB}


def file_of(name: str) -> str:
    """The file of a public table."""
    return "".join(c for c in name if c.isalnum()) + ".parquet"


ILLS = "[" + ", ".join(f'"ill {i}"' for i in range(8)) + "]"
SHARES = "[30, 20, 15, 12, 9, 7, 4, 3]"
BORN = '["1990-01-01", "1990-06-15", "1991-06-30", "2001-12-31"]'
DAYS = '["2023-11-30", "2024-01-01", "2024-01-31", "2024-02-29", "2024-05-05", "2024-12-31"]'
DROP, IDENTIFIER, PERSON, OTHER = (f'{{ role = "{name}" }}' for name in ("drop", "identifier", "person", "other"))


def _role(name: str, **keys: str) -> str:
    return "{ " + ", ".join([f'role = "{name}"', *(f"{key} = {value}" for key, value in keys.items())]) + " }"


def _qi(hierarchy: str | None = None, **keys: str) -> str:
    return _role("quasi-identifier", **({"hierarchy": f'"{hierarchy}"'} if hierarchy else {}), **keys)


LABELLED = {
    "visit": IDENTIFIER,
    "pid": DROP,
    "age": _qi("ranges:5,10@20"),
    "nationality": _qi("suppression"),
    "score": OTHER,
    "born": _qi("dates:year,decade"),
    "member": OTHER,
    "zip": _qi("mask:5"),
    "sex": _qi("suppression"),
    "ill": _role("sensitive"),
    "days": DROP,
}
"""For the methods that publish labels."""
FEW = LABELLED | {"born": DROP, "nationality": DROP}
WITH_DOMAINS = LABELLED | {
    "age": _qi("ranges:5,10@20", domain='"range:20..29"'),
    "nationality": _qi("suppression", domain='["AT", "DE", "US"]', null="true"),
    "born": _qi("dates:year,decade", domain=BORN),
    "sex": _qi("suppression", domain='["F", "M", "X"]', share="[45, 45, 10]"),
    "zip": DROP,
    "ill": _role("sensitive", domain=ILLS, share=SHARES),
}
APART = LABELLED | {name: _qi() for name in ("age", "nationality", "born", "zip", "sex")}
NOISY = {
    "visit": IDENTIFIER,
    "pid": DROP,
    "age": _role("published", domain='"range:20..29"'),
    "nationality": _role("published", domain='["AT", "DE", "US"]', null="true"),
    "score": _role("published", domain="[81, 84, 87, 90]"),
    "born": _role("published", domain=BORN),
    "member": _role("published", domain="[true, false]", null="true"),
    "zip": DROP,
    "sex": DROP,
    "ill": DROP,
    "days": DROP,
}
"""The columns of the queries, for the methods that make noise."""
NO_BORN = NOISY | {"born": DROP, "member": DROP}
LINKED = NOISY | {
    "age": _qi(domain='"range:20..29"'),
    "nationality": _qi(domain='["AT", "DE", "US"]', null="true"),
    "score": DROP,
    "born": DROP,
    "member": DROP,
    "sex": _qi(domain='["F", "M", "X"]'),
    "ill": _role("sensitive", domain=ILLS),
}
BY_SHARES = LINKED | {"ill": _role("sensitive", domain=ILLS, share=SHARES)}
LEVELS = LINKED | {
    "nationality": _qi(domain='["AT", "DE"]', null="true", outside='"other"'),
    "days": _qi("ranges:5,10", domain='"range:1..20"', outside='"drop"', level="1"),
}
DATES = LINKED | {"born": _qi("dates:year", domain='"range:1990-01-01..2001-12-31"', level="1"), "age": DROP}
SAMPLED = FEW | {
    "score": DROP,
    "member": DROP,
    "age": _qi("ranges:5,10@20", domain='"range:20..29"'),
    "sex": _qi("suppression", domain='["F", "M", "X"]'),
    "ill": _role("sensitive", domain=ILLS),
}
VISITED = {
    "visit": IDENTIFIER,
    "region": _role("published", domain='["north", "south", "east"]', null="true"),
    "product": _role("published", domain='["a", "b", "c"]'),
    "amount": _role("published", domain="[5, 10, 20, 30, 50]"),
    "quantity": _role("published", domain="[1, 2, 4]"),
    "day": _role("published", domain=DAYS),
    "paid": _role("published", domain="[true, false]"),
}
VISITED_LABELS = {
    "visit": IDENTIFIER,
    "region": _qi("suppression", domain='["north", "south", "east"]', null="true"),
    "product": _qi("suppression", domain='["a", "b", "c"]'),
    "amount": OTHER,
    "quantity": OTHER,
    "day": _qi("dates:month,quarter,year", domain=DAYS),
    "paid": _role("sensitive", domain="[true, false]"),
}
NORTH = "CASE WHEN city IN ('Oslo', 'Bergen') THEN 'north' WHEN city IS NOT NULL THEN 'south' END"
CITIES = '["Rome", "Bari", "Oslo", "Bergen", "Turin"]'
DISCLOSED = {
    "ssn": IDENTIFIER,
    "age": _qi("ranges:5,20", weight="0.5", domain='"range:0..99"', null="true", entry='"2026 - birth"'),
    "city": _role("quasi-identifier", hierarchy=f'["{NORTH}"]', weight="0.3", domain=CITIES, null="true"),
    "sex": _qi(weight="0.1", domain='["M", "F"]'),
    "ill": _role("sensitive", weight="2", domain='["ill0", "ill1", "ill2", "ill3"]'),
    "ward": OTHER,
}
SAME_NAMES = DISCLOSED | {"age": _qi("ranges:5,20", weight="0.5", domain='"range:0..99"', null="true")}
PERSONAL = {
    "ssn": PERSON,
    "age": _qi("ranges:5,20", domain='"range:0..99"', null="true", entry='"2026 - birth"'),
    "city": _role("quasi-identifier", hierarchy=f'["{NORTH}"]', domain=CITIES, null="true"),
    "sex": _qi(domain='["M", "F"]'),
    "ill": _role("sensitive", domain='["ill0", "ill1", "ill2", "ill3"]'),
    "ward": OTHER,
}
WORKLOAD = """SELECT count(*) FROM people WHERE age < 24;
SELECT count(*) FROM people WHERE sex = 'F' AND age BETWEEN 22 AND 26;
SELECT ill, count(*) FROM people WHERE zip LIKE '130%' GROUP BY ill;
SELECT sex, count(*) FROM people GROUP BY sex;
"""
UNCOVERED = 'uncovered = "a table of people who do not exist"'


@dataclass(frozen=True)
class Policy:
    """A policy of the guard, and what is recorded of it."""

    name: str
    kind: str
    columns: Mapping[str, str]
    release: str = ""
    require: str = ""
    more: str = ""
    """Further sections."""
    table: str = "people"
    changes: tuple[str, ...] = ("",)
    """SQL that changes the private table before each release; for a sequence, one for each of its views."""
    publish: tuple[str, ...] = ()
    """Further options of publish."""
    corpora: tuple[str, ...] = ()
    """Of `rewrite`, `bi` and `refuse` those that are asked as a whole; else a selection is."""
    commands: tuple[str, ...] = ()
    """Of `compare`, `report` and `query` those that are run, too."""
    public: bool = field(default=False)
    """Whether the policy names the public tables itself."""

    @property
    def source(self) -> str:
        """What the private table is called."""
        return "visits" if self.table == "visits" else "people"

    def text(self) -> str:
        """The policy file."""
        listed = "\n".join(f"{name} = {given}" for name, given in self.columns.items())
        require = f"[require]\n{self.require}\n" if self.require else ""
        tables = PUBLIC_TABLES[self.table] if self.public else {}
        names = {name: '"' + name.replace('"', '\\"') + '"' for name in tables}
        public = "".join(f'{names[name]} = "{file_of(name)}"\n' for name in tables)
        return (
            f'[table]\ndatabase = "private.duckdb"\nsource = "{self.source}"\n[columns]\n{listed}\n{require}'
            f"{'[public]' if public else ''}\n{public}{self.more}\n"
            f'[release]\noutput = "{OUTPUT}"\n{KINDS[self.kind]}\n{self.release}\n'
        )


AUTO_VIEWS = '[views]\nauto = true\nby_ill = "SELECT ill, count(*) AS n FROM people GROUP BY ill"\n'
EPSILON = 'epsilon = { column = "ill", adversary = "class1", sigma = 1e4, shape = "uniform", b = 0, at_most = 3 }'
SEQUENCE = f'd = 0.001\ngamma = 0.2\nadversary = "independent"\n{UNCOVERED}'
POLICIES = (
    # Labels from a lattice
    Policy("generalize-suppression", "generalize", LABELLED, "suppression = 0.05", "k = 5\ndistinct_l = { ill = 2 }",
           commands=("report", "query")),
    Policy("generalize-keep", "generalize", FEW, "suppression = 0.1\nkeep_suppressed = true", "k = 6"),
    Policy("generalize-node", "generalize", LABELLED,
           "node = { age = 2, nationality = 1, born = 3, zip = 2, sex = 1 }", "k = 3"),
    Policy("generalize-workload", "generalize", FEW, 'objective = "workload:queries.sql"', "k = 8"),
    Policy("generalize-entropy", "generalize", FEW, 'objective = "entropy"\nsuppression = 0.02',
           "k = 4\nentropy_l = { ill = 2.5 }\nrecursive = { ill = { c = 4, l = 2 } }"),
    Policy("generalize-t", "generalize", FEW, 'objective = "discernibility"',
           't = { ill = 0.4 }\nt_hierarchical = { ill = { hierarchy = "table:kinds", at_most = 0.4 } }'),
    Policy("generalize-persons", "generalize", FEW | {"pid": PERSON}, "suppression = 0.03",
           "k = 5\ndistinct_l = { ill = 2 }"),
    Policy("generalize-epsilon", "generalize", FEW, "", EPSILON),
    Policy("generalize-population", "generalize", FEW, 'objective = "height"',
           'k_map = { population = "table:town", at_least = 4 }\nprosecutor = 0.34'),
    Policy("generalize-domains", "generalize", WITH_DOMAINS, "suppression = 0.02", "k = 5\ndistinct_l = { ill = 2 }",
           more=AUTO_VIEWS, corpora=("rewrite",)),
    # Labels from boxes
    Policy("mondrian-data", "mondrian", LABELLED, "", "k = 6\ndistinct_l = { ill = 2 }"),
    Policy("mondrian-public", "mondrian", WITH_DOMAINS, 'cuts = "public"', "k = 6", corpora=("rewrite",)),
    Policy("mondrian-persons", "mondrian", FEW | {"pid": PERSON}, "", "k = 5\nentropy_l = { ill = 2 }"),
    Policy("hilbert-data", "hilbert", LABELLED, "", "k = 6\ndistinct_l = { ill = 2 }"),
    Policy("hilbert-public", "hilbert", WITH_DOMAINS, 'cuts = "public"', "k = 8"),
    # Columns apart
    Policy("anatomy", "anatomy", APART, "", "distinct_l = { ill = 3 }"),
    Policy("anatomy-domains", "anatomy", WITH_DOMAINS, "", "distinct_l = { ill = 3 }"),
    Policy("slicing-groups", "slicing", APART,
           'groups = [["age", "nationality", "born"], ["zip", "sex"], ["ill", "score", "member"]]\nbucket = 8',
           "distinct_l = { ill = 2 }"),
    Policy("slicing-correlated", "slicing", APART, "bucket = 12"),
    # Samples
    Policy("sdgs-node", "sdgs", SAMPLED,
           'epsilon = 1.0\nk = 5\nbeta = 0.2\nnode = { age = 2, zip = 4, sex = 0 }\nnode_is_public = "made up"'),
    Policy("sdgs-nodes", "sdgs", SAMPLED,
           'epsilon = 1.0\nk = 5\nbeta = 0.2\nnodes = [{ age = 1, zip = 3, sex = 0 }, { age = 2, zip = 4, sex = 0 }, '
           '{ age = 2, zip = 5, sex = 0 }]\nnode_epsilon = 0.5\nnode_is_public = "made up"\nn_public = 2500'),
    Policy("sdgs-person", "sdgs", SAMPLED | {"pid": PERSON},
           'epsilon = 1.5\nk = 4\nbeta = 0.3\nrows_each = 2\nnode = { age = 2, zip = 5, sex = 0 }'),
    Policy("sdgs-groups", "sdgs", SAMPLED,
           'epsilon = 1.0\nk = 5\nbeta = 0.2\ngroups = [["age", "sex"], ["zip", "ill"]]\n'
           'node = { age = 1, zip = 3, sex = 0 }'),
    # Noise
    Policy("bag-one-sided", "bag", NOISY, f"d = 0.05\ngamma = 0.4\np = 0.3\nn_public = 2400\n{UNCOVERED}",
           public=True, corpora=("rewrite", "refuse"), publish=("--force",), commands=("query",)),
    Policy("bag-signed", "bag", NO_BORN, f"d = 0.1\ngamma = 0.4\nn_public = 2400\n{UNCOVERED}", public=True,
           more='[views]\nauto = true\n', publish=("--force",)),
    Policy("bag-attacker", "bag", LINKED, "gamma = 0.6\nn_public = 2400", publish=("--force",), commands=("report",)),
    Policy("bag-shares", "bag", BY_SHARES, "gamma = 0.6\nn_public = 2400", publish=("--force",)),
    Policy("bag-persons", "bag", LINKED | {"pid": PERSON}, "gamma = 0.7\nrows_each = 2\nn_public = 2400",
           publish=("--force",)),
    Policy("bag-levels", "bag", LEVELS, f"gamma = 0.6\ntimes = 1.5\nn_public = 2400\n{UNCOVERED}",
           publish=("--force",)),
    Policy("bag-dates", "bag", DATES, f"gamma = 0.6\nn_public = 2400\n{UNCOVERED}", publish=("--force",)),
    Policy("bag-combinations", "bag", LINKED, f'd = 0.1\ngamma = 0.5\ncombinations = ["pairs"]\n{UNCOVERED}',
           more='[public]\npairs = "pairs.csv"\n', publish=("--force",),
           changes=("UPDATE people SET ill = 'ill 6' WHERE sex = 'X' AND ill = 'ill 7'",)),
    Policy("distinct", "distinct", NOISY, f"d = 0.02\ngamma = 0.3\n{UNCOVERED}", public=True, publish=("--force",)),
    Policy("slots", "slots", NO_BORN, f"k = 0.005\ngamma = 0.3\nslots = 200\n{UNCOVERED}", public=True,
           publish=("--force",)),
    Policy("slots-tight", "slots", NO_BORN,
           f'd = 0.002\ngamma = 0.3\nslots = 200\nadversary = "independent"\nparameters = "tight"\n{UNCOVERED}',
           publish=("--force",)),
    Policy("slots-paper", "slots", NO_BORN,
           f'd = 0.002\ngamma = 0.3\nslots = 200\nadversary = "independent"\nparameters = "paper"\n{UNCOVERED}',
           publish=("--force",)),
    Policy("sequence-distinct", "distinct", NO_BORN, f"{SEQUENCE.replace('0.001', '0.02')}\nviews = 3",
           changes=("", "DELETE FROM people WHERE age > 26 AND score < 87",
                    "UPDATE people SET score = 81 WHERE age = 28; DELETE FROM people WHERE age = 21 AND score = 84"),
           publish=("--force",)),
    Policy("sequence-slots", "slots", NO_BORN, f"{SEQUENCE}\nviews = 2\nslots = 200",
           changes=("", "DELETE FROM people WHERE visit % 6 = 0"), publish=("--force",)),
    Policy("frapp", "frapp", NOISY, f"d = 0.01\ngamma = 0.5\n{UNCOVERED}", public=True, publish=("--force",)),
    Policy("frapp-attacker", "frapp", LINKED, "gamma = 0.7\nn_public = 2400", publish=("--force",)),
    # Disclosure
    Policy("disclose-record", "disclose", DISCLOSED, 'goal = "risk"\nc = 2\ndictionary = "table:book"', table="club",
           commands=("report",)),
    Policy("disclose-average", "disclose", DISCLOSED,
           'goal = "utility"\nc = 0.2\nper = "average"\ndictionary = "table:book"\nform = "multiplicative"',
           table="club"),
    Policy("disclose-dictionaries", "disclose", SAME_NAMES | {
        "ill": _role("sensitive", weight='"table:ill_weights"', domain='["ill0", "ill1", "ill2", "ill3"]')},
           'goal = "both"\nc = 0.05\npsi = 0.1\njudge = "bayes"\n'
           'dictionaries = [{ source = "table:residents", prior = 0.6 }, '
           '{ source = "table:book", prior = 0.4, entries = { age = "2026 - birth" } }]\n'
           'pairs = [{ columns = ["age", "city"], weight = 1 }]', table="club"),
    Policy("disclose-worst", "disclose", SAME_NAMES, 'goal = "risk"\nc = 1\njudge = "worst"\n'
           'dictionaries = [{ source = "table:residents", prior = 0.5 }, '
           '{ source = "table:book", prior = 0.5, entries = { age = "2026 - birth" } }]', table="club"),
    Policy("disclose-personal", "disclose", PERSONAL, 'goal = "risk"\nc = 2\ndictionary = "table:book"\n'
           'personal = { source = "table:minds", total = 4 }', table="club"),
    # The table of the tools' statements
    Policy("visits-bag", "bag", VISITED, f"d = 0.05\ngamma = 0.4\nn_public = 1500\n{UNCOVERED}", table="visits",
           public=True, corpora=("bi",), publish=("--force",)),
    Policy("visits-generalize", "generalize", VISITED_LABELS, "suppression = 0.05", "k = 5", table="visits",
           corpora=("bi",)),
)  # fmt: skip
COMPARED = Policy("compared", "generalize", WITH_DOMAINS | {"score": DROP, "member": DROP}, "suppression = 0.02",
                  "k = 5\ndistinct_l = { ill = 2 }")  # fmt: skip
"""What `compare` is run on."""
REFUSED = (
    Policy("no-node", "generalize", LABELLED, "", "k = 3000"),
    Policy("no-hierarchy", "generalize", LABELLED | {"zip": _qi()}, "", "k = 3"),
    Policy("no-role", "generalize", {n: c for n, c in LABELLED.items() if n != "days"}, "", "k = 3"),
    Policy("not-covered", "bag", LINKED, "d = 0.01\ngamma = 0.6\nn_public = 2400"),
    Policy("outside", "bag", LEVELS | {"days": _qi(domain='"range:1..5"')}, f"gamma = 0.6\n{UNCOVERED}"),
    Policy("too-many-rows", "bag", NOISY, f"d = 0.05\ngamma = 0.06\nmax_rows = 10\n{UNCOVERED}"),
    Policy("says-nothing", "frapp", NOISY, f"d = 0.0001\ngamma = 0.0002\n{UNCOVERED}"),
    Policy("no-gamma", "frapp", NOISY, "d = 0.1"),
    Policy("no-l", "anatomy", APART, "", "k = 3"),
    Policy("three-numbers", "sdgs", SAMPLED, "epsilon = 1.0\nnode = { age = 2, zip = 4, sex = 0 }"),
    Policy("no-dictionary", "disclose", DISCLOSED, 'goal = "risk"\nc = 2\ndictionary = "table:books"', table="club"),
    Policy("unknown-key", "hilbert", LABELLED, "slots = 3", "k = 3"),
)
"""Policies that cannot be published: what plan and publish say of them."""
SELECTION = (
    "SELECT count(*) AS n FROM people",
    "SELECT sum(age) AS s, avg(age) AS a FROM people",
    "SELECT nationality, count(*) AS n, avg(score) AS a FROM people GROUP BY nationality ORDER BY nationality",
    "SELECT age // 4 AS bin, count(*) AS n FROM people GROUP BY bin ORDER BY bin",
    "SELECT count(*) AS n FROM people WHERE age > 24 AND nationality = 'AT'",
    "SELECT count(*) FILTER (WHERE member) AS m, count(*) AS n FROM people",
    "SELECT 100.0 * count(*) FILTER (WHERE age < 23) / count(*) AS pct FROM people",
    "SELECT score, count(*) AS n FROM people WHERE nationality IS NULL GROUP BY score HAVING count(*) > 5 ORDER BY 1",
    "SELECT median(age) AS m, quantile_cont(score, 0.25) AS q FROM people",
    "SELECT var_samp(age) AS v, corr(age, score) AS c FROM people",
    "SELECT min(age) AS lo, max(score) AS hi FROM people",
    "SELECT count(DISTINCT nationality) AS d FROM people",
    "SELECT continent, count(*) AS n, sum(weight * age) AS w FROM people JOIN regions ON nationality = country "
    "GROUP BY continent ORDER BY 1",
    "SELECT count(*) AS n FROM people LEFT JOIN nations USING (nationality) WHERE label IS NULL",
    "SELECT nationality, member, count(*) AS n FROM people GROUP BY ROLLUP (nationality, member) ORDER BY ALL",
    "SELECT year(born) AS y, count(*) AS n FROM people GROUP BY y ORDER BY y",
    "SELECT sum(n) AS n, max(n) AS m FROM (SELECT age, count(*) AS n FROM people GROUP BY age)",
    "WITH old AS (SELECT * FROM people WHERE age >= 25) SELECT avg(score) AS a FROM old",
    "SELECT age, count(*) AS n, sum(count(*)) OVER (ORDER BY age) AS up FROM people GROUP BY age ORDER BY age",
    "SELECT sex, count(*) AS n FROM people GROUP BY sex ORDER BY sex",
    "SELECT ill, count(*) AS n, avg(age) AS a FROM people GROUP BY ill ORDER BY ill",
    "SELECT count(*) AS n FROM people WHERE ill = 'ill 3' AND sex = 'F' AND age < 25",
    "SELECT left(zip, 3) AS z, count(*) AS n FROM people GROUP BY z ORDER BY z",
    "SELECT * FROM people",
    "SELECT days, count(*) AS n FROM people GROUP BY days ORDER BY days",
)
"""What every release of `people` is asked."""
CLUB_SELECTION = (
    "SELECT count(*) AS n FROM people",
    "SELECT city, count(*) AS n FROM people GROUP BY city ORDER BY city",
    "SELECT sex, avg(age) AS a, count(*) AS n FROM people GROUP BY sex ORDER BY sex",
    "SELECT count(*) AS n FROM people WHERE age < 30",
    "SELECT ill, count(*) AS n FROM people WHERE sex = 'M' GROUP BY ill ORDER BY ill",
    "SELECT sum(age) AS s FROM people WHERE city = 'Oslo'",
    "SELECT ward, count(*) AS n FROM people GROUP BY ward ORDER BY ward",
    "SELECT median(age) AS m FROM people",
)
VISITS_SELECTION = ("SELECT region, sum(amount) AS s, avg(quantity) AS q FROM visits GROUP BY region ORDER BY region",)
SELECTIONS = {"people": SELECTION, "club": CLUB_SELECTION, "visits": VISITS_SELECTION}
