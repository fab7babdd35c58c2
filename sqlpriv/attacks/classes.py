"""What classes reveal: people who are equal in what an attacker knows of them, and their sensitive values.

Homogeneity: a class in which everybody has the same value reveals it of all its people (the lecture's Bob).

Background knowledge: values that a person is known not to have (the lecture's Umeko), and facts that tie people. Both
are the worst case over what an attacker may know: the negations of a class that reveal most, and the implications
between people of any classes that do, which is (c,k)-safety. Where somebody's value is certain anyway, one implication
from there reveals the value of anybody.

Skewness and similarity: a class may have many values and still differ from the whole table, or have similar ones. How
far beliefs move is t-closeness, by whatever distance the values have, and the largest gain in one value is
beta-likeness. Values are similar where a hierarchy puts them under one label: a class of stomach diseases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, number, of_all, people
from sqlpriv.attacks.guesses import ClassGuess
from sqlpriv.attacks.target import AttackOptions, Knowledge, Target
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Grid
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, quoted

HOMOGENEITY, BACKGROUND, CLOSENESS = "homogeneity", "background knowledge", "skewness and similarity"
_NOISE = (
    "random noise decides which rows are published, so no row and no class says anything for certain of anybody; the "
    "linking attacker says how much they reveal"
)
_SHOWN = 5
_LABEL = "__label"


def attack(target: Target, options: AttackOptions) -> Findings:
    """The three attacks, each on every sensitive column; where there are no classes, why."""
    why = _why_no_classes(target)
    if why is not None:
        yield from (NotRun(name, why) for name in (HOMOGENEITY, BACKGROUND, CLOSENESS))
        return
    yield from homogeneity(target.own, target.raw, options.show_values)
    yield from background(target.own, target.raw, options.knows)
    yield from closeness(target.own, target.raw, target.trees)


def _why_no_classes(target: Target) -> str | None:
    if target.bounds_beliefs:
        return _NOISE
    if not target.own:
        return "no column is sensitive, so there is no value to guess"
    if not all(guess.classes for guess in target.own.values()):
        return "no column is a quasi-identifier, so nobody's class can be found"
    return None if target.method is None else target.method.why_no_classes(target.files[0])


def homogeneity(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], show_values: bool) -> Findings:
    """Of each sensitive column, how many people's value is certain, and how many are guessed right."""
    figures = (
        Figure("people", "people who are in it"),
        Figure("certain", "people whose value is certain", is_drawn=True),
        Figure("homogeneous_classes", "classes of one value"),
        Figure("guessed_right", "people guessed right, by the commonest value of their class", is_drawn=True),
        Figure("surest_guess", "the surest guess", is_share=True),
    )
    for column, guess in own.items():
        pair = Pair(guess.homogeneity(), raw[column].homogeneity() if column in raw else {})
        sentence = (
            f"An attacker who finds the class of a person knows {column} for certain of "
            f"{of_all(pair.own['certain'], pair.own['people'])}{pair.raw_text('certain', 'in the private table:')}, "
            f"and guesses it right of {people(round(pair.own['guessed_right'] or 0))}"
            f"{pair.raw_text('guessed_right', 'there:')}."
        )
        private = (_homogeneous_classes(guess),) if show_values else ()
        yield AttackFinding(HOMOGENEITY, sentence, pair.figures(figures), column, private=private)


def _homogeneous_classes(guess: ClassGuess) -> Grid:
    """The classes to blame, the largest first: values of people, for the owner alone."""
    call = guess.call("alpha_k_anonymity_classes", threshold=True)
    found = fetch(
        guess.calls.con,
        f"SELECT class, size FROM {call} WHERE value = 1 ORDER BY size DESC, CAST(class AS VARCHAR) LIMIT {_SHOWN}",
    )
    rows = tuple((", ".join(f"{k} {v}" for k, v in names.items()), size) for names, size in found)
    title = f"The largest classes in which {guess.sensitive} is certain"
    return Grid(("class", "people"), rows, title, folded=("class",), private=True)


@dataclass(frozen=True)
class BackgroundCase:
    """Knowledge of one kind and amount: what it is called, what it is, and the check that says what it gives."""

    name: str
    words: str
    macro: str
    argument: int

    def numbers(self, guess: ClassGuess) -> dict[str, float | None]:
        """The people of classes in which such knowledge can make a value certain, and the surest guess of all."""
        columns = "coalesce(sum(size) FILTER (value >= 1 - 1e-12), 0), least(max(value), 1)"
        certain, surest = guess.by_class(self.macro, columns, self.argument)
        return {"certain": float(certain), "surest_guess": float(surest)}


def cases(knows: Knowledge) -> Iterator[BackgroundCase]:
    """All that is asked for; n negations are the l - 2 of the lecture."""
    for n in range(1, knows.negations + 1):
        words = f"{n} value{'s' if n > 1 else ''} that a person does not have"
        yield BackgroundCase(f"{n} negation{'s' if n > 1 else ''}", words, "negation_diversity_classes", n + 2)
    for k in range(1, knows.implications + 1):
        words = f"{k} fact{'s' if k > 1 else ''} like 'if one has this value, another has that'"
        yield BackgroundCase(f"{k} implication{'s' if k > 1 else ''}", words, "ck_safety_classes", k)


