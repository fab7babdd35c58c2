"""What the file of a randomized release declares: which mechanism wrote it, which tables it has, and what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.methods.noisy.background import public_tables, shared_columns
from sqlpriv.methods.noisy.mechanism import WEIGHTS, M
from sqlpriv.policy.keys import NOISY_ROLES
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Layout, NumberNames, ShownAs, Stored, flag, one_of
from sqlpriv.table.domains import is_declared

_COMMON = frozenset(
    {"d", "gamma", "elements", "slots", "cross_estimate", "cross_square", "epsilon", "times", "rows_each"}
    | {"view", "views"}
)
ATTRIBUTES = {
    "position": "INTEGER",
    "name": "VARCHAR",
    "type": "VARCHAR",
    "size": "INTEGER",
    "declared": "VARCHAR",
    "role": "VARCHAR",
    "choices": "BIGINT",
}
DOMAIN_WEIGHTS = {"power": "INTEGER", "weight": "DOUBLE", "variance": "DOUBLE", "skew": "DOUBLE"}
PUBLIC_TABLES = {"name": "VARCHAR", "is_combination": "BOOLEAN"}
"""The columns of table public_tables."""
_SEQUENCE = {"__slot": "BIGINT", "__view": "BOOLEAN", "__earlier": "BOOLEAN"}
OWN = [f"__{part}" for part in WEIGHTS]
"""The columns of the view that are ours."""


def declared_mechanism(file: ReleaseFile, mechanisms: Sequence[type[M]]) -> type[M]:
    """The one that a file names; the first where it names none of these, which the layout then refuses."""
    return next((m for m in mechanisms if m.name == file.about.get("mechanism")), mechanisms[0])


def file_layout(file: ReleaseFile, mechanisms: Sequence[type[M]]) -> Layout:
    """What every file of a randomized release holds; its numbers are those of the mechanism that it declares."""
    declared = declared_mechanism(file, mechanisms)
    return Layout(
        attributes=ATTRIBUTES,
        about={
            "mechanism": one_of(*(m.name for m in mechanisms)),
            "counts": one_of("rows", "distinct tuples"),
            "adversary": one_of("exclusive", "independent", "informed"),
            "n_public_is_rounded": flag,
        },
        numbers=NumberNames(_COMMON | declared.held.always, declared.held.may),
        tables={
            "domain_weights": DOMAIN_WEIGHTS,
            "public_tables": PUBLIC_TABLES,
        },
        is_attribute=lambda c: c["role"] in NOISY_ROLES and is_declared(str(c["declared"])) and bool(c["type"]),
    )


def file_contents(file: ReleaseFile, mechanisms: Sequence[type[M]]) -> Contents:
    """The published rows and their view, the domain of every column, and the public tables."""
    columns = {str(c["name"]): str(c["type"]) for c in file.attributes}
    shared = shared_columns(file) if declared_mechanism(file, mechanisms).follows == "column" else []
    rows = columns | (_SEQUENCE if file.parameters["views"] > 1 else {}) | dict.fromkeys(OWN, "DOUBLE")
    domains = (
        Stored("domain", name, {"value": kind, "share": "DOUBLE"} | ({"noise": "DOUBLE"} if name in shared else {}))
        for name, kind in columns.items()
    )
    public = (Stored("public", name, file.columns("public", name)) for name in public_tables(file)[0])
    # Where rows stand says nothing, since they are sorted before they are written; it is not compared.
    shown = ShownAs(file.about["table"], view_of_rows)
    return Contents((Stored(SCHEMA, "published", rows),), (*domains, *public), (shown,), are_sorted=False)


def view_of_rows(name: str) -> str:
    """The statement that makes the view of the published rows: with their weights, since a row is no person."""
    return f"CREATE VIEW {name} AS SELECT * FROM {SCHEMA}.published"
