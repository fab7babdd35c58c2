"""Every key that a method declares: what it takes, what it refuses, what it is without a word, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import Policy, parse_policy
from sqlpriv.policy.keys import RELEASE_KEYS, TABLE_KEYS, Key, key_table

pytestmark = pytest.mark.one_version

# The smallest policy of each method; a column, a key and a line more are added to it.
COARSE = 'z = { role = "quasi-identifier", hierarchy = "suppression" }\n[require]\nk = 2\n'
APART = 's = { role = "sensitive" }\n[require]\ndistinct_l = { s = 2 }\n'
NOISY = 's = { role = "sensitive", domain = ["a", "b", "c"] }\n[public]\nx = "x.csv"\n'
SAMPLED = 'z = { role = "quasi-identifier", hierarchy = "suppression" }\n'
COLUMNS = {
    "generalize": ('q = { role = "quasi-identifier", hierarchy = "suppression" }', COARSE),
    "mondrian": ('q = { role = "quasi-identifier" }', COARSE),
    "hilbert": ('q = { role = "quasi-identifier" }', COARSE),
    "noisy_counts": ('q = { role = "published", domain = ["a", "b"] }', NOISY),
    "alpha_beta": ('q = { role = "published", domain = ["a", "b"] }', NOISY),
    "frapp": ('q = { role = "published", domain = ["a", "b"] }', NOISY),
    "sdgs": ('q = { role = "quasi-identifier", hierarchy = "suppression" }', SAMPLED),
    "anatomy": ('q = { role = "quasi-identifier" }', f'z = {{ role = "quasi-identifier" }}\n{APART}'),
    "slicing": ('q = { role = "quasi-identifier" }', APART),
    "disclose": ('q = { role = "quasi-identifier", hierarchy = "suppression" }', SAMPLED),
}
NEEDED = {
    "generalize": {},
    "mondrian": {},
    "hilbert": {},
    "noisy_counts": {"gamma": "0.2", "n_public": "100"},
    "alpha_beta": {"gamma": "0.2", "k": "2", "duplicates": '"slots"'},
    "frapp": {"gamma": "0.2", "k": "2"},
    "sdgs": {"epsilon": "1", "delta": "1e-6", "k": "20", "node": "{ q = 0, z = 1 }"},
    "anatomy": {},
    "slicing": {},
    "disclose": {"goal": '"risk"', "c": "1", "dictionary": '"book.csv"'},
}
# What a key takes at its bounds and inside, and what it refuses beyond them, as TOML.
HUGE = f"1{'0' * 400}"
UNIT = (
    ["1", "1.0", "0.5", "1e-300"],
    ["0", "-0.1", "1.0000001", "2", "inf", "-inf", "nan", HUGE, "true", '"0.5"', "[0.5]"],
)
WHOLE = ["0", "-1", "1.5", "inf", "nan", HUGE, "true", '"1"', "[1]"]
FLAGS = (["true", "false"], ["0", "1", '"true"', "[]", "{}"])
TEXTS = (['"x"', '"a b.duckdb"'], ['""', '" "', "5", "true", '["x"]', "{}"])
HIERARCHIES = (['"mask:5"', '["left(q, 1)"]', '["a", "b"]'], ['""', '" "', "5", "true", "[]", "[5]", '[""]', "{}"])
TAKEN: dict[str, tuple[list[str], list[str]]] = {
    "output": TEXTS,
    "coexists_because": TEXTS,
    "settled_beforehand": TEXTS,
    "others_unknown": TEXTS,
    "accept": TEXTS,
    "objective": (['"loss"', '"height"', '"precision"', '"discernibility"', '"average_class_size"', '"kl"', '"entropy"',
                   '"workload:w.sql"'], ['"beauty"', '"workload:"', '""', "5", "true", '["loss"]']),
    "suppression": (["0", "0.0", "0.5", "0.999"], ["1", "1.0", "-0.1", "inf", "nan", HUGE, "true", '"0.1"', "[0.1]"]),
    "keep_suppressed": FLAGS,
    "groups": (['[["q"], ["s"]]', '[["S"], ["Q"]]'],
               ["[]", '[["q", "s"]]', '[["q"], []]', '[["q"], "s"]', '[["q"], [1]]', '[["q"], [""]]', '"q"', "5"]),
    "bucket": (["2", "10", "1000000000", "7.0"], [*WHOLE, "1", "1000000001"]),
    "node": (["{ q = 0, z = 1 }", "{ Z = 0, Q = 7 }", "{ q = 1000, z = 1 }"],
             ["{}", "{ q = -1 }", "{ q = 1001 }", "{ q = 1.0 }", "{ q = true }", '{ q = "1" }', '"q=1"', "1", "[1]"]),
    "cuts": (['"data"', '"public"'], ['"nowhere"', '""', "1", "true", '["data"]']),
    "strict": (["true"], ["false", "1", '"true"', "[]"]),
    "hierarchy": HIERARCHIES,
    "importance": (["1", "0.5", "1000000"], ["0", "-1", "1000000.1", "inf", "nan", HUGE, "true", '"1"', "[1]"]),
    "max_level": (["0", "1", "1000"], ["-1", "1001", "1.5", "inf", "nan", "true", '"1"', "[1]"]),
    "gamma": UNIT,
    "d": UNIT,
    "k": (["1", "2.5", "1e18"], ["0", "-1", "1.1e18", "inf", "nan", HUGE, "true", '"2"', "[2]"]),
    "n_public": (["1", "1000000", "1000000000000000", "7.0"], [*WHOLE, "1000000000000001"]),
    "adversary": (['"exclusive"', '"independent"'], ['"nosy"', '""', "1", "true", '["exclusive"]']),
    "parameters": (['"default"', '"paper"', '"tight"'], ['"best"', '""', "1", "false", '["paper"]']),
    "alpha": UNIT,
    "beta": UNIT,
    "p": UNIT,
    "attacker": (['"linking"'], ['"nosy"', '""', "1", "true", '["linking"]']),
    "times": (["1", "2", "1.5", "1000000"], ["0", "0.999", "-1", "1000001", "inf", "nan", HUGE, "true", '"2"', "[2]"]),
    "combinations": (["[]", '["x"]'], ['"x"', '[""]', "[5]", "true", "{}"]),
    "uncovered": TEXTS,
    "pseudonym": FLAGS,
    "rows_without_person": (['"refuse"'], ['"keep"', '""', "1", "true", '["drop"]']),
    "max_rows": (["1", "50000000", "1000000000000000"], [*WHOLE, "1000000000000001"]),
    "rows_each": (["1", "3", "1000"], [*WHOLE, "1001"]),
    "duplicates": (['"slots"', '"distinct"'], ['"twice"', '""', "1", "true", '["slots"]']),
    "slots": (["1", "50", "1000000", "3.0"], [*WHOLE, "1000001"]),
    "views": (["1", "2", "1000"], [*WHOLE, "1001"]),
    "earlier": (["[]", '["a.duckdb"]', '["a.duckdb", "b.duckdb"]'], ['"a.duckdb"', '[""]', "[5]", "true", "{}"]),
    "domain": (['["a"]', "[1, 2]", "[1.5]", "[true]", "[2024-01-31]", '"range:1..5"', '"active"', '"table:t.c"'],
               ['""', '" "', "[]", "5", "true", "{}", "[[1]]", "[{}]"]),
    "null": FLAGS,
    "outside": (['"refuse"', '"drop"', '"other"'], ['"keep"', '""', "true", '["drop"]']),
    "share": (["[1, 3]", "[0.5, 0.5]"], ["[]", "[0, 1]", "[-1, 2]", "[inf, 1]", "[nan, 1]", f"[{HUGE}, 1]", "[true, 1]",
              '["a", 1]', '""', '" "', "5", "true", "{}"]),
    "level": (["1", "2", "99", "2.0"], [*WHOLE, "100"]),
    "epsilon": (["1", "0.5", "1000"], ["0", "-1", "1000.1", "inf", "nan", HUGE, "true", '"1"', "[1]"]),
    "delta": UNIT,
    "node_is_public": TEXTS,
    "nodes": (["[{ q = 0, z = 0 }, { q = 1, z = 1 }]"],
              ["[]", "[{ q = 0, z = 0 }]", "{ q = 0, z = 0 }", '"q=0"', "1", "[1, 2]", "[{ q = -1 }, { q = 0 }]"]),
    "goal": (['"risk"', '"utility"', '"both"'], ['"least"', '""', "1", "true", '["risk"]']),
    "c": (["0", "0.0", "2.5", "1e300"], ["-1", "1.1e300", "inf", "nan", HUGE, "true", '"2"', "[2]"]),
    "psi": (["0", "0.0", "2.5", "1e300"], ["-1", "1.1e300", "inf", "nan", HUGE, "true", '"2"', "[2]"]),
    "independent": FLAGS,
    "per": (['"record"', '"average"'], ['"row"', '""', "1", "true", '["record"]']),
    "form": (['"linear"', '"multiplicative"'], ['"cubic"', '""', "1", "true", '["linear"]']),
    "dictionary": TEXTS,
    "dictionaries": (['[{ source = "a.csv" }, { source = "table:b" }]',
                      '[{ source = "a", prior = 0.3 }, { source = "b", prior = 0.7, entries = { Q = "x + 1" } }]'],
                     ["[]", '[{ source = "a", prior = 1 }]', '["a", "b"]', '[{ source = "a" }, { source = "" }]',
                      '[{ source = "a" }, { prior = 1 }]', '[{ source = "a" }, { source = "b", prior = 0 }]',
                      '[{ source = "a" }, { source = "b", prior = 1.1 }]',
                      '[{ source = "a" }, { source = "b", p = 1 }]',
                      '[{ source = "a" }, { source = "b", entries = "q" }]', '"a"', "{}", "5", "true"]),
    "judge": (['"bayes"', '"worst"'], ['"mean"', '""', "1", "true", '["worst"]']),
    "pairs": (['[{ columns = ["q", "z"], weight = 2 }]', '[{ columns = ["Z", "Q"] }]',
               '[{ columns = ["q", "z"], weight = inf }]'],
              ["[]", "{}", '"q"', "5", "true", '[{ columns = ["q"] }]',
               '[{ columns = "q z" }]', "[{ weight = 2 }]", '[{ columns = ["q", ""] }]', '[["q", "z"]]',
               '[{ columns = ["q", "z"], weight = -1 }]', '[{ columns = ["q", "z"], weight = nan }]',
               '[{ columns = ["q", "z"], wieght = 2 }]']),
    "personal": (['{ source = "minds.csv", total = 4 }', '{ source = "table:minds", total = inf }'],
                 ["{}", '"minds.csv"', "5", "true", "[]", '{ source = "minds.csv" }', "{ total = 4 }",
                  '{ source = "", total = 4 }', '{ source = "m", total = -1 }', '{ source = "m", total = nan }',
                  '{ source = "m", total = "all" }', '{ source = "m", total = 4, most = 5 }']),
    "weight": (["0", "0.0", "2.5", "1e300", "inf", '"infinity"', '"w.csv"', '"table:w"'],
               ["-1", "-0.1", "1.1e300", "-inf", "nan", HUGE, "true", '""', '" "', "[1]", "{}"]),
    "entry": TEXTS,
    "node_epsilon": (["0.1", "1000"], ["0", "-1", "1000.1", "inf", "nan", HUGE, "true", '"1"', "[1]"]),
}  # fmt: skip
# Where a method takes something else by the same name.
OWN = {
    ("sdgs", "k"): (["1", "20", "1000000", "3.0"], [*WHOLE, "2.5", "1000001"]),
    ("sdgs", "groups"): (['[["q"], ["z"]]', '[["Z"], ["Q"]]'], TAKEN["groups"][1]),
    ("sdgs", "beta"): (["0.5", "0.999", "1e-300"], ["1", "1.0", *UNIT[1]]),
}
# What goes with a key, so that the policy as a whole makes sense.
WITH = {
    "independent": {"form": '"multiplicative"'},
    "dictionaries": {"dictionary": None},
    "judge": {"dictionary": None, "dictionaries": TAKEN["dictionaries"][0][1]},
    "d": {"k": None},
    "alpha": {"beta": "0.1"},
    "beta": {"alpha": "0.1"},
    "parameters": {"adversary": '"independent"'},
    "views": {"adversary": '"independent"'},
    "earlier": {"views": "3", "adversary": '"independent"'},
}
OWN_WITH: dict[tuple[str, str], dict[str, str | None]] = {
    ("sdgs", "beta"): {"k": None},
    ("sdgs", "nodes"): {"node": None, "node_epsilon": "0.1"},
    ("sdgs", "node_epsilon"): {"node": None, "nodes": "[{ q = 0, z = 0 }, { q = 1, z = 1 }]"},
    ("sdgs", "rows_each"): {},
}


def taken(method: str, key: Key) -> tuple[list[str], list[str]]:
    """What a key of a method takes, and what it refuses."""
    return OWN.get((method, key.name), TAKEN[key.name])


def text_of(method: str, release: dict[str, str | None], column: str = "") -> str:
    """A policy with these keys in [release], and this in the place of its column."""
    own, require = COLUMNS[method]
    if method == "anatomy" and '"sensitive"' in column:  # which hides one column
        require = require.replace(APART, "[require]\ndistinct_l = { q = 2 }\n")
    given = {"method": f'"{method}"'} | NEEDED[method] | release
    listed = "\n".join(f"{name} = {value}" for name, value in given.items() if value is not None)
    return f'[table]\nsource = "people.csv"\n[columns]\n{column or own}\n{require}[release]\n{listed}\n'


def read(text: str) -> Policy:
    return parse_policy(text, Path(), METHODS, "policy.toml")


def refused(text: str) -> str:
    with pytest.raises(PolicyError) as error:
        read(text)
    return str(error.value)


def line_of(text: str, start: str) -> int:
    """The last line that starts so."""
    return max(i for i, line in enumerate(text.split("\n"), 1) if line.startswith(start))


def options() -> Iterator[Any]:
    for method in METHODS.values():
        for key in (*RELEASE_KEYS, *method.options):
            yield pytest.param(method.name, key, id=f"{method.name}-{key.name}")


def column_keys() -> Iterator[Any]:
    for method in METHODS.values():
        for role, keys in method.roles.items():
            for key in keys:
                yield pytest.param(method.name, role, key, id=f"{method.name}-{role}-{key.name}")


def column_of(role: str, key: Key, value: str) -> str:
    """A column with the key, and what its role needs beside it."""
    needed = {} if role == "person" else {"domain": '["a", "b"]'}
    needed |= {"hierarchy": '"mask:3"'} if role == "quasi-identifier" else {}
    given = {"role": f'"{role}"'} | needed
    if key.name == "level":
        given["hierarchy"] = '"mask:3"'
    listed = ", ".join(f"{name} = {shown}" for name, shown in (given | {key.name: value}).items())
    return f"q = {{ {listed} }}"


def node_for(method: str, role: str) -> dict[str, str | None]:
    """The node that goes with a column of a role."""
    return {"node": "{ z = 1 }"} if method == "sdgs" and role != "quasi-identifier" else {}


def release_for(method: str, role: str, key: Key) -> dict[str, str | None]:
    if method == "sdgs":
        return node_for(method, role)
    return {"adversary": '"independent"'} if key.name == "share" and method == "alpha_beta" else {}


# --- the keys of [release] ----------------------------------------------------------------------


@pytest.mark.parametrize(("method", "key"), list(options()))
def test_an_option_takes_what_is_inside_its_bounds(method: str, key: Key) -> None:
    for value in taken(method, key)[0]:
        beside = {} if method == "frapp" and key.name != "d" else dict(WITH.get(key.name, {}))
        beside = OWN_WITH.get((method, key.name), {} if method == "sdgs" else beside)
        own = COLUMNS[method][0] + ('\nw = { role = "person" }' if key.name in {"rows_each", "personal"} else "")
        policy = read(text_of(method, {**beside, key.name: value}, own))
        assert policy.release[key.name] is not None
        assert key.name in policy.written


@pytest.mark.parametrize(("method", "key"), list(options()))
def test_an_option_refuses_what_is_beyond_its_bounds(method: str, key: Key) -> None:
    for value in taken(method, key)[1]:
        text = text_of(method, {key.name: value})
        message = refused(text)
        assert message.startswith(f"policy.toml, line {line_of(text, f'{key.name} = ')}: {key.name} "), value
        assert (key.complaint or f"{key.name} must be {key.kind.words}") in message


@pytest.mark.parametrize(("method", "key"), list(options()))
def test_an_option_has_its_default(method: str, key: Key) -> None:
    text = text_of(method, {})
    if key.required:
        message = refused(text_of(method, {key.name: None}))
        assert message == f"policy.toml, line {line_of(text, '[release]')}: {key.complain('release')}"
    elif key.name not in NEEDED[method]:
        policy = read(text)
        assert policy.release[key.name] == key.default
        assert key.name not in policy.written


@pytest.mark.parametrize(("method", "key"), list(options()))
def test_an_option_of_another_method_says_whose_it_is(method: str, key: Key) -> None:
    for other in METHODS.values():
        if key.name in {k.name for k in (*RELEASE_KEYS, *other.options)}:
            continue
        text = text_of(other.name, {key.name: TAKEN[key.name][0][0]})
        message = refused(text)
        assert message.startswith(f"policy.toml, line {line_of(text, f'{key.name} = ')}: key {key.name!r} is for ")
        assert method in message.partition(";")[0].partition(" is for ")[2].split(", ")
        assert message.endswith(
            f"; here are {', '.join(['method', *(k.name for k in (*RELEASE_KEYS, *other.options))])}"
        )


@pytest.mark.parametrize("method", METHODS)
def test_an_option_that_nobody_knows(method: str) -> None:
    text = text_of(method, {"gama": "0.2"})
    assert f"line {line_of(text, 'gama')}: unknown key 'gama'; there are method, output, coexists_because" in refused(
        text
    )


# --- the keys of columns ------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "role", "key"), list(column_keys()))
def test_a_key_of_a_column_takes_what_is_inside_its_bounds(method: str, role: str, key: Key) -> None:
    for value in TAKEN[key.name][0]:
        if (method, value) == ("frapp", '"drop"'):
            continue  # its own message says why not
        if (method, value) == ("alpha_beta", '"drop"'):
            assert "line 4: alpha_beta with rows dropped by 'q' needs n_public" in refused(
                text_of(method, {}, column_of(role, key, value))
            )
            continue
        if (method, value) == ("noisy_counts", '"active"'):
            assert "line 4: noisy counts need public domains" in refused(
                text_of(method, {}, column_of(role, key, value))
            )
            continue
        if key.name == "share" and method == "noisy_counts" and role != "sensitive":
            assert "line 4: noise cannot follow the shares of 'q', which is not sensitive" in refused(
                text_of(method, {}, column_of(role, key, value))
            )
            continue
        if key.name == "share" and method == "frapp":
            assert "line 4: noise that follows shares is for noisy_counts and one view of alpha_beta" in refused(
                text_of(method, {}, column_of(role, key, value))
            )
            continue
        policy = read(text_of(method, release_for(method, role, key), column_of(role, key, value)))
        assert policy.columns[0].given[key.name] is not None


@pytest.mark.parametrize(("method", "role", "key"), list(column_keys()))
def test_a_key_of_a_column_refuses_what_is_beyond_its_bounds(method: str, role: str, key: Key) -> None:
    for value in TAKEN[key.name][1]:
        message = refused(text_of(method, release_for(method, role, key), column_of(role, key, value)))
        assert message == f"policy.toml, line 4: {key.complain('columns', 'q')}", value
        assert key.name in message
        long = f'[columns.q]\nrole = "{role}"\n{key.name} = {value}\n'
        if key.required and role in {"published", "quasi-identifier"}:
            table, _, rest = text_of(method, {}).partition(f"[columns]\n{COLUMNS[method][0]}\n")
            text = f"{table}[columns]\n{rest}{long}"
            assert f"line {line_of(text, f'{key.name} = ')}: " in refused(text)


@pytest.mark.parametrize(("method", "role", "key"), list(column_keys()))
def test_a_key_of_a_column_has_its_default(method: str, role: str, key: Key) -> None:
    if key.required:
        message = refused(text_of(method, {}, f'q = {{ role = "{role}" }}'))
        assert message == f"policy.toml, line 4: {key.complain('columns', 'q')}"
    else:
        must = [k.name for k in METHODS[method].roles[role] if k.required]
        needed = {"hierarchy": ', hierarchy = "mask:3"', "domain": ', domain = ["a"]'}.get("".join(must), "")
        policy = read(text_of(method, node_for(method, role), f'q = {{ role = "{role}"{needed} }}'))
        assert policy.columns[0].given[key.name] == key.default


@pytest.mark.some(60)
@pytest.mark.parametrize(("method", "role", "key"), list(column_keys()))
def test_a_key_of_a_column_belongs_to_its_role(method: str, role: str, key: Key) -> None:
    for other in METHODS.values():
        for its_role, keys in other.roles.items():
            if key.name in {k.name for k in keys}:
                continue
            value = TAKEN[key.name][0][0]
            column = f'x = {{ role = "{its_role}", {key.name} = {value} }}\n{COLUMNS[other.name][0]}'
            message = refused(text_of(other.name, {}, column))
            having = [r for r, known in other.roles.items() if key.name in {k.name for k in known}]
            if having:
                assert f"line 4: 'x' is {its_role}; only " in message
                assert message.endswith(f" columns have a {key.name}")
                assert all(r in message for r in having)
            else:
                assert f"line 4: key {key.name!r} is for " in message
                assert method in message.partition(";")[0]


# --- roles and sections -------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_role_of_another_method_says_whose_it_is(method: str) -> None:
    own = METHODS[method].roles
    for other in METHODS.values():
        for role in other.roles:
            if role in own:
                continue
            message = refused(text_of(method, {}, f'x = {{ role = "{role}" }}\n{COLUMNS[method][0]}'))
            assert f"line 4: {role!r} is a role for " in message
            assert other.name in message.partition(";")[0]
            assert message.endswith(f"; there are {', '.join(own)}")
    message = refused(text_of(method, {}, f'x = {{ role = "friend" }}\n{COLUMNS[method][0]}'))
    assert message == f"policy.toml, line 4: 'friend' is no role; there are {', '.join(own)}"


@pytest.mark.parametrize("method", METHODS)
def test_a_section_of_another_method_says_whose_it_is(method: str) -> None:
    own = METHODS[method].sections
    for other in METHODS.values():
        for section in set(other.sections) - set(own):
            text = f"{text_of(method, {})}[{section}]\n"
            message = refused(text)
            assert f"line {line_of(text, f'[{section}]')}: section {section!r} is for " in message
            assert other.name in message.partition(";")[0]
            known = ["table", "columns", *own, "views", "ledger", "release", "compare"]
            assert message.endswith(f"; here are {', '.join(known)}")
    assert "unknown section 'relase'; there are table, columns" in refused(f"{text_of(method, {})}[relase]\n")


@pytest.mark.parametrize("key", [k for k in TABLE_KEYS if k.name in {"source", "database"}], ids=lambda k: k.name)
def test_the_keys_of_the_table(key: Key) -> None:
    for value in TEXTS[1]:
        text = text_of("generalize", {}).replace('source = "people.csv"', f"{key.name} = {value}\nx = 1")
        text = text.replace("\nx = 1", '\nsource = "t"' if key.name == "database" else "")
        message = refused(text)
        assert message == f"policy.toml, line 2: {key.name} must be given, as text", value


# --- the tables of docs/policy.md ---------------------------------------------------------------


def every_list_of_keys() -> Iterator[Any]:
    yield pytest.param(TABLE_KEYS, id="table")
    yield pytest.param(RELEASE_KEYS, id="release")
    for method in METHODS.values():
        yield pytest.param(method.options, id=method.name)
        for role, keys in method.roles.items():
            yield pytest.param(keys, id=f"{method.name}-{role}")


@pytest.mark.parametrize("keys", list(every_list_of_keys()))
def test_the_table_of_keys_is_markdown(keys: tuple[Key, ...]) -> None:
    heading, rule, *rows = key_table(keys).split("\n")
    assert heading == "| key | what it may be | without it | what it means |"
    assert rule == "|---|---|---|---|"
    assert len(rows) == len(keys)
    for key, row in zip(keys, rows, strict=True):
        assert row.startswith("| ")
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert cells[0] == f"`{key.name}`"
        assert cells[1] == key.kind.words
        assert cells[3] == key.help
        expected = "an error" if key.required else "none" if key.default in (None, ()) else f"`{key.default}`"
        assert cells[2] == (expected.lower() if isinstance(key.default, bool) else expected)


def test_every_key_is_explained_and_tried() -> None:
    declared = [k for p in every_list_of_keys() for k in p.values[0]]
    assert all(k.help and not k.help.endswith(".") for k in declared)
    assert {k.name for k in declared} - {k.name for k in TABLE_KEYS} == set(TAKEN)


@pytest.mark.parametrize("method", METHODS)
def test_a_key_that_has_another_name_now_is_refused_with_the_line_to_write(method: str) -> None:
    text = f'[table]\nsource = "t.csv"\n[columns]\n[release]\nmethod = "{method}"\nbeside = "for the auditors"\n'
    with pytest.raises(PolicyError, match=r"key 'beside' has another name now: write coexists_because = \"\.\.\.\""):
        parse_policy(text, Path(), METHODS, "policy.toml")
