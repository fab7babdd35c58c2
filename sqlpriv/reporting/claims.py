"""What a release promises, in two sentences, and to whom: from what the release says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.facts import Facts, Grid, Line
from sqlpriv.reporting.sections import Section


def guarantee(shown: Facts) -> Section:
    """The guarantee, first in two sentences, then in full."""
    return Section("guarantee", "What is promised", (Line(_in_short(shown.content)), *_in_full(shown)))


def _in_short(content: Mapping[str, Any]) -> str:
    if content.get("requirements"):
        met = [str(r["requirement"]) for r in content["requirements"]]
        first = str(content["requirements"][0]["guarantee"]).partition(". ")[0].rstrip(".")
        return f"Every class of people in this release meets {' and '.join(met)}. {first[:1].upper()}{first[1:]}."
    return " ".join(_sentences(str(content.get("guarantee") or "This release states no guarantee."))[:2])


def _sentences(text: str) -> list[str]:
    return [f"{part.rstrip('.')}." for part in text.split(". ")]


def _in_full(shown: Facts) -> Iterator[Line]:
    """What the release claims in its own words, with what it adds to it."""
    for part in shown.parts:
        if isinstance(part, Line) and (part.mark == "claimed" or part.text.startswith("- ")):
            yield Line(part.text, "claimed" if part.mark else "")
    yield from (Line(warning, "warning") for warning in shown.warnings)


def covered(shown: Facts) -> Section:
    """Who is covered, and who is not."""
    content = shown.content
    grid = Grid(("who", "covered?"), tuple(_attackers(content)), "Attackers and people", folded=("who", "covered?"))
    return Section("covered", "Who is covered, and who is not", (grid,))


def _attackers(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    qis = [c["name"] for c in content["columns"] if c.get("role") == "quasi-identifier"]
    if content.get("attackers"):
        for one in content["attackers"]:
            after = f"belief {one['prior']:.3g} becomes at most {one['posterior']:.3g}"
            yield f"knows {one['knows']}, wants {one['wants']}", f"{'yes' if one['covered'] else 'NO'}: {after}"
    else:
        yield f"knows {', '.join(qis) or 'the published columns'} of a person who is in the table", "yes, as promised"
        yield (
            "knows more: another column, values of other people, or how values hang together",
            "only as far as a requirement above speaks of it",
        )
    if content.get("counts") == "persons":
        yield "a person with several rows", "yes: persons were counted, not rows"
    elif content.get("counts") == "rows":
        yield "a person with several rows", "NO: rows were counted; of several rows of a person each is covered alone"
    if int(content.get("suppressed_rows") or 0):
        yield "people whose rows were suppressed", "their rows are not told; how many they are is"
    yield (
        "holds another release of the same table",
        f"beside others, because: {content['beside']}"
        if content.get("beside")
        else "only as far as the ledger judged it",
    )
    yield "learns about people in general, and takes it for one of them", "NO: no release hides what is true of people"
