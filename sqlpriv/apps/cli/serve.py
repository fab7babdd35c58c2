"""The commands that let others ask releases: serve, for PostgreSQL clients, and mcp, for agents."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.apps.cli.options import named_tables, print_text
from sqlpriv.core.errors import InputError
from sqlpriv.rewrite.clauses import Options


def serve_command(
    # Hidden in the list of arguments, where typer would show the type; the line of usage has it.
    releases: Annotated[list[Path], typer.Argument(metavar="RELEASE", hidden=True)],
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")] = 5433,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address; other addresses than this machine's need --cert.")
    ] = "127.0.0.1",
    user: Annotated[str, typer.Option(metavar="NAME", help="The user who may log in.")] = "analyst",
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its first line; else SQLPRIV_SERVE_PASSWORD is the password.")
    ] = None,
    cert: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate for TLS, in PEM format.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate.")] = None,
    connections: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many clients at once.")] = 32,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="The seconds a statement may take.")
    ] = 60.0,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="What DuckDB may use, for all releases together.")
    ] = "2GB",
    threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="DuckDB's threads for each release.")] = None,
    max_message: Annotated[
        int, typer.Option(min=1024, max=1 << 30, metavar="BYTES", help="The largest message a client may send.")
    ] = 1 << 20,
    public: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="A public table to join. May be repeated.")
    ] = None,
    domain_extremes: Annotated[
        bool,
        typer.Option("--domain-extremes", help="Answer min and max from the public domain, as columns ..._domain."),
    ] = False,
    nonnegative: Annotated[
        bool,
        typer.Option("--nonnegative", help="Show 0 for counts and sums that are estimated below 0."),
    ] = False,
) -> None:
    """Serve releases to PostgreSQL clients: psql, BI tools and drivers ask, and get estimates with bounds."""
    try:
        from sqlpriv.apps.server.listener import listen, serving
        from sqlpriv.apps.server.settings import Limits
        from sqlpriv.apps.supervisor import Overseer, bytes_of, supervise
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != "psycopg":
            raise
        raise InputError("serving needs more packages: pip install 'sqlpriv[server]'") from None
    limits = Limits(connections=connections, seconds=timeout, largest=max_message, memory=memory, threads=threads)
    tables = named_tables(public or [])
    sock = listen(host, port, cert, key)

    def serve(overseer: Overseer | None) -> None:
        with serving(
            releases, host=host, port=port, user=user, password_file=password_file, cert=cert, key=key, limits=limits,
            public=tables, options=Options(nonnegative=nonnegative, domain_extremes=domain_extremes), overseer=overseer,
            sock=sock,
        ) as server:  # fmt: skip
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: server.stop())
            listed = ", ".join(sorted(server.tables))
            print_text(f"Serving {listed} at {host}, port {server.port}. Ctrl-C ends it. Ask with")
            print_text(f'  psql "host={host} port={server.port} user={user} dbname=sqlpriv"')
            server.run()

    with sock:
        supervise(serve, bytes_of(memory))


def mcp_command(
    releases: Annotated[list[Path], typer.Argument(metavar="RELEASE", hidden=True)],
    most_rows: Annotated[int, typer.Option(min=1, metavar="N", help="How many rows an answer may have.")] = 1000,
    most_bytes: Annotated[
        int, typer.Option(min=1000, metavar="N", help="How long the rows of an answer may be.")
    ] = 100_000,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="How long a question may take.")] = 30.0,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="What DuckDB may use for a question.")] = "2GB",
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

    with Catalog(releases, most_rows, seconds, most_bytes, memory) as catalog:
        serve(catalog).run("stdio")
