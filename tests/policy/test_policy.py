"""Policy files: what they say, and that every fault is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.policies import IN_DATABASE, policy_text, qi, role, write_policy
from support.policies import parse as read

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods import METHODS
from sqlpriv.policy.line_numbers import key_lines
from sqlpriv.publishing import plan, read_policy

pytestmark = pytest.mark.one_version

GOOD = """\
# The owner's own words.
[table]
source = "patients.csv"
delimiter = ";"

[columns]
ssn       = { role = "identifier" }
age       = { role = "quasi-identifier", hierarchy = "ranges:5,10" }   # in years
"zip.code" = { role = "quasi-identifier", hierarchy = "mask:5" }
diagnosis = { role = "sensitive" }
ward      = { role = "other" }

[require]
k = 5
distinct_l = { diagnosis = 3 }

[release]
method = "generalize"
suppression = 0.05
"""


def test_a_policy_as_in_the_contract() -> None:
    policy = read(GOOD)
    assert policy.qis == ("age", "zip.code")
    assert policy.sensitive == ("diagnosis",)
    assert policy.named("identifier", "other") == ("ssn", "ward")
    assert policy.person is None
    assert [r.text for r in policy.requirements] == ["k>=5", "distinct_l(diagnosis)>=3"]
    assert (policy.objective, policy.suppression, policy.keep_suppressed, policy.output) == ("loss", 0.05, False, None)
    assert policy.table.read_options == {"delimiter": ";"}


def test_every_kind_of_requirement() -> None:
    policy = read(
        GOOD.replace(
            "distinct_l = { diagnosis = 3 }",
            """
            entropy_l = 2.5
            recursive = { diagnosis = { c = 4, l = 2 } }
            posterior = { Diagnosis = { l = 3, at_most = 0.5 } }
            t = 0.2
            t_hierarchical = { diagnosis = { hierarchy = "table:tree", at_most = 0.3 } }
            alpha_k = 0.5
            beta = 1
            delta = { diagnosis = 2 }
            k_map = { population = "town.csv", at_least = 7 }
            uniques = 0
            marketer = 0.1
            [[require.epsilon]]
            column = "diagnosis"
            adversary = "class1"
            sigma = 1e6
            shape = "uniform"
            at_most = 2.5
            [[require.epsilon]]
            column = "diagnosis"
            adversary = "class3"
            shape = "table:prior"
            predicates = "table:sets"
            b = 2
            at_most = 3
            """,
        )
    )
    assert [r.text for r in policy.requirements] == [
        "k>=5",
        "entropy_l(diagnosis)>=2.5",
        "recursive_c(diagnosis, l=2)<4",
        "posterior(diagnosis, l=3)<=0.5",
        "t(diagnosis)<=0.2",
        "t_hierarchical(diagnosis, hierarchy=table:tree)<=0.3",
        "alpha(diagnosis)<=0.5",
        "beta(diagnosis)<=1",
        "delta(diagnosis)<2",
        "k_map(population=town.csv)>=7",
        "uniques<=0",
        "marketer<=0.1",
        "epsilon_class1(diagnosis, sigma=1000000.0, shape=uniform, b=0)<=2.5",
        "epsilon_class3(diagnosis, shape=table:prior, predicates=table:sets, b=2)<=3",
    ]


AGE = 'age       = { role = "quasi-identifier", hierarchy = "ranges:5,10" }   # in years'
L = "distinct_l = { diagnosis = 3 }"
EPSILON = 'epsilon = { column = "diagnosis", adversary = "class2", sigma = 1e6, at_most = 2.5 }'


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        # sections and keys
        ("# The owner's", "key = 1\n# The owner's", 1, "unknown section 'key'; there are table, columns"),
        ("# The owner's own words.", "\n\nkey.inside = 1", 3, "unknown section 'key'"),
        ("[release]", "[tables]\n[release]", 17, "unknown section 'tables'"),
        ('delimiter = ";"', 'delimeter = ";"', 4, "unknown key 'delimeter'; there are source, database"),
        ("suppression = 0.05", "supression = 0.05", 19, "unknown key 'supression'; there are method"),
        ('source = "patients.csv"', 'source = ""', 3, "source must be given, as text"),
        ('source = "patients.csv"', "", 2, "source must be given, as text"),
        ('source = "patients.csv"', "source = 5", 3, "source must be given, as text"),
        ('source = "patients.csv"', 'source = "t"\ndatabase = "x.duckdb"', 5, "delimiter is for files"),
        ('method = "generalize"', "", 17, f"method must be one of {', '.join(METHODS)}"),
        ('method = "generalize"', 'method = "noise"', 18, f"method must be one of {', '.join(METHODS)}"),
        ("suppression = 0.05", "suppression = 1", 19, "suppression is a share of the rows"),
        ("suppression = 0.05", "suppression = true", 19, "suppression is a share of the rows"),
        ("suppression = 0.05", f"suppression = 1{'0' * 400}", 19, "suppression is a share of the rows"),
        ("suppression = 0.05", "gamma = 0.2", 19, "key 'gamma' is for noisy_counts, alpha_beta, frapp; here are"),
        ("[release]", "[public]\n[release]", 17, "section 'public' is for noisy_counts, alpha_beta, frapp; here are"),
        ("suppression = 0.05", "suppression = nan", 19, "suppression is a share of the rows"),
        ("suppression = 0.05", "suppression = -0.1", 19, "suppression is a share of the rows"),
        ("suppression = 0.05", 'keep_suppressed = "yes"', 19, "keep_suppressed must be true or false"),
        ("suppression = 0.05", 'objective = "beauty"', 19, "objective must be one of loss, height"),
        ("suppression = 0.05", 'objective = ["loss"]', 19, "objective must be one of loss"),
        ("suppression = 0.05", 'objective = "workload:"', 19, "objective must be one of loss"),
        ("suppression = 0.05", "output = 3", 19, "output must be given, as text"),
        # columns
        ('ssn       = { role = "identifier" }', 'ssn = "identifier"', 7, 'write ssn = { role = "..." }'),
        ('ssn       = { role = "identifier" }', 'ssn.rolle = "identifier"', 7, 'write ssn = { role = "..." }'),
        ('{ role = "identifier" }', '{ role = "identifier", salt = 1 }', 7, "unknown key 'salt'; there are role"),
        ('{ role = "identifier" }', '{ role = "ID" }', 7, "'ID' is no role; there are identifier, person"),
        ('{ role = "identifier" }', '{ role = ["identifier"] }', 7, "is no role"),
        ('{ role = "identifier" }', '{ role = "identifier", hierarchy = "mask:5" }', 7, "only quasi-identifier, "),
        (AGE, 'age = { role = "quasi-identifier" }', 8, "'age' needs a hierarchy"),
        (AGE, 'age = { role = "quasi-identifier", hierarchy = " " }', 8, "'age' needs a hierarchy: text such as"),
        (AGE, 'age = { role = "quasi-identifier", hierarchy = 5 }', 8, "'age' needs a hierarchy: text such as"),
        (AGE, 'age = { role = "quasi-identifier", hierarchy = [] }', 8, "or a list of SQL expressions, one a level"),
        (AGE, 'age = { role = "quasi-identifier", hierarchy = [5] }', 8, "or a list of SQL expressions, one a level"),
        (AGE, 'age = { role = "quasi-identifier", hierarchy = [""] }', 8, "or a list of SQL expressions, one a level"),
        (AGE, 'age = { role = "quasi-identifier", domain = "active" }', 8, "'age' needs a hierarchy: text such as"),
        ('{ role = "identifier" }', '{ role = "published" }', 7, "'published' is a role for noisy_counts, alpha_beta,"),
        ('ward      = { role = "other" }', '[columns.ward]\nrole = "others"', 12, "is no role"),
        ('ward      = { role = "other" }', '[ columns . "ward"]#\nrole = "other"\nhierarchy = 5', 13, "hierarchy of"),
        ('"zip.code" = {', "\"zip.code\" = { rule = 'x',", 9, "unknown key 'rule'"),
        ('"zip.code" = { role', "'zip.code'.hierarchi = 3\n\"x\" = { role", 9, "write zip.code = "),
        ("ward      =", "SSN =", 11, "the column 'SSN' is named twice"),
        ("ssn       = {", '# ward = 1\n"WARD" = { role = "drop" }\nssn = {', 13, "the column 'ward' is named twice"),
        ('{ role = "identifier" }', '{ role = "person" }\nx = { role = "person" }', 8, "can be the person"),
        # requirements
        ("k = 5", "kk = 5", 14, "unknown requirement 'kk'; there are k, alpha"),
        ("k = 5", "disclosure = 0.5", 14, "unknown requirement 'disclosure'"),
        ("k = 5", "epsilon_class2 = 2", 14, "unknown requirement 'epsilon_class2'"),
        ("k = 5", "k = true", 14, "'k' needs a number as its threshold"),
        ("k = 5", "k = nan", 14, "'k' needs a number as its threshold"),
        ("k = 5", "k = inf", 14, "'k' needs a number as its threshold"),
        ("k = 5", "k = -5", 14, "'k' needs a number as its threshold"),
        ("k = 5", f"k = 1{'0' * 400}", 14, "'k' needs a number as its threshold"),
        ("k = 5", 'k = "5"', 14, "'k' needs a number as its threshold"),
        ("k = 5", "k = [5]", 14, "'k' needs a number as its threshold"),
        ("k = 5", "k = 0", 14, "'k' must be at least 1"),
        ("k = 5", "k = { at_least = 0.5 }", 14, "'k' must be at least 1"),
        ("k = 5", "k = { at_most = 5 }", 14, "'k' takes at_least, not 'at_most'"),
        ("k = 5", "k = {}", 14, "'k' takes at_least"),
        ("k = 5", "k_map = 5", 14, "'k_map' needs population"),
        ("k = 5", "k_map = { population = true, at_least = 5 }", 14, "population of 'k_map' must be"),
        (L, "distinct_l = { ward = 3 }", 15, "'distinct_l' is required of 'ward', which is not a sensitive column"),
        (L, "distinct_l = { nobody = 3 }", 15, "'distinct_l' is required of 'nobody', which is not a sensitive"),
        (L, "distinct_l = {}", 15, "'distinct_l' names no column, so nothing is required"),
        (L, "[require.distinct_l]\n# here\nward = 3", 17, "'ward', which is not a sensitive column"),
        (L, "distinct_l.ward = 3", 15, "'ward', which is not a sensitive column"),
        (L, "distinct_l = 0", 15, "'distinct_l' must be at least 1"),
        (L, "recursive = { diagnosis = { l = 2 } }", 15, "'recursive' takes c, l"),
        (L, "recursive = { diagnosis = { c = 4, l = 2.5 } }", 15, "l of 'recursive' must be a whole number of"),
        (L, "recursive = { diagnosis = { c = 4, l = 0 } }", 15, "l of 'recursive' must be a whole number of at least"),
        (L, f"recursive = {{ diagnosis = {{ c = 4, l = 1{'0' * 30} }} }}", 15, "must be a whole number"),
        (L, "recursive = { diagnosis = { c = true, l = 2 } }", 15, "'recursive' needs a number as its threshold"),
        (L, "posterior = { diagnosis = { l = 1, at_most = 0.5 } }", 15, "must be a whole number of at least 2"),
        (L, "t_hierarchical = 0.2", 15, "'t_hierarchical' needs hierarchy"),
        # epsilon
        (L, "epsilon = 2", 15, "epsilon = { column = "),
        (L, "epsilon = []", 15, "epsilon is an empty list"),
        (L, EPSILON.replace("class2", "class4"), 15, "no release holds against class4"),
        (L, EPSILON.replace("sigma = 1e6, ", ""), 15, "epsilon against class2 needs sigma"),
        (L, EPSILON.replace("1e6", "true"), 15, "sigma of 'epsilon' must be a number or a name"),
        (L, EPSILON.replace("1e6", "nan"), 15, "sigma of 'epsilon' must be a number or a name"),
        (L, EPSILON.replace("1e6", f"1{'0' * 400}"), 15, "sigma of 'epsilon' must be a number or a name"),
        (L, EPSILON.replace("1e6", "'much'"), 15, "sigma must be a number"),
        (L, EPSILON.replace("2.5", "0.5"), 15, "epsilon is at least 1"),
        (L, EPSILON.replace("2.5", "'x'"), 15, "'epsilon' needs a number"),
        (L, EPSILON.replace("diagnosis", "ward"), 15, "'ward', which is not a sensitive column"),
        (L, EPSILON.replace("sigma", "shape = 'uniform', sigma"), 15, "not 'shape'"),
        (L, EPSILON.replace("sigma", "b = -1, sigma"), 15, "b, the number of known tuples"),
        (L, EPSILON.replace("sigma", "b = 1.5, sigma"), 15, "b, the number of known tuples"),
        (L, EPSILON.replace("sigma", f"b = 1{'0' * 40}, sigma"), 15, "b, the number of known tuples"),
        (L, EPSILON.replace("sigma", "predicates = 'sets', sigma"), 15, "predicates must be"),
        (L, EPSILON.replace("class2", "class1"), 15, "shape must be"),
        (L, EPSILON.replace("class2", "class3").replace("sigma = 1e6", "shape = 'flat'"), 15, "shape must be"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(PolicyError) as refused:
        read(GOOD.replace(old, new, 1))
    assert f"policy.toml, line {line}: " in str(refused.value)
    assert message in str(refused.value)


TABLES = """\
[[require.epsilon]]
column = "diagnosis"
adversary = "class2"
sigma = 1e6
at_most = 2.5

