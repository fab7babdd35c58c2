"""Domains of labels: a level of a wide hierarchy, or of one that is made from the values of a domain.

Both come with a mapping, a table from each value, as text, to its label, by which rows are published with their label.
"""

from __future__ import annotations

import re

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.hierarchies import wide_rows
from sqlpriv.table.named_tables import is_private, read_named
from sqlpriv.table.source import Source

# The counts of a table of which nothing is known yet.
_NOTHING = "SELECT 0 AS attribute, '' AS value, 0 AS rows WHERE false"


def labels_of_level(source: Source, domain: str, mapping: str) -> str:
    """The query for the labels of level:NAME:2; writes the mapping."""
    found = re.fullmatch(r"level:(.+):([0-9]+)", domain)
    if not found:
        raise PolicyError(f"{domain!r} must name a hierarchy and a level of it, as in level:ages.csv:2")
    name, level = found.group(1), int(found.group(2))
    if not source.reference.is_file(name) and source.reference.is_file(f"{name}.csv"):
        name += ".csv"
    _refuse_private(source, name)
    wide = read_named(source, name, "__named", ", delim = ';', header = false, all_varchar = true")
    return _mapped(source, wide, level, repr(domain), mapping)


def write_labels(
    source: Source, name: str, hierarchy: str | tuple[str, ...], level: int, values: str, kind: str, mapping: str
) -> None:
    """Replace the values of a domain by their labels; writes the mapping, from values as `kind`, the column's type.

    Labels are made from the values in the domain's own type: that of a column of a file may depend on single rows.
    """
    if isinstance(hierarchy, str):
        _refuse_private(source, hierarchy.removeprefix("tree:"))
    value, base, own = quoted(name), "__labelled", "__own_labels"
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {base} AS SELECT DISTINCT value AS {value} FROM {values} WHERE value IS NOT NULL",
    )
    fetch(source.con, f"CREATE OR REPLACE TABLE __wide AS {wide_rows(source, hierarchy, name, base)}")
    _mapped(source, "__wide", level, "its hierarchy", own)
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {mapping} AS SELECT CAST(CAST(b.{value} AS {kind}) AS VARCHAR) AS value, m.label "
        f"FROM {base} AS b LEFT JOIN {own} AS m ON m.value = CAST(b.{value} AS VARCHAR)",
    )
    bare = fetch(source.con, f"SELECT count(*) FROM {mapping} WHERE label IS NULL")[0][0]
    if bare:
        raise PolicyError(f"{bare:,} values of the domain have no label in its hierarchy")
    fetch(
        source.con, f"CREATE OR REPLACE TABLE {values} AS SELECT DISTINCT label AS value, NULL AS share FROM {mapping}"
    )


def _refuse_private(source: Source, name: str) -> None:
    if is_private(source, name):
        raise PolicyError("its labels would be read from the private table; name a hierarchy that is public")


def _mapped(source: Source, wide: str, level: int, what: str, mapping: str) -> str:
    """Write the mapping to the labels on a level of a wide table; the query for these labels."""
    columns = [r[0] for r in fetch(source.con, f"DESCRIBE {wide}")]
    if level >= len(columns):
        raise PolicyError(f"{what}: the hierarchy ends at level {len(columns) - 1}")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {mapping} AS SELECT DISTINCT CAST({quoted(columns[0])} AS VARCHAR) AS value, "
        f"CAST({quoted(columns[level])} AS VARCHAR) AS label FROM {wide}",
    )
    steps = f"_hierarchy_steps((SELECT 0 AS attribute, [value, label] AS labels FROM {mapping}), ({_NOTHING}))"
    labels = f"SELECT * FROM _hierarchy_labels({steps})"
    levels = f"WITH __priv_labels AS ({labels}) SELECT twice FROM _hierarchy_levels(__priv_labels, ({_NOTHING}))"
    twice = max((r[0] for r in fetch(source.con, inlined(levels))), default=0)
    if twice:
        raise PolicyError(f"{what}: {twice:,} values have two labels")
    return f"SELECT DISTINCT label, NULL FROM {mapping}"
