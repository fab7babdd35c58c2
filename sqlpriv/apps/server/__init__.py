"""`sqlpriv serve`: releases behind the PostgreSQL protocol, for psql, BI tools and every driver that speaks it.

    messages         the messages of the protocol: bytes to messages, messages to bytes
    errors           errors as the protocol reports them
    channel          a socket that reads and writes messages, with limits on size and time; TLS
    scram            passwords: SCRAM-SHA-256
    settings         how a server is set up, its limits, and the log
    pre_login        connections before their login: encryption, user, database, password
    statements       a text into statements, each a query, a look at the catalog, or a command of the session
    queries          queries through the rewriter over open releases, each connection on cursors of its own
    encode           Arrow batches as rows of the protocol, whole columns at once
    uncommon_types   cells of lists, intervals, bytes and others, value by value
    decode           parameters as values
    catalog_server   a PostgreSQL without any row, with the tables' names and types: catalog queries, parameter types
    catalog_client   a connection to it
    postgres_guard   the process that starts it, and ends it when the server ends, however the server ends
    portals          prepared statements, portals and their results
    cursors          DECLARE, FETCH and CLOSE of portals
    commands         COPY, PREPARE, EXECUTE and EXPLAIN, each around a query
    session_state    what a session remembers: its transaction, statements and portals, with limits
    runner           runs the statements of a connection under its time limit, and logs them
    session          a connection after its login: answers each message
    listener         the server: accepts and ends connections, a thread each; watches for cancels and time limits

A statement that reads a served table goes through the rewriter or is refused. The catalog server cannot even plan one:
a query that is mistaken for a look at the catalog gets an error, never a wrong answer.
"""
