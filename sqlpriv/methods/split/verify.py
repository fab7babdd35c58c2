"""Judge what only releases in buckets have: sides, buckets, the numbers made from them, and what is required of them.

What the file cannot tell: that its rows are those of the private table, and that random numbers decided which bucket a
row is in. Publishing compares the first; the second is the program's word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.verify import checked_requirement
from sqlpriv.methods.split.layout import BUCKET, Layout, can_judge, side_table
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.plan import Measures
from sqlpriv.methods.split.policy import PUBLISHED
from sqlpriv.methods.split.write import ATTRIBUTES, Words
from sqlpriv.release import layout as declared
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Names, ShownAs, Stored, flag, one_of
from sqlpriv.release.verify import Check, check_all, is_close


def file_layout(numbers: Names) -> declared.Layout:
    """What every file in buckets holds; `numbers` are those of the method."""
    return declared.Layout(
        attributes=ATTRIBUTES,
        about={
            "spread": lambda text: text == "" or declared.name(text),
            "groups_chosen": flag,
            "suppressed_rows": one_of("0"),
        },
        numbers=numbers,
        is_attribute=lambda c: c["role"] in PUBLISHED and isinstance(c["side"], int) and c["side"] >= 1,
        requires=True,
    )


def declared_layout(file: ReleaseFile) -> Layout:
    """The sides and buckets as a file declares them."""
    sides: dict[int, list[str]] = {}
    for c in file.attributes:
        sides.setdefault(int(c["side"]), []).append(str(c["name"]))
    roles = {str(c["name"]): str(c["role"]) for c in file.attributes}
    least = int(file.parameters.get("l", file.parameters.get("bucket", 1)))
    return Layout(tuple(tuple(sides[i]) for i in sorted(sides)), roles, least, file.about["spread"] or None)


def file_contents(file: ReleaseFile, words: Words) -> Contents:
    """A table for each side, and a view of it."""
    table, kinds = file.about["table"], {str(c["name"]): str(c["type"]) for c in file.attributes}

    def shown(number: int, side: Sequence[str]) -> ShownAs:
        return ShownAs(words.view(table, number), lambda name: words.statement(name, number, side))

    sides = declared_layout(file).sides
    return Contents(
        tuple(
            Stored(SCHEMA, side_table(i), {BUCKET: "BIGINT", **{c: kinds[c] for c in side}})
            for i, side in enumerate(sides)
        ),
        views=tuple(shown(i, side) for i, side in enumerate(sides)),
    )


@dataclass(frozen=True)
class Judge:
    """What judging needs to know of a method."""

    measures: Measures
    own_checks: Callable[[Sides, Mapping[str, float]], Iterator[Check]]
    chooses_groups: bool
    """Whether the table chooses the groups of columns where the policy gives none."""


def verify_buckets(judge: Judge, file: ReleaseFile) -> Iterator[Check]:
    """All checks that only releases in buckets need."""
    layout = declared_layout(file)
    yield check_all("columns are in sides, and a sensitive one is spread", _wrong_sides(judge, file, layout))
    sides = [file.table(side_table(i)) for i in range(len(layout.sides))]
    yield _buckets(file, sides)
    asked = Sides(file.con, Calls(file.con), layout, sides)
    yield from _numbers(judge, file, asked)
    for row in file.rows("requirements"):
        yield _requirement(file, row, asked)


def _wrong_sides(judge: Judge, file: ReleaseFile, layout: Layout) -> Iterator[str]:
    """Sides are numbered, there are two at least, and where the policy says which columns stay together, they do."""
    numbered = sorted({int(c["side"]) for c in file.attributes})
    if numbered != list(range(1, len(numbered) + 1)) or len(numbered) < 2:
        yield "the sides are not numbered, or there is one alone"
    if layout.spread and layout.roles.get(layout.spread) != "sensitive":
        yield "the column that is spread is not sensitive"
    part = file.policy
    given = part.get("release", {}).get("groups") if isinstance(part, dict) else None
    if given is not None and [{folded(c) for c in g} for g in given] != [{folded(c) for c in s} for s in layout.sides]:
        yield "columns do not stand together as the policy says"
    if (file.about["groups_chosen"] == "yes") != (judge.chooses_groups and given is None):
        yield "it does not say whether the table chose the groups"


def _buckets(file: ReleaseFile, sides: Sequence[str]) -> Check:
    """Buckets are numbered from 0, and have as many rows on every side."""
    counts = [f"SELECT {quoted(BUCKET)} AS b, count(*) AS n FROM {side} GROUP BY 1" for side in sides]
    first = fetch(file.con, f"SELECT count(*), min(b), max(b) FROM ({counts[0]})")[0]
    numbered = first[0] > 0 and first[1:] == (0, first[0] - 1)
    unlike = [
        fetch(file.con, f"SELECT count(*) FROM ({one} EXCEPT {other})")[0][0]
        for count in counts[1:]
        for one, other in ((counts[0], count), (count, counts[0]))
    ]
    found = "" if numbered else "they are not numbered from 0"
    found = found or ("" if not any(unlike) else f"{max(unlike):,} buckets have other sizes on another side")
    return Check("every bucket has as many rows on every side", not found, found)


def _numbers(judge: Judge, file: ReleaseFile, asked: Sides) -> Iterator[Check]:
    """The numbers of the file are those of its buckets."""
    try:
        found = judge.measures(asked)
    except SqlprivError as error:
        yield Check("the numbers can be computed again", False, str(error))
        return
    declared = file.parameters
    yield from judge.own_checks(asked, found)
    wrong = sorted(set(found) ^ set(declared)) + [
        n for n in found if n in declared and not is_close(found[n], declared[n])
    ]
    yield check_all("the numbers are those of the buckets", [f"not {wrong[0]}"] if wrong else [])


def _requirement(file: ReleaseFile, row: Mapping[str, Any], asked: Sides) -> Check:
    """Judge a requirement that the file declares by its buckets."""
    required = checked_requirement(file, row)
    if isinstance(required, Check):
        return required
    if not can_judge(required):
        return Check(required.text, False, "it cannot be judged by buckets")
    try:
        value = asked.value(required)
    except SqlprivError as error:
        return Check(required.text, False, str(error))
    return Check(required.text, required.holds(value), f"is {shown_number(value)}")
