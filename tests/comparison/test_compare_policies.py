"""A policy for one method becomes one for another at the same protection, by what the methods declare."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sqlpriv.comparison.conversion import Converted, convert, declared_protection, policy_lines
from sqlpriv.core.errors import PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Method
from sqlpriv.policy.file import Policy, parse_policy

pytestmark = pytest.mark.one_version

AGE = 'age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:0..99" }'
WARD = 'ward = { role = "sensitive", domain = ["a", "b", "c", "d"] }'
HEAD = f'[table]\nsource = "people.csv"\n[columns]\n{AGE}\n{WARD}\n'


def policy(method: str, rest: str = "", more: str = "", head: str = HEAD) -> Policy:
    return parse_policy(f'{head}{more}\n[release]\nmethod = "{method}"\n{rest}\n', Path(), METHODS)


def turn(given: Policy, method: str) -> Converted:
    return convert(given, METHODS[given.method], METHODS[method], declared_protection(given))


@pytest.mark.parametrize(
    ("require", "gamma", "assumed"),
    [
        ("alpha_k = 0.4", 0.4, False),
        ("posterior = { ward = { at_most = 0.6, l = 3 } }", 0.6, False),
        ("recursive = { ward = { c = 3, l = 2 } }", 0.75, False),
        ("k = 3\nalpha_k = 0.4\nrecursive = { ward = { c = 0.5, l = 3 } }", 1 / 3, False),
        ("k = 3\ndistinct_l = 4", 0.25, True),
        ("entropy_l = 2.5", 0.4, True),
        ("k = 5", 0.5, True),
        ("alpha_k = 1", 0.5, True),
        ("recursive = { ward = { c = 0.4, l = 1 } }", 0.5, True),
        ("t = 0.2", 0.5, True),
    ],
)
def test_the_belief_that_requirements_promise(require: str, gamma: float, assumed: bool) -> None:
    found = declared_protection(policy("generalize", more=f"[require]\n{require}"))
    assert (found.gamma, found.assumed) == (pytest.approx(gamma), assumed)
    assert ("assumed" in found.said) == assumed


@pytest.mark.parametrize("least", [2, 3])
@pytest.mark.parametrize("c", [0.7, 1, 2])
def test_what_recursive_diversity_promises_holds_of_every_class(c: float, least: int) -> None:
    """All classes of up to 12 rows of one value and 6 of others that are recursive (c, l)-diverse."""
    promised = declared_protection(
        policy("generalize", more=f"[require]\nrecursive = {{ ward = {{ c = {c}, l = {least} }} }}")
    )
    shares = []
    for counts in itertools.product(range(1, 13), range(7), range(7), range(7)):
        r = sorted(filter(None, counts), reverse=True)
        if r[0] < c * sum(r[least - 1 :]):
            shares.append(r[0] / sum(r))
    assert len(shares) > 10
    assert max(shares) < promised.gamma


def test_gamma_becomes_requirements_that_promise_the_same() -> None:
    made = turn(policy("frapp", "gamma = 0.3"), "generalize")
    assert [r.text for r in made.policy.requirements] == ["alpha(ward)<=0.3", "distinct_l(ward)>=4"]
    assert made.protection == "alpha(ward)<=0.3, distinct_l(ward)>=4"
    assert not made.assumed


def test_requirements_become_gamma() -> None:
    given = policy("generalize", more="[require]\nk = 5\nalpha_k = 0.4")
    for method in ("noisy_counts", "frapp"):
        made = turn(given, method)
        assert made.policy.method == method
        assert made.policy.release["gamma"] == 0.4
        assert made.policy.requirements == ()
        assert made.protection == "gamma = 0.4, which alpha(ward)<=0.4 promises"


def test_a_default_is_said_aloud() -> None:
    made = turn(policy("generalize", more="[require]\nk = 5"), "frapp")
    assert made.assumed
    assert made.protection == "gamma = 0.5: assumed, the policy bounds no belief"


def test_keys_that_two_methods_share_go_along_and_others_do_not() -> None:
    made = turn(policy("noisy_counts", "gamma = 0.4\ntimes = 3\nn_public = 700\np = 0.3"), "frapp")
    assert made.policy.written == {"gamma", "times", "n_public"}
    assert (made.policy.release["times"], made.policy.release["n_public"]) == (3, 700)


def test_the_section_of_a_method_says_more_and_wins() -> None:
    more = (
        '[require]\nk = 5\n[compare.noisy_counts]\ngamma = 0.25\np = 0.3\n[compare.noisy_counts.public]\nx = "x.csv"\n'
        "[compare.frapp]\ntimes = 4"
    )
    made = turn(policy("generalize", more=more), "noisy_counts")
    assert made.policy.written == {"gamma", "p"}
    assert made.policy.public == {"x": "x.csv"}
    assert (made.protection, made.assumed) == ("gamma = 0.25, p = 0.3", False)
    other = turn(policy("generalize", more=more), "frapp")
    assert (other.policy.release["times"], other.policy.release["gamma"], other.assumed) == (4, 0.5, True)


def test_requirements_of_another_method_are_its_own_section() -> None:
    given = policy(
        "frapp", "gamma = 0.3", "[compare.generalize]\nsuppression = 0.1\n[compare.generalize.require]\nk = 9"
    )
    made = turn(given, "generalize").policy
    assert [r.text for r in made.requirements] == ["k>=9"]
    assert made.release["suppression"] == 0.1
    assert policy_lines(given, turn(given, "generalize"))[-1] == (
        "# and [require] as [compare.generalize.require] has it"
    )


@pytest.mark.parametrize(
    ("head", "method", "message"),
    [
        (HEAD.replace(', domain = "range:0..99"', ""), "noisy_counts", "'age' needs a domain: "),
        (HEAD.replace(', domain = ["a", "b", "c", "d"]', ""), "frapp", "'ward' needs a domain: "),
    ],
)
def test_what_a_method_needs_and_the_policy_has_not(head: str, method: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        turn(policy("generalize", more="[require]\nk = 5", head=head), method)


def test_a_hierarchy_that_is_missing_is_the_reason() -> None:
    given = policy("frapp", "gamma = 0.3", head=HEAD.replace(', hierarchy = "ranges:10"', ""))
    with pytest.raises(PolicyError, match="'age' needs a hierarchy: "):
        turn(given, "generalize")


def test_a_column_of_which_nothing_is_said_is_wanted_where_no_other_is() -> None:
    head = HEAD.replace('"sensitive"', '"published"')
    made = turn(policy("frapp", "gamma = 0.3", head=head), "generalize").policy
    assert made.sensitive == ("ward",)
    assert [r.text for r in made.requirements] == ["alpha(ward)<=0.3", "distinct_l(ward)>=4"]
    both = head + 'bed = { role = "sensitive", domain = ["x", "y"] }\n'
    made = turn(policy("frapp", "gamma = 0.3", head=both), "generalize").policy
    assert (made.sensitive, made.named("other")) == (("bed",), ("ward",))


def test_lines_to_paste_make_the_policy() -> None:
    given = policy("frapp", "gamma = 0.3")
    made = turn(given, "generalize")
    lines = policy_lines(given, made)
    pasted = parse_policy(f"{HEAD}\n" + "\n".join(lines), Path(), METHODS)
    assert [r.text for r in pasted.requirements] == [r.text for r in made.policy.requirements]
    back = policy_lines(policy("generalize", more="[require]\nalpha_k = 0.3"), turn(pasted, "frapp"))
    assert back[:3] == ["[release]", 'method = "frapp"', "gamma = 0.3"]
    assert back[3] == "# and without [require], which frapp does not take"


REQUIRED = "[require]\nalpha_k = 0.4\ndistinct_l = 3"
SMALLEST = {
    "generalize": ("", REQUIRED),
    "mondrian": ("", REQUIRED),
    "hilbert": ("", REQUIRED),
    "sdgs": ("epsilon = 2\ndelta = 1e-6\nbeta = 0.1\nnode = { age = 1 }", ""),
    "noisy_counts": ("gamma = 0.4", ""),
    "alpha_beta": ('gamma = 0.4\nduplicates = "distinct"', ""),
    "frapp": ("gamma = 0.4", ""),
    "anatomy": ("", REQUIRED),
    "slicing": ("bucket = 5", REQUIRED),
    "disclose": ('goal = "risk"\nc = 1', ""),
}


@pytest.mark.parametrize("own", METHODS)
def test_a_policy_is_its_own(own: str) -> None:
    """Whatever the method, what it publishes by hand is what is compared."""
    given = policy(own, *SMALLEST[own])
    assert turn(given, own).policy is given


def test_a_node_that_a_search_may_have_found_never_goes_to_sdgs() -> None:
    """Its guarantee holds for levels that do not depend on the table."""
    more = "[require]\nk = 5\n[compare.sdgs]\nepsilon = 1\ndelta = 1e-6\nbeta = 0.5"
    given = policy("generalize", "node = { age = 1 }", more)
    with pytest.raises(PolicyError, match="sdgs does not search"):
        turn(given, "sdgs")
    assert type(METHODS["sdgs"]).best_for is Method.best_for, "and none is found for a workload"
    own = turn(policy("generalize", "node = { age = 1 }", f"{more}\nnode = {{ age = 0 }}"), "sdgs").policy
    assert own.release["node"] == {"age": 0}


def test_anatomy_takes_its_l_from_what_the_policy_promises() -> None:
    made = turn(policy("generalize", more="[require]\nalpha_k = 0.4"), "anatomy")
    assert [r.text for r in made.policy.requirements] == ["alpha(ward)<=0.4", "distinct_l(ward)>=3"]
    assert not made.assumed
    stronger = turn(policy("generalize", more="[require]\nalpha_k = 0.4\ndistinct_l = 4"), "anatomy")
    assert [r.text for r in stronger.policy.requirements] == ["alpha(ward)<=0.4", "distinct_l(ward)>=4"]
    assert turn(policy("generalize", more="[require]\nt = 0.4"), "anatomy").assumed


@pytest.mark.parametrize("own", METHODS)
def test_one_list_of_columns_serves_every_method(own: str) -> None:
    """Whichever method the policy is for: no column stands in the way of another method."""
    release, more = SMALLEST[own]
    numbers = "".join(f"[compare.{m}]\n{SMALLEST[m][0]}\n" for m in ("sdgs", "disclose", "alpha_beta") if m != own)
    given = policy(own, release, f"{more}\n{numbers}")
    for other in METHODS:
        made = turn(given, other).policy
        assert made.method == other
        assert [c.given["hierarchy"] for c in made.columns] == ["ranges:10", None]
        assert [c.given["domain"] for c in made.columns] == ["range:0..99", ("a", "b", "c", "d")]


def test_a_column_that_is_published_as_labels_is_not_compared_as_values() -> None:
    head = HEAD.replace('role = "sensitive"', 'role = "sensitive", hierarchy = "mask:3", level = 1')
    given = policy("frapp", "gamma = 0.4", head=head)
    with pytest.raises(PolicyError, match="'ward' is to be published as labels of a level, and this method publishes"):
        turn(given, "anatomy")
    assert turn(given, "noisy_counts").policy.columns[1].given["level"] == 1
