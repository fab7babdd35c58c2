"""Exact distributions of what sampled k-anonymity publishes of tiny tables, from all outcomes of its coins."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import pytest

from sqlpriv.core.engine import fetch
from sqlpriv.methods.generalized.write import write_node_labels
from sqlpriv.methods.sdgs import classes
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.plan import SdgsPlan

Distribution = dict[Any, float]


def slipped(one: Distribution, other: Distribution, epsilon: float) -> float:
    """The delta that is needed for this epsilon, in the stricter sense of the paper: the chance of a bad outcome."""
    bad = [
        s for s in {*one, *other}
        if not math.exp(-epsilon) - 1e-12 <= one.get(s, 0) / (other.get(s, 0) or 1e-300) <= math.exp(epsilon) + 1e-9
    ]  # fmt: skip
    return max(math.fsum(d.get(s, 0) for s in bad) for d in (one, other))


def thrown(plan: SdgsPlan, group: Group, monkeypatch: pytest.MonkeyPatch) -> tuple[Distribution, set[str]]:
    """The distribution of what the code itself publishes of a group, and by what it knows the coins of its rows."""
    con, node, terms = plan.source.con, plan.node, plan.terms
    asked: list[str] = []
    assert node is not None
    counted, labels = classes.write_rows(plan.scan, plan.policy, ""), write_node_labels(plan.scan, node)
    held = classes.write_classes(plan.scan, counted, labels, group, plan.source.scratch)

    def instead(text: str) -> str:
        """The coin looked up, in the place of the coin thrown."""
        start, end = "_coin_share(_coin_bits('', ", "))"
        assert text.startswith(start)
        assert text.endswith(end)
        asked.append(text.removeprefix(start).removesuffix(end))
        return f"(SELECT w.share FROM __coins AS w WHERE w.n = {asked[-1]})"

    found: Distribution = Counter()
    with monkeypatch.context() as patch:
        patch.setattr(classes, "inlined", instead)
        fetch(con, "CREATE OR REPLACE TABLE __coins AS SELECT '' AS n, 0.5 AS share WHERE false")
        classes.write_sample(plan.scan, held, group, terms.k, terms.beta, "")
        copies = f"SELECT name, unnest(range(rows)) AS copy FROM {held}"
        keys = [str(key) for (key,) in fetch(con, f"SELECT {asked[0]} FROM ({copies}) ORDER BY ALL")]
        for heads in itertools.product([True, False], repeat=len(keys)):
            listed = ", ".join(f"('{key}', {0.0 if h else 0.99})" for key, h in zip(keys, heads, strict=True))
            fetch(con, f"CREATE OR REPLACE TABLE __coins AS FROM (VALUES {listed}) AS v(n, share)")
            sample = classes.write_sample(plan.scan, held, group, terms.k, terms.beta, "").relation
            shown = fetch(con, f"SELECT name, seen FROM {sample} WHERE seen >= {terms.k} ORDER BY ALL")
            found[tuple(shown)] += math.prod(terms.beta if h else 1 - terms.beta for h in heads)
    assert len(set(keys)) == len(keys) == plan.scan.rows  # a coin for each row
    return found, set(keys)
