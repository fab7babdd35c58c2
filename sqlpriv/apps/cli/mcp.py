"""The command that lets agents ask releases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.core.errors import InputError


def mcp_command(
    releases: Annotated[list[Path], typer.Argument(metavar="RELEASE", hidden=True)],
    most_rows: Annotated[int, typer.Option(min=1, metavar="N", help="How many rows an answer may have.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="How long a question may take.")] = 30.0,
) -> None:
    """Let agents ask releases, over the Model Context Protocol.

    It speaks on standard input and output. Its tools are describe, ask and explain: estimates with bounds, refusals
    with reasons, and never a row.
    """
    try:
        from sqlpriv.apps.mcp.server import serve
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in {"mcp", "pydantic"}:
            raise
        raise InputError("serving agents needs the package mcp: pip install 'sqlpriv[mcp]'") from None
    from sqlpriv.apps.mcp.catalog import Catalog

    with Catalog(releases, most_rows, seconds) as catalog:
        serve(catalog).run("stdio")