[[ require . "epsilon" ]]   # the second
column = "diagnosis"
adversary = "class2"
# sigma = 5 would be too little
sigma = 1e6
at_most = 2.5
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("at_most", "atmost", 21, "epsilon = { column = "),
        ('"diagnosis"', '"ward"', 22, "'ward', which is not a sensitive column"),
        ("class2", "class4", 23, "no release holds against class4"),
        ("sigma = 1e6", "sigma = true", 25, "sigma of 'epsilon'"),
        ("sigma = 1e6", "shape = 'uniform'", 25, "not 'shape'"),
        ("sigma = 1e6", "", 21, "needs sigma"),
        ("at_most = 2.5", "at_most = -1", 26, "needs a number"),
    ],
)
def test_the_second_of_an_array_of_tables_is_pointed_at(old: str, new: str, line: int, message: str) -> None:
    first, second = TABLES.split("\n\n")
    policy = GOOD.replace(L + "\n\n", f"{first}\n\n{second.replace(old, new, 1) if old in second else second}\n")
    policy = policy.replace("# sigma = 5 would", "# it would") if old.startswith("sigma") else policy
    with pytest.raises(PolicyError) as refused:
        read(policy)
    assert f"policy.toml, line {line}: " in str(refused.value)
    assert message in str(refused.value)


