"""The policy of a randomized release: what it may say, and messages that point at the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.noisy_counts.policy import NoisyCountsPolicy
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.policy.file import Policy, parse_policy

pytestmark = pytest.mark.one_version

POLICY = """[table]
source = "people.csv"
[columns]
id = { role = "identifier" }
age = { role = "published", domain = "range:17..90" }
sex = { role = "published", domain = ["F", "M"], null = true }
[release]
method = "alpha_beta"
k = 10
gamma = 0.2
output = "release.duckdb"
duplicates = "slots"
"""
NOISY = POLICY.replace('duplicates = "slots"\n', "").replace("k = 10\n", "").replace("alpha_beta", "noisy_counts")


def parsed(text: str) -> Policy:
    return parse_policy(text, Path(), METHODS, "policy.toml")


def test_the_defaults_protect_against_the_attacker_people_fear() -> None:
    policy = parsed(NOISY)
    assert isinstance(policy, NoisyCountsPolicy)
    assert (policy.times, policy.d, policy.k, policy.uncovered) == (2.0, None, None, None)
    assert (policy.release["attacker"], policy.max_rows, policy.rows_each) == ("linking", 50_000_000, 1)
    assert (policy.is_distinct, policy.slots, policy.views) == (False, 1, 1)
    assert [c.name for c in policy.published] == ["age", "sex"]
    assert (policy.published[1].null, policy.published[0].outside) == (True, "refuse")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gamma = 0.2", "gamma = 1.5", "line 10: gamma must be a number above 0 and at most 1"),
        ("gamma = 0.2", "gamma = nan", "line 10: gamma must be a number above 0 and at most 1"),
        ("gamma = 0.2\n", "", "gamma must be a number above 0 and at most 1"),
        ("k = 10", "k = 10\nd = 0.1", "line 9: the prior bound is given as k and as d: give one of them, or none"),
        ("k = 10", "k = true", "line 9: k must be a number above 0"),
        ("k = 10", "k = 10\nalpha = 0.5", "alpha and beta are given together or not at all"),
        ("k = 10", 'k = 10\nalpha = 0.4\nbeta = 0.1\nparameters = "tight"', "so parameters has nothing to choose"),
        ("k = 10", 'k = 10\nparameters = "tight"', 'line 10: parameters = "tight" holds against the independent'),
        ("k = 10", 'k = 10\nparameters = "best"', "line 10: parameters must be one of default, paper, tight"),
        ("k = 10", 'k = 10\nadversary = "nobody"', "line 10: adversary must be one of exclusive, independent"),
        ('duplicates = "slots"', 'duplicates = "distinct"\nslots = 5', 'slots are for duplicates = "slots"'),
        ("k = 10", "k = 10\nslots = 2.5", "line 10: slots must be a whole number above 0"),
        ("k = 10", "k = 10\nviews = 3", "line 10: a sequence protects against the independent adversary only"),
        ("k = 10", 'k = 10\nearlier = ["a.duckdb"]', "earlier views belong to a sequence"),
        ("k = 10", "k = 10\nsupression = 0.1", "line 10: unknown key 'supression'"),
        ('"alpha_beta"', '"generalize"', "line 9: key 'k' is for sdgs, noisy_counts, alpha_beta, frapp; here are"),
        ('"alpha_beta"', '"noise"', f"line 8: method must be one of {', '.join(METHODS)}"),
        ('"alpha_beta"', '"frapp"\nslots = 3', "line 9: key 'slots' is for alpha_beta; here are"),
        ('"alpha_beta"', '"frapp"', "line 12: key 'duplicates' is for alpha_beta; here are"),
        ('domain = "range:17..90"', "levels = 3", "line 5: unknown key 'levels'"),
        (', domain = "range:17..90"', "", "line 5: 'age' needs a domain: a list"),
        ('domain = "range:17..90"', "domain = []", "line 5: 'age' needs a domain: a list"),
        ('domain = "range:17..90"', "domain = [[1]]", "line 5: 'age' needs a domain: a list"),
        (
            '"identifier"',
            '"secret"',
            "line 4: 'secret' is no role; there are quasi-identifier, sensitive, other, ",
        ),
        ('"identifier"', '"sensitive"', "line 4: 'id' needs a domain: a list"),
        ('"identifier"', '"identifier", domain = ["a"]', "line 4: 'id' is identifier; only quasi-identifier, "),
        ('"identifier"', '"person"', "line 4: alpha_beta hides rows one by one, and not the rows of a person together"),
        ("id =", "AGE =", "the column 'age' is named twice"),
        ("age =", '"__weight" =', "line 5: '__weight' starts with two underscores"),
        ("null = true", "null = 1", "line 6: null must be true or false"),
        ("null = true", 'outside = "ignore"', "line 6: outside must be one of refuse, drop, other"),
        ("null = true", "share = [0.5]", "line 6: share is a list of numbers, one for each of a list of values"),
        ("null = true", "share = [0.5, 0]", "line 6: every share must be a number above 0"),
        ("null = true", "share = [0.5, 0.5]", "noise that follows shares protects against the independent adversary"),
        ("[release]", "[require]\nk = 5\n[release]", "line 7: section 'require' is for generalize, "),
        ("[release]", "[public]\nregions = 3\n[release]", "line 8: regions must be given, as text"),
    ],
)
def test_a_message_for_every_fault(old: str, new: str, message: str) -> None:
    assert old in POLICY
    with pytest.raises(PolicyError) as error:
        parsed(POLICY.replace(old, new, 1))
    assert message in str(error.value)


def test_no_published_column() -> None:
    columns = '[table]\nsource = "a.csv"\n[columns]\na = { role = "drop" }\n'
    with pytest.raises(PolicyError, match="no column is published"):
        parsed(columns + '[release]\nmethod = "frapp"\ngamma = 1\nk = 1\n')


def test_nothing_is_sensitive() -> None:
    with pytest.raises(PolicyError, match="no column is sensitive, so there is nothing that an attacker could want"):
        parsed(NOISY.replace('"published"', '"quasi-identifier"'))


def test_published_is_wanted_only_where_no_column_is_sensitive() -> None:
    policy = parsed(NOISY)
    assert isinstance(policy, NoisyCountsPolicy)
    assert policy.wanted == ("age", "sex")
    marked = parsed(NOISY.replace('sex = { role = "published"', 'sex = { role = "sensitive"'))
    assert isinstance(marked, NoisyCountsPolicy)
    assert marked.wanted == ("sex",)


@pytest.mark.parametrize("key", ['adversary = "independent"', 'parameters = "paper"', "alpha = 0.3", "beta = 0.1"])
def test_what_is_for_slots_and_distinct_tuples_is_refused_with_noisy_counts(key: str) -> None:
    name = key.partition(" ")[0]
    with pytest.raises(PolicyError, match=f"key '{name}' is for .*alpha_beta"):
        parsed(NOISY + key)


@pytest.mark.parametrize(("key", "slots"), [("slots = 5", 5), ('views = 2\nadversary = "independent"', 50)])
def test_slots_or_views_without_duplicates_means_slots(key: str, slots: int) -> None:
    policy = parsed(NOISY.replace("noisy_counts", "alpha_beta") + key)
    assert isinstance(policy, AlphaBetaPolicy)
    assert (policy.is_distinct, policy.slots) == (False, slots)


def test_noisy_counts_have_one_view() -> None:
    with pytest.raises(PolicyError, match="key 'views' is for alpha_beta; here are"):
        parsed(NOISY + "views = 2")


def test_a_person_needs_a_public_number_of_rows() -> None:
    person = NOISY.replace('"identifier"', '"person"')
    with pytest.raises(PolicyError, match="line 4: 'id' says whose row it is, so write rows_each"):
        parsed(person)
    with pytest.raises(PolicyError, match="rows_each needs a column that says whose row it is"):
        parsed(NOISY + "rows_each = 3")
    policy = parsed(person + "rows_each = 3\nn_public = 600")
    assert isinstance(policy, NoisyCountsPolicy)
    assert policy.rows_each == 3


@pytest.mark.parametrize(
    ("text", "change", "line"),
    [
        (NOISY.replace('"identifier"', '"person"') + "rows_each = 3", ("", ""), 11),
        (NOISY, ('["F", "M"]', '["F", "M"], outside = "drop"'), 6),
        (POLICY, ('["F", "M"]', '["F", "M"], outside = "drop"'), 6),
    ],
)
def test_a_number_of_rows_that_one_person_changes_is_never_published(
    text: str, change: tuple[str, str], line: int
) -> None:
    """Two tables that differ by one person have 600 and 610 rows: rounded, too, they are told apart."""
    text = text.replace(*change)
    with pytest.raises(PolicyError, match=rf"line {line}: .* needs n_public: .* as in n_public = 10000"):
        parsed(text)
    declared = parsed(text + "\nn_public = 600")
    assert isinstance(declared, RandomizedPolicy)
    assert declared.n_public == 600
    if change[0] == "":
        assert not parsed(text.replace("rows_each = 3", "rows_each = 1")).release["n_public"]


def test_one_list_of_columns_serves_every_method() -> None:
    """A hierarchy without a level is for generalization, a domain for noise; both may be there."""
    columns = """[table]
source = "people.csv"
[columns]
age = { role = "quasi-identifier", domain = "range:17..90", hierarchy = "ranges:5,10" }
ill = { role = "sensitive", domain = ["a", "b", "c", "d", "e", "f", "g", "h", "i"] }
"""
    noisy = parsed(columns + '[release]\nmethod = "noisy_counts"\ngamma = 0.3\n')
    assert isinstance(noisy, NoisyCountsPolicy)
    assert [c.hierarchy for c in noisy.published] == [None, None]
    coarse = parsed(columns + '[require]\nk = 5\n[release]\nmethod = "generalize"\n')
    assert coarse.qis == ("age",)
