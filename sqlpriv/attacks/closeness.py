"""Skewness and similarity: a class may have many values and still differ from the whole table, or have similar ones.

How far beliefs move is t-closeness, by whatever distance the values have, and the largest gain in one value is
beta-likeness. Values are similar where a hierarchy puts them under one label: a class of stomach diseases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from sqlpriv.attacks.findings import Figure, Finding, Findings, Pair, number, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.attacks.homogeneity import numbers as homogeneous
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted

ATTACK = "skewness and similarity"
_TREE, _LABELLED, _LABEL = "__tree", "__labelled", "__label"


def attack(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], trees: Mapping[str, pa.Table]) -> Findings:
    """Of each sensitive column, how far the worst class differs from the whole, and how much beliefs grow.

    `trees` are hierarchies of sensitive columns, as wide tables.
    """
    for column, guess in own.items():
        private, tree = raw.get(column), trees.get(column)
        pair = Pair(_numbers(guess, tree), {} if private is None else _numbers(private, tree))
        yield Finding(ATTACK, _sentence(column, pair), tuple(_figures(pair)), column)


def _numbers(guess: ClassGuess, tree: pa.Table | None) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    mean = "sum(size * value) / sum(size), max(value)"
    found["mean_t"], found["worst_t"] = map(float, guess.by_class("t_closeness_classes", mean))
    found["largest_factor"] = guess.value("beta_likeness", "1 + beta")
    if _is_ordered(guess):
        found["worst_t_ordered"] = guess.value("t_closeness_ordered", "t")
    if tree is not None:
        guess.calls.con.register(_TREE, tree)
        if _covers(guess):
            found["worst_t_similar"] = guess.value("t_closeness_hierarchical", "t", _TREE)
            if tree.num_columns > 2:  # else nothing stands between the values and the top
                found["certain_group"] = homogeneous(_with_labels(guess))["certain"]
        guess.calls.con.unregister(_TREE)
    return found


def _is_ordered(guess: ClassGuess) -> bool:
    """Whether its values have an order in which some are nearer than others: numbers, and times."""
    kinds = {str(r[0]): str(r[1]) for r in fetch(guess.calls.con, f"DESCRIBE FROM {guess.table}")}
    kind = next((k for name, k in kinds.items() if name.lower() == guess.sensitive.lower()), "")
    return NUMERIC_TYPE.fullmatch(kind) is not None or kind.startswith(("DATE", "TIME"))


def _labels(guess: ClassGuess) -> str:
    """Each value of the hierarchy as text, with the label one level above it."""
    value, label = (quoted(str(r[0])) for r in fetch(guess.calls.con, f"DESCRIBE FROM {_TREE}")[:2])
    return f"(SELECT {value} AS __value, {label} AS {_LABEL} FROM {_TREE})"


def _covers(guess: ClassGuess) -> bool:
    """Whether the hierarchy has every value of the column; a release may hold others."""
    values = f"SELECT DISTINCT CAST({quoted(guess.sensitive)} AS VARCHAR) AS v FROM {guess.table}"
    known = f"SELECT __value FROM {_labels(guess)}"
    return not fetch(guess.calls.con, f"SELECT count(*) FROM ({values} EXCEPT {known})")[0][0]


def _with_labels(guess: ClassGuess) -> ClassGuess:
    """The same guess of the label one level above the value."""
    con = guess.calls.con
    kept = ", ".join(quoted(c) for c in (*guess.classes, *filter(None, [guess.person])))
    rows = (
        f"SELECT {kept}, {_LABEL} FROM {guess.table} JOIN {_labels(guess)} "
        f"ON CAST({quoted(guess.sensitive)} AS VARCHAR) IS NOT DISTINCT FROM __value"
    )
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {_LABELLED} AS {rows}")
    return replace(guess, table=_LABELLED, sensitive=_LABEL)


_WORDS = {
    "worst_t": ("how far the worst class differs from the whole (t)", True),
    "mean_t": ("how far classes differ from the whole, for a person on average", True),
    "largest_factor": ("the largest factor by which belief in a value grows", False),
    "worst_t_ordered": ("the same as t, with the values in their order", True),
    "worst_t_similar": ("the same as t, by the hierarchy of the values", True),
    "certain_group": ("people whose value is certain up to similar ones", False),
}


def _figures(pair: Pair) -> Iterator[Figure]:
    for name, (words, is_share) in _WORDS.items():
        if name in pair.own:
            yield pair.figure(name, words, is_share=is_share, is_drawn=name == "certain_group")


def _sentence(column: str, pair: Pair) -> str:
    own = pair.own
    text = (
        f"In the worst class {number(own['worst_t'])} of the belief in {column} is elsewhere than in the whole table"
        f"{pair.raw_text('worst_t', 'in the private table:')}; belief in one value grows by a factor of up to "
        f"{number(own['largest_factor'])}{pair.raw_text('largest_factor', 'there:')}."
    )
    if "certain_group" in own:
        text += (
            f" Of {people(own['certain_group'])}{pair.raw_text('certain_group', 'there:')} it is certain in which "
            "group of similar values theirs is."
        )
    return text