@pytest.mark.parametrize("section", ["table", "columns", "release"])
def test_a_section_that_is_missing_is_named(section: str) -> None:
    with pytest.raises(PolicyError, match=rf"the section \[{section}\] is missing"):
        read(GOOD.replace(f"[{section}]", "[require.x]"))


@pytest.mark.parametrize("require", ["", "[require]", "require = {}"])
def test_nothing_required(require: str) -> None:
    text = GOOD.replace("[require]\nk = 5\ndistinct_l = { diagnosis = 3 }", require)
    if "=" in require:
        text = f"{require}\n{GOOD.replace('[require]', '').replace('k = 5', '').replace(L, '')}"
    with pytest.raises(PolicyError, match="nothing is required: write at least k = 5"):
        read(text)


def test_require_that_is_no_section() -> None:
    text = f"require = 5\n{GOOD.replace('[require]', '').replace('k = 5', '').replace(L, '')}"
    with pytest.raises(PolicyError, match=r"line 1: \[require\] must be a section"):
        read(text)


def test_without_a_quasi_identifier_there_is_nothing_to_do() -> None:
    text = policy_text({"a": role("other"), "b": role("sensitive")})
    with pytest.raises(PolicyError, match="line 4: no column is a quasi-identifier"):
        read(text)


def test_a_measure_of_a_sensitive_column_without_one() -> None:
    with pytest.raises(PolicyError, match="line 7: 't' needs a sensitive column, and no column has that role"):
        read(policy_text({"a": qi()}, "t = 0.2"))


