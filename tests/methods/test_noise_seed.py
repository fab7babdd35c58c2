"""What noise is made from is frozen: with its key a release of an earlier version comes out again, to the last row."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.policies import write_policy

from sqlpriv.methods import METHODS
from sqlpriv.publishing import planned, read_policy
from sqlpriv.publishing.draft import first_edition, noise_seed
from sqlpriv.publishing.noise import NoiseSeed

pytestmark = pytest.mark.one_version

KEY = b"a key for tests, not a secret"
ILLS = ("flu", "cold", "mumps", "gout")
PEOPLE = "age,ill\n" + "".join(f"{20 + i % 7},{ILLS[i * i % 4 if i % 3 else 3]}\n" for i in range(400))
NOISY = """
age = { role = "quasi-identifier", domain = "range:20..29" }
ill = { role = "sensitive", domain = ["flu", "cold", "mumps", "gout"] }
[release]
uncovered = "a test"
gamma = 0.5
"""
APART = """
age = { role = "quasi-identifier" }
ill = { role = "sensitive" }
"""
SAMPLED = """
age = { role = "quasi-identifier", hierarchy = "ranges:5,10" }
ill = { role = "sensitive" }
[release]
node = { age = 1 }
epsilon = 1.0
k = 3
beta = 0.2
"""
ROWS, TUPLES, SET = (
    "5d922977a8586a7e-32d4cdd2da0538c5-bd0d824c2fca7073-7332382f4c797c5f",
    "9a18a6a973d96645-9ceef060ea3842bb-945d5e801bfbca6e-86c920c914cb8993",
    "ba778b2f3eb6cf71-a7ce5e24be5e8a09-bbf4189d785b6e13-9a2749d915e270f1",
)
DOMAIN = '"domain": "948b41ce117f47bb3b575c1dfe4991c4ed450f9a713680471a27fa1a16e70b0a"'
# By name: the policy, the message that the key is applied to, and the prefix of the first view that comes of it.
GOLDEN = {
    "alpha_beta distinct": (
        NOISY + 'method = "alpha_beta"\nduplicates = "distinct"',
        f'{{"adversary": "exclusive", "alpha": 0.09999999999999998, "beta": 0.4, "d": 0.4, {DOMAIN}, '
        '"gamma": 0.5, "method": "alpha_beta", "rate": null, "slots": 1, "stay": 0.0, "views": 1}',
        SET,
        "4cb0f8b69e1e89a9abd576971e094d0d5c89d5572af811cbb499273203eecdc3",
    ),
    "alpha_beta slots": (
        NOISY + 'method = "alpha_beta"\nslots = 90',
        '{"adversary": "exclusive", "alpha": 0.4955555555555556, "beta": 0.004444444444444444, '
        f'"d": 0.4, {DOMAIN}, "gamma": 0.5, "method": "alpha_beta", "rate": null, "slots": 90, "stay": 0.0, '
        '"views": 1}',
        TUPLES,
        "24e5b13d96d05a2df39385ed5d55c492f8caee5a7e5b58fba78c707bdaee23fd",
    ),
    "alpha_beta sequence": (
        NOISY + 'method = "alpha_beta"\nviews = 3\nslots = 90\nadversary = "independent"',
        '{"adversary": "independent", "alpha": 0.492786170218316, "beta": 0.007213829781683984, '
        f'"d": 0.4, {DOMAIN}, "gamma": 0.5, "key": "a8131a9338e1ae31762a0ba876a10094", '
        '"method": "alpha_beta", "rate": null, "slots": 90, "stay": 0.0, "views": 3}',
        TUPLES,
        "5c8e230d085dc2c44dce3085ccf072cc33bd5fd5f2bd390c6dca443c84cb1cbe",
    ),
    "noisy_counts one-sided": (
        NOISY + 'method = "noisy_counts"\np = 0.1',
        f'{{"adversary": "informed", "alpha": null, "beta": null, "d": 0.4, {DOMAIN}, "gamma": 0.5, '
        '"method": "alpha_beta", "p": 0.1, "q": 0.22222222222222235, "rate": null, "stay": 0.0}',
        TUPLES,
        "c2204b8a1ba7c2192f078a21ea202684726320ac42b3bb4fe50541da74730f7a",
    ),
    "noisy_counts signed": (
        NOISY.replace("0.5", "0.9") + 'method = "noisy_counts"',
        f'{{"a": 0.2721655269759086, "adversary": "informed", "alpha": null, "beta": null, "d": 0.4, {DOMAIN}, '
        '"gamma": 0.9, "method": "alpha_beta", "rate": null, "stay": 0.0}',
        TUPLES,
        "041fd6f2c1c9d84eeffc0a1f09f73b9a1d39e918241010ef48dc87b5968d14cc",
    ),
    "frapp": (
        NOISY + 'method = "frapp"',
        f'{{"adversary": "independent", "alpha": 0.0, "beta": 0.0, "d": 0.4, {DOMAIN}, "gamma": 0.5, '
        '"method": "frapp", "rate": null, "slots": 1, "stay": 0.037037037037037035, "views": 1}',
        TUPLES,
        "9b25b2f2f6eb596cd98e87a8745cdff888b0fb204e7de2d5baad62afa8f2d6c4",
    ),
    "sdgs": (
        SAMPLED + 'method = "sdgs"',
        '{"beta": 0.2, "columns": {"age": ["quasi-identifier", "ranges:5,10", "None", "False", '
        '"refuse", "None"], "ill": ["sensitive", "None", "False", "refuse", "None", "None"]}, '
        '"delta": 0.027200000000000023, "epsilon": 1.0, "k": 3.0, '
        '"labels": "2b9d5dd21988ada6-23300257576ecfab-41efff6eb94bd0d3-2604f6aa4be1e085", '
        '"method": "sdgs", "node_epsilon": 0.0, "nodes": [{"age": 1}], '
        '"replaced_delta": 0.10113726573408612, "replaced_epsilon": 2.0, "rows_each": 1.0, '
        '"total_delta": 0.027200000000000023, "total_epsilon": 1.0}',
        ROWS,
        "84dac8c303ab257bd5749c6378320a6250f7370e596c2a8d4eb7b375a521347d",
    ),
    "anatomy": (
        APART + '[require]\ndistinct_l = 2\n[release]\nmethod = "anatomy"',
        '{"least": 2, "method": "anatomy", "requirements": ["distinct_l(ill)>=2"], '
        '"roles": {"age": "quasi-identifier", "ill": "sensitive"}, "sides": [["age"], ["ill"]], '
        '"spread": "ill"}',
        ROWS,
        "73cec94c77af6ee8ce91ceb612c25c554c0568e4392533e99522f24570e38895",
    ),
    "slicing": (
        APART + '[release]\nmethod = "slicing"\ngroups = [["age"], ["ill"]]\nbucket = 4',
        '{"least": 4, "method": "slicing", "requirements": [], "roles": {"age": "quasi-identifier", '
        '"ill": "sensitive"}, "sides": [["age"], ["ill"]], "spread": null}',
        ROWS,
        "28ec67907a7c9e3db999aa558ced9a0b1b9ad8eee720ced1d40ccc54dcfc2b4b",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_bytes_that_noise_is_made_from_stay(tmp_path: Path, name: str) -> None:
    text, parameters, digest, prefix = GOLDEN[name]
    path = write_policy(tmp_path, f'[table]\nsource = "people.csv"\n[columns]{text}', files={"people.csv": PEOPLE})
    with planned(read_policy(path)) as plan:
        method = METHODS[plan.policy.method]
        seed = noise_seed(method, plan, KEY)
        assert seed.message(1).decode() == f'["sqlpriv", {parameters}, "{digest}", 1]'
        edition = first_edition(method, plan, KEY)
    assert edition.prefix == prefix
    slots = "85ddbe61abb550a7c7c91ac363cd6e217f27b689b338e0ef5a9ff7a4610e30f7"
    assert edition.slots == (slots if name == "alpha_beta sequence" else prefix)


def test_every_method_that_randomizes_declares_its_tag() -> None:
    """A method may be renamed; its tag may not."""
    tags = {name: method.noise_tag for name, method in METHODS.items() if method.draws}
    own = {name: name for name in ("sdgs", "alpha_beta", "frapp", "anatomy", "slicing")}
    assert tags == {**own, "noisy_counts": "alpha_beta"}


def test_any_change_of_the_seed_gives_other_noise() -> None:
    seed = NoiseSeed("tag", {"k": 1}, "digest")
    others = (
        NoiseSeed("other", {"k": 1}, "digest"),
        NoiseSeed("tag", {"k": 2}, "digest"),
        NoiseSeed("tag", {"k": 1}, ""),
    )
    assert (
        len({seed.prefix(KEY, 1), seed.prefix(KEY, 2), seed.prefix(b"x", 1), *(o.prefix(KEY, 1) for o in others)}) == 6
    )
