"""Judge what only releases in buckets have: sides, buckets, the numbers made from them, and what is required of them.

What the file cannot show: that its rows are those of the private table, and that random numbers decided which bucket a
row is in. Publishing compares the first; the second is the program's word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.verify import checked_requirement
from sqlpriv.methods.split.layout import BUCKET, BucketLayout, Sides, side_table
from sqlpriv.methods.split.plan import BucketRules, Words
from sqlpriv.methods.split.policy import PUBLISHED, can_judge
from sqlpriv.methods.split.write import ATTRIBUTES
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Layout, NumberNames, ShownAs, Stored, flag, name, one_of
from sqlpriv.release.verify import Check, check_all, is_close


def file_layout(numbers: NumberNames) -> Layout:
    """What every file in buckets holds; `numbers` are those of the method."""
    return Layout(
        attributes=ATTRIBUTES,
        about={
            "spread": lambda text: text == "" or name(text),
            "groups_chosen": flag,
            "suppressed_rows": one_of("0"),
        },
        numbers=numbers,
        is_attribute=lambda c: c["role"] in PUBLISHED and isinstance(c["side"], int) and c["side"] >= 1,
        requires=True,
    )


def declared_layout(file: ReleaseFile) -> BucketLayout:
    """The sides and buckets as a file declares them."""
    sides: dict[int, list[str]] = {}
    for c in file.attributes:
        sides.setdefault(int(c["side"]), []).append(str(c["name"]))
    roles = {str(c["name"]): str(c["role"]) for c in file.attributes}
    least = int(file.parameters.get("l", file.parameters.get("bucket", 1)))
    return BucketLayout(tuple(tuple(sides[i]) for i in sorted(sides)), roles, least, file.about["spread"] or None)


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


def verify_buckets(rules: BucketRules, file: ReleaseFile) -> Iterator[Check]:
    """All checks that only releases in buckets need."""
    layout = declared_layout(file)
    yield check_all("columns are in sides, and a sensitive one is spread", _wrong_sides(rules, file, layout))
    sides = Sides(file.con, Calls(file.con), layout, [file.table(side_table(i)) for i in range(len(layout.sides))])
    yield _buckets(sides)
    try:
        found = rules.measures(sides)
    except SqlprivError as error:
        yield Check("the numbers can be computed again", False, str(error))
    else:
        yield from rules.own_checks(sides, found)
        said = file.parameters
        wrong = sorted(set(found) ^ set(said)) + [n for n in found if n in said and not is_close(found[n], said[n])]
        yield check_all("the numbers are those of the buckets", [f"not {wrong[0]}"] if wrong else [])
    for row in file.rows("requirements"):
        yield _requirement(file, row, sides)


def _wrong_sides(rules: BucketRules, file: ReleaseFile, layout: BucketLayout) -> Iterator[str]:
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
    if (file.about["groups_chosen"] == "yes") != (rules.chooses_groups and given is None):
        yield "it does not say whether the table chose the groups"


def _buckets(sides: Sides) -> Check:
    """Buckets are numbered from 0, and have as many rows on every side."""
    counts = [f"SELECT {quoted(BUCKET)} AS b, count(*) AS n FROM {table} GROUP BY 1" for table in sides.tables]
    number, first, last = fetch(sides.con, f"SELECT count(*), min(b), max(b) FROM ({counts[0]})")[0]
    unlike = [
        fetch(sides.con, f"SELECT count(*) FROM ({one} EXCEPT {other})")[0][0]
        for count in counts[1:]
        for one, other in ((counts[0], count), (count, counts[0]))
    ]
    found = ""
    if number == 0 or (first, last) != (0, number - 1):
        found = "they are not numbered from 0"
    elif any(unlike):
        found = f"{max(unlike):,} buckets have other sizes on another side"
    return Check("every bucket has as many rows on every side", not found, found)


def _requirement(file: ReleaseFile, row: Mapping[str, Any], sides: Sides) -> Check:
    """Judge a requirement that the file declares by its buckets."""
    required = checked_requirement(file, row)
    if isinstance(required, Check):
        return required
    if not can_judge(required):
        return Check(required.text, False, "it cannot be judged by buckets")
    try:
        value = sides.value(required)
    except SqlprivError as error:
        return Check(required.text, False, str(error))
    return Check(required.text, required.holds(value), f"is {shown_number(value)}")