def background(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], knows: Knowledge) -> Findings:
    """Of each sensitive column, of how many people it can be known for certain, and how sure the surest guess is."""
    figures = (
        Figure("certain", "people whose value can be known for certain", is_drawn=True),
        Figure("surest_guess", "the surest guess", is_share=True),
    )
    for column, guess in own.items():
        for case in cases(knows):
            pair = Pair(case.numbers(guess), case.numbers(raw[column]) if column in raw else {})
            sentence = (
                f"An attacker who also knows {case.words} can know {column} for certain of "
                f"{people(pair.own['certain'])}{pair.raw_text('certain', 'in the private table:')}; the surest guess "
                f"has a probability of {number(pair.own['surest_guess'])}{pair.raw_text('surest_guess', 'there:')}."
            )
            yield AttackFinding(BACKGROUND, sentence, pair.figures(figures), column, case.name)


def closeness(own: Mapping[str, ClassGuess], raw: Mapping[str, ClassGuess], trees: Mapping[str, pa.Table]) -> Findings:
    """Of each sensitive column, how far the worst class differs from the whole, and how much beliefs grow.

    `trees` are hierarchies of sensitive columns, as wide tables.
    """
    figures = (
        Figure("worst_t", "how far the worst class differs from the whole (t)", is_share=True),
        Figure("mean_t", "how far classes differ from the whole, for a person on average", is_share=True),
        Figure("largest_factor", "the largest factor by which belief in a value grows"),
        Figure("worst_t_ordered", "the same as t, with the values in their order", is_share=True),
        Figure("worst_t_similar", "the same as t, by the hierarchy of the values", is_share=True),
        Figure("certain_group", "people whose value is certain up to similar ones", is_drawn=True),
    )
    for column, guess in own.items():
        tree = trees.get(column)
        pair = Pair(_closeness_numbers(guess, tree), _closeness_numbers(raw[column], tree) if column in raw else {})
        sentence = (
            f"In the worst class {number(pair.own['worst_t'])} of the belief in {column} is elsewhere than in the "
            f"whole table{pair.raw_text('worst_t', 'in the private table:')}; belief in one value grows by a factor "
            f"of up to {number(pair.own['largest_factor'])}{pair.raw_text('largest_factor', 'there:')}."
        )
        if "certain_group" in pair.own:
            sentence += (
                f" Of {people(pair.own['certain_group'])}{pair.raw_text('certain_group', 'there:')} it is certain in "
                "which group of similar values theirs is."
            )
        yield AttackFinding(CLOSENESS, sentence, pair.figures(figures), column)


def _closeness_numbers(guess: ClassGuess, tree: pa.Table | None) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    mean = "sum(size * value) / sum(size), max(value)"
    found["mean_t"], found["worst_t"] = map(float, guess.by_class("t_closeness_classes", mean))
    found["largest_factor"] = guess.value("beta_likeness", "1 + beta")
    if _is_ordered(guess):
        found["worst_t_ordered"] = guess.value("t_closeness_ordered", "t")
    if tree is None:
        return found
    value = f"CAST({quoted(guess.sensitive)} AS VARCHAR)"
    with guess.scratch.nested() as scope:
        paths = scope.arrow(tree, "tree").name
        # Each value of the hierarchy as text, with the label one level above it.
        leaf, above = (quoted(name) for name in tree.column_names[:2])
        labels = f"(SELECT {leaf} AS __value, {above} AS {_LABEL} FROM {paths})"
        other = f"SELECT DISTINCT {value} FROM {guess.table} EXCEPT SELECT __value FROM {labels}"
        if fetch(scope.con, f"SELECT count(*) FROM ({other})")[0][0]:  # a release may hold values that it does not have
            return found
        found["worst_t_similar"] = guess.value("t_closeness_hierarchical", "t", paths)
        if tree.num_columns > 2:  # else nothing stands between the values and the top
            columns = ", ".join(quoted(c) for c in (*guess.classes, *filter(None, [guess.person])))
            joined = f"{guess.table} JOIN {labels} ON {value} IS NOT DISTINCT FROM __value"
            labelled = scope.table(f"SELECT {columns}, {_LABEL} FROM {joined}", "labelled")
            found["certain_group"] = replace(guess, table=labelled.name, sensitive=_LABEL).homogeneity()["certain"]
    return found


def _is_ordered(guess: ClassGuess) -> bool:
    """Whether its values have an order in which some are nearer than others: numbers, and times."""
    kinds = {str(r[0]): str(r[1]) for r in fetch(guess.calls.con, f"DESCRIBE FROM {guess.table}")}
    kind = next((k for name, k in kinds.items() if folded(name) == folded(guess.sensitive)), "")
    return NUMERIC_TYPE.fullmatch(kind) is not None or kind.startswith(("DATE", "TIME"))
