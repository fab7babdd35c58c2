"""What a release says of itself, in sentences that are made from its numbers while it is read.

A method gives its own part as `Wording`; what all releases have in common is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import macro
from sqlpriv.release.file import ReleaseFile, declared_requirement
from sqlpriv.release.layout import TOGETHER
from sqlpriv.release.ledger.entry import KINDS, read_together
from sqlpriv.release.views import declared_views

_REASONS = {
    "uncovered": "Why it was published although an attacker is not covered",
    "coexists_because": "Why it may coexist with other releases of the table",
    "settled_beforehand": "Why it does not depend on what earlier releases of the table show",
    "node_is_public": "Why the levels do not depend on the table",
    "others_unknown": "Why no neighbour knows the other columns",
    "accept": "Why it was published although the verdict is no",
}
_PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Wording:
    """What a method says of one of its releases, in words and as data."""

    guarantee: str = ""
    """What is promised, in a few sentences."""
    details: tuple[str, ...] = ()
    """What belongs to the promise, a sentence each."""
    warnings: tuple[str, ...] = ()
    before_columns: tuple[Part, ...] = ()
    after_columns: tuple[Part, ...] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    """What it adds to the JSON, or has there in the place of what all have."""


class Described(Protocol):
    """What showing a release needs to know of a method."""

    def wording(self, file: ReleaseFile) -> Wording:
        """What one of its releases says."""


def show_release(method: Described, file: ReleaseFile) -> Facts:
    """What a release says of itself: claims, that is, until it is verified."""
    words, columns, requirements = method.wording(file), file.attributes, _requirements(file)
    public = sorted(table for schema, table in file.tables if schema == "public")
    content: dict[str, Any] = {
        **file.about,
        **file.reasons,
        "policy": file.policy,
        **({"guarantee": words.guarantee, "details": list(words.details)} if words.guarantee else {}),
        "parameters": file.parameters,
        "columns": columns,
        "requirements": requirements,
        "public": public,
        "digests": {str(r["name"]): str(r["digest"]) for r in file.rows("digests")},
        "warnings": list(words.warnings),
        **words.content,
    }
    parts: list[Part] = [Line(words.guarantee, "claimed")] if words.guarantee else []
    parts += [Line(f"- {text}", quiet=True) for text in words.details]
    parts += [Line(f"{r['requirement']}: {r['guarantee']}", "claimed") for r in requirements]
    parts += words.before_columns
    parts += [Line(f'{_REASONS[name]}, in the owner\'s words: "{text}"') for name, text in file.reasons.items()]
    shown = content["columns"]  # those of the method's own, where it has others
    names = [n for n in (shown[0] if shown else {}) if n != "position"]
    parts += [Grid(tuple(names), tuple(tuple(c[n] for n in names) for c in shown)), *words.after_columns]
    parts += [Line(f"public tables: {', '.join(public)}")] if public else []
    parts.append(Line(f"published on {file.about['date']} with sqlpriv {file.about['sqlpriv']}"))
    parts.append(Line(f"Whether it holds: sqlpriv verify {file.name}"))
    if TOGETHER in file.about:
        _add_together(file, content, parts)
    views = declared_views(file)
    content["views"] = [asdict(view) for view in views]
    if views:
        rows = tuple((view.name, " ".join(view.question.split())) for view in views)
        parts.append(Grid(("view", "question"), rows, folded=("question",)))
    return Facts(f"{file.name}  {file.about['method']}", content, tuple(parts), words.warnings)


def guarantee_of(method: Described, file: ReleaseFile) -> str:
    """What a release guarantees, in a sentence or two: by its method, or by what was required."""
    words = method.wording(file)
    promised = words.guarantee or str(words.content.get("promise") or "")
    return promised or "; ".join(f"{r['requirement']}: {r['guarantee']}" for r in _requirements(file))


def _add_together(file: ReleaseFile, content: dict[str, Any], parts: list[Part]) -> None:
    """What it and the releases before it cost together, and the posterior beliefs after all of them."""
    total = read_together(file.about[TOGETHER])
    if total is None:
        return
    calls = Calls(file.con)
    costs = {kind: pair for kind in KINDS if (pair := total.of(kind)) is not None}
    posteriors = []
    for prior in _PRIORS:
        beliefs = {}
        for kind, (epsilon, delta) in costs.items():
            bounded = calls.row("posterior_bound", prior, float(calls.value(f"exp({epsilon!r})")))[0]
            beliefs[kind] = float(calls.value(f"_belief_but_for({bounded!r}, {delta!r})"))
        posteriors.append({"prior": prior, **beliefs})
    content[TOGETHER] = {**total.to_json(), "posteriors": posteriors}
    listed = "; ".join(
        f"({epsilon:.4g}, {delta:.3g}) when a {total.unit} is {KINDS[kind]}" for kind, (epsilon, delta) in costs.items()
    )
    text = f"Together with the releases before it, {total.releases} in all, it is differential privacy: {listed}."
    grid = Grid(
        ("belief before", *(f"after, {KINDS[kind]}" for kind in costs)),
        tuple((f"{row['prior']:g}", *(f"{row[kind]:.3g}" for kind in costs)) for row in posteriors),
        caption=f"the most that one comes to believe about a {total.unit} from all of them, knowing all others",
    )
    parts += [Line(text), grid]


def _requirements(file: ReleaseFile) -> list[dict[str, Any]]:
    """The requirements of a file with their texts, and what each guarantees, in one sentence."""
    found = []
    for row in file.requirements:
        required = declared_requirement(row)
        if required is None:
            words = {"requirement": str(row["measure"]), "guarantee": "this version does not know it"}
        else:
            promise = macro(required.measure.macro).header.fields["guarantee"].replace("\n", " ")
            words = {"requirement": required.text, "guarantee": promise}
        found.append({**words, **row})
    return found
