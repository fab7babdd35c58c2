"""Judge what a file says of its levels: the node, the levels of the columns, and the labels of the hierarchies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.methods.labelled.layout import Attribute
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP


def folded_node(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node by folded names."""
    return {folded(str(name)): level for name, level in node.items()}


def check_levels(file: ReleaseFile, qis: Sequence[Attribute]) -> Check:
    """Levels of the attributes and the node say the same."""
    title = "every quasi-identifier stands on the level of the node"
    node = json.loads(file.about["node"])
    if not isinstance(node, dict) or folded_node(node) != {folded(str(q["name"])): q["level"] for q in qis}:
        return Check(title, False, "the node has other levels")
    return Check(title, True)


def check_labels(file: ReleaseFile, qi: Attribute, has_stars: bool) -> Check:
    """Every published value of a quasi-identifier is a label of its hierarchy, and at the top there is one only."""
    name = str(qi["name"])
    title = f"every value of {name!r} is a label of its level"
    if "TIME ZONE" in str(qi["type"]):
        return Check(title, None, "times read differently in every time zone")
    hierarchy = quoted(file.catalog, SCHEMA, f"hierarchy_{name}")
    kept = f" AND p.value IS DISTINCT FROM {literal(TOP)}" if has_stars else ""
    label = f"p.value = {literal(TOP)}" if qi["level"] == qi["levels"] else "p.value IS NULL"
    known = f"EXISTS (FROM {hierarchy} AS h WHERE h.value = p.value)"
    known = f"({known} AND {label})" if qi["level"] == qi["levels"] else f"({known} OR {label})"
    outside = fetch(
        file.con,
        f"SELECT count(*) FROM (SELECT DISTINCT CAST({quoted(name)} AS VARCHAR) AS value FROM {published(file)}) AS p "
        f"WHERE {known} IS NOT TRUE{kept}",
    )[0][0]
    unused = fetch(
        file.con,
        f"SELECT count(*) FROM {hierarchy} AS h WHERE NOT EXISTS (FROM {published(file)} AS p "
        f"WHERE CAST(p.{quoted(name)} AS VARCHAR) IS NOT DISTINCT FROM h.value)",
    )[0][0]
    found = f"{outside:,} are not" if outside else f"{unused:,} labels are of no row" if unused else ""
    return Check(title, not outside and not unused, found)
