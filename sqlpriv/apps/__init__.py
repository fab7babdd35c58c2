"""The ways into sqlpriv: each thin, each over the same calls.

python    the commands as Python calls
cli/      the command line
dbt/      the plugin and the package for dbt
mcp/      releases for agents, over the Model Context Protocol
server/   releases for PostgreSQL clients
hints     what messages advise, in the terms of who asks
answers   the answer of a release, for people and machines
pages     the parts of docs/ that are written from the code

below_zero    the note about estimates below 0
copy_format   files as PostgreSQL's COPY writes them
supervisor    the process that serves, and the one above it that starts it again
"""
