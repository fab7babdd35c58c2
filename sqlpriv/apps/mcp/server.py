"""The tools over the catalog; the only module that imports the package `mcp`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from sqlpriv.apps.hints import for_clients
from sqlpriv.apps.mcp.catalog import Catalog
from sqlpriv.core.errors import SqlprivError
from sqlpriv.version import __version__

_INSTRUCTIONS = """\
These are privacy-protected releases of private tables. Ask in SQL as if the private table were there, by its own name
and columns: counts, sums and averages with WHERE, GROUP BY and joins to public tables. Every number x comes with x_low
and x_high: report these with it, never x alone. `describe` says whether they are certain bounds or a 95% interval, and
which guarantee the release gives. Rows of people do not exist here; what cannot be estimated is refused with the reason
and what to ask instead. Asking again gives the same answer: do not average repeated questions."""

Name = Annotated[str | None, Field(description="The release; may be left out where there is one.")]
Sql = Annotated[str, Field(description="One SELECT over the private table's own name and columns.")]
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def serve(catalog: Catalog) -> MCPServer[Any]:
    """The server, not yet running."""
    server: MCPServer[Any] = MCPServer("sqlpriv", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")

    @server.tool(annotations=_READS, structured_output=False)
    def describe(
        release: Name = None,
        column: Annotated[str | None, Field(description="All that is known of one column.")] = None,
    ) -> str:
        """What a release is: its columns and what they may hold, public tables, what bounds mean, questions to ask."""
        return _report(lambda: catalog.describe(release, column))

    @server.tool(annotations=_READS, structured_output=False)
    def ask(
        sql: Sql,
        release: Name = None,
        confidence: Annotated[float, Field(description="Of intervals, below 1; hard bounds are certain.")] = 0.95,
        parameters: Annotated[list[Any] | None, Field(description="Values of ? or $1 in the SQL, in order.")] = None,
    ) -> str:
        """Estimate the answer of a query: each number x with x_low and x_high, or a refusal with its reason."""
        return _report(lambda: catalog.ask(sql, release, confidence, parameters))

    @server.tool(annotations=_READS, structured_output=False)
    def explain(sql: Sql, release: Name = None) -> str:
        """The SQL that a query becomes, and how many rows of the domain it reads; nothing of it runs."""
        return _report(lambda: catalog.explain(sql, release))

    return server


def _report(work: Callable[[], dict[str, Any]]) -> str:
    """What `work` says, as short JSON. A refusal comes in its own words; any other error is a fault of ours."""
    try:
        return json.dumps(work(), ensure_ascii=False, separators=(",", ":"))
    except SqlprivError as refused:
        raise ToolError(for_clients(str(refused))) from None
    except Exception as fault:
        raise ToolError(f"sqlpriv failed ({type(fault).__name__}); this is a fault of the server") from None