def test_what_is_no_toml_is_named_with_its_line() -> None:
    with pytest.raises(PolicyError, match=r"policy.toml is not TOML: .*line 14"):
        read(GOOD.replace("k = 5", "k = = 5"))


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_policy_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError, match="there is no policy file"):
        read_policy(path)
    with pytest.raises(PolicyError, match="there is no policy file"):
        read_policy(tmp_path)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("\ufeff" + GOOD.replace("# The owner's own words.\n", ""), encoding="utf-8")
    assert read_policy(tmp_path / "policy.toml").qis == ("age", "zip.code")


def test_the_lines_of_odd_keys() -> None:
    text = (
        'a."b.c".d = 1\n'
        "# [x]\n"
        "[\"x]y\" . 'z']\n"
        'long = """\n'
        "long = 3\n"
        '[no]\n"""\n'
        "list = [\n"
        "  1, # one\n"
        "  { k = 2 },\n"
        "]\n"
        "after = 1\r\n"
        "[[x.y]]\n[x.y.z]\nin = 1\n[[x.y]]\nin = 2\n"
    )
    lines = key_lines(text)
    assert lines["a", "b.c", "d"] == 1
    assert lines["x]y", "z"] == 3
    assert lines["x]y", "z", "long"] == 4
    assert lines["x]y", "z", "list", 1, "k"] == 8
    assert lines["x]y", "z", "after"] == 12
    assert lines["x", "y", 0, "z", "in"] == 15
    assert lines["x", "y", 1] == 16
    assert lines["x", "y", 1, "in"] == 17
    assert ("no",) not in lines


