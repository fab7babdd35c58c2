"""What a release promises, in two sentences, and to whom: what it says of itself, and what was verified of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.core.facts import Facts, Grid, Line
from sqlpriv.reports.model import Section


def guarantee(shown: Facts, judged: Facts) -> Section:
    """The guarantee, first in two sentences, then in full."""
    short = Line(_in_short(shown.content, claimed(judged)))
    return Section("guarantee", "What is promised", (short, *_in_full(shown)))


def claimed(judged: Facts) -> frozenset[str]:
    """What the file says, and cannot show: an owner who counted persons is to be believed, or asked."""
    return frozenset(str(c["check"]).partition(" (")[0] for c in judged.content["checks"] if c["passed"] is None)


def claims_among(shown: Facts, judged: Facts) -> tuple[int, int]:
    """How many requirements are claims, and how many there are."""
    texts = [str(r["requirement"]) for r in shown.content.get("requirements") or ()]
    return sum(text in claimed(judged) for text in texts), len(texts)


def _in_short(content: Mapping[str, Any], only_said: frozenset[str]) -> str:
    guaranteed = content.get("guarantee") or content.get("promise")
    if guaranteed:
        return " ".join(_sentences(str(guaranteed))[:2])
    if not content.get("requirements"):
        return "This release states no guarantee."
    texts = [str(r["requirement"]) for r in content["requirements"]]
    met = [f"{text} (as claimed)" if text in only_said else text for text in texts]
    first = str(content["requirements"][0]["guarantee"]).partition(". ")[0].rstrip(".")
    return f"Every class of people in this release meets {' and '.join(met)}. {first[:1].upper()}{first[1:]}."


def _sentences(text: str) -> list[str]:
    return [f"{part.rstrip('.')}." for part in text.split(". ")]


def _in_full(shown: Facts) -> Iterator[Line]:
    """What the release claims in its own words, with what it adds to it and warns of."""
    for part in shown.parts:
        if isinstance(part, Line) and (part.mark == "claimed" or part.text.startswith("- ")):
            yield Line(part.text, "claimed" if part.mark else "")
    stated = shown.content.get("warnings") or ()
    yield from (Line(warning, "warning") for warning in dict.fromkeys([*shown.warnings, *stated]))


def covered(shown: Facts) -> Section:
    """Who is covered, and who is not."""
    rows = (*_attackers(shown.content), *_people(shown.content))
    grid = Grid(("who", "covered?"), rows, "Attackers and people", folded=("who", "covered?"))
    return Section("covered", "Who is covered, and who is not", (grid,))


def _attackers(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    qis = ", ".join(c["name"] for c in content["columns"] if c.get("role") == "quasi-identifier")
    known = f"knows {qis or 'the published columns'} of a person who is in the table"
    if content.get("attackers"):
        for one in content["attackers"]:
            after = f"belief {one['prior']:.3g} becomes at most {one['posterior']:.3g}"
            yield f"knows {one['knows']}, wants {one['wants']}", f"{'yes' if one['covered'] else 'NO'}: {after}"
    elif content.get("promise"):
        yield "holds the dictionary that the promise speaks of, and picks by lot among the entries that fit", "yes"
        yield f"{known}, or holds another list of people", "NO: the promise is about one attacker"
        yield "knows the rule by which labels were chosen", "NO: the choice itself reveals something of a row"
    elif "total_epsilon" in (content.get("parameters") or {}):
        yield (
            "knows everybody else's rows, and correlations between values",
            "yes, as promised, but for a chance of delta",
        )
    else:
        yield known, "yes, as promised"
        for name in _unguarded(content):
            what = f"NO: no requirement speaks of {name!r}, and a whole class may have one value of it"
            yield f"knows that much, and wants {name}", what
        more = "knows more: another column, values of other people, or correlations between values"
        yield more, "only as far as a requirement above speaks of it"
    reason = content.get("coexists_because")
    coexists = f'it may coexist with others, in the owner\'s words because "{reason}"'
    another = coexists if reason else "only as far as the ledger judged it"
    yield "holds another release of the same table", another
    yield "learns about people in general, and takes it for one of them", "NO: no release hides what is true of people"


def _unguarded(content: Mapping[str, Any]) -> list[str]:
    """Sensitive columns that nothing protects but the size of classes."""
    if content.get("guarantee"):
        return []
    spoken_of = {r["sensitive"] for r in content.get("requirements") or ()}
    return [c["name"] for c in content["columns"] if c.get("role") == "sensitive" and c["name"] not in spoken_of]


def _people(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    rows_each = float((content.get("parameters") or {}).get("rows_each", 1))
    if content.get("counts") == "persons":
        yield "a person with several rows", "as claimed: persons were counted, not rows; they are not in the file"
    elif rows_each > 1:
        yield f"a person with up to {rows_each:g} rows", "yes, all of them together; one with more is not"
    else:
        yield "a person with several rows", "NO: rows were counted; of several rows of a person each is covered alone"
    if int(content.get("suppressed_rows") or 0):
        kept = content.get("kept_suppressed") == "yes"
        fate = "their other columns are published, as one class under *" if kept else "their rows are not in the file"
        yield "people whose rows were suppressed", f"{fate}; their number is published"