def test_only_letters_of_ascii_lose_their_case() -> None:
    assert folded("Größe_ÄA\u212a") == "größe_Äa\u212a"


@pytest.mark.parametrize(
    ("columns", "sql", "message"),
    [
        ({"a": qi(), "b": role("other")}, "SELECT 1 AS a", "the policy names the column 'b', but people has no such"),
        ({"a": qi()}, "SELECT 1 AS a, 2 AS b", "people has the column 'b', which the policy does not name"),
        ({"a": qi()}, "SELECT 1 AS a, 2 AS b, 3 AS c", "people has the columns 'b', 'c', which the policy"),
        ({"a": qi(), "ä": role("other")}, 'SELECT 1 AS a, 2 AS "Ä", 3 AS "ä"', "has the column 'Ä', which the policy"),
        ({"k": qi()}, 'SELECT 1 AS k, 2 AS "\u212a"', "has the column '\u212a', which the policy does not name"),
        ({"a": qi(), "Ä": role("other")}, 'SELECT 1 AS a, 2 AS "ä"', "names the column 'Ä', but people has no such"),
        ({"__priv_n": qi()}, 'SELECT 1 AS "__priv_n"', "names that start with __priv_ are reserved"),
        ({"a": qi(), "__priv_n": role("sensitive")}, 'SELECT 1 AS a, 2 AS "__priv_n"', "__priv_ are reserved"),
        ({"a": qi(), "__PRIV_t": role("other")}, 'SELECT 1 AS a, 2 AS "__priv_t"', "__priv_ are reserved"),
        ({"a": qi(), "__priv_n": role("person")}, 'SELECT 1 AS a, 2 AS "__priv_n"', "__priv_ are reserved"),
    ],
)
def test_columns_and_policy_name_each_other(tmp_path: Path, columns: dict[str, str], sql: str, message: str) -> None:
    path = write_policy(tmp_path, policy_text(columns), f"CREATE TABLE people AS {sql}")
    with pytest.raises(PolicyError) as refused:
        plan(path)
    assert message in str(refused.value)


def test_case_is_no_difference(tmp_path: Path) -> None:
    columns = {"AGE": qi("ranges:5"), "Disease": role("sensitive"), "SSN": role("identifier"), "Who": role("person")}
    path = write_policy(
        tmp_path,
        policy_text(columns, "k = 2\ndistinct_l = { DISEASE = 1 }", table=IN_DATABASE.replace("people", "PEOPLE")),
        "CREATE TABLE people AS SELECT 1 AS ssn, i AS who, i AS age, 'x' AS disease FROM range(4) AS r(i)",
    )
    assert plan(path).content["node"] == {"age": 1}
