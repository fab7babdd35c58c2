"""`sqlpriv serve`: releases behind the PostgreSQL protocol, for psql, BI tools and every driver that speaks it.

    frames      the messages of the protocol: bytes to messages, messages to bytes; knows no socket and no SQL
    channel     a socket that reads and writes them, with limits on size and time; TLS begins here
    scram       SCRAM-SHA-256; without the password nobody gets further; binding: SCRAM-SHA-256-PLUS by the certificate
    session     a connection: who asks, its transaction, its prepared statements and portals; one thread each
    kept        what a session holds by name, with limits; cursors: DECLARE, FETCH and CLOSE of portals
    statements  a text into statements, each a question, a look at the catalog, or a command of the session
    spelling    what PostgreSQL's tools write and DuckDB spells otherwise
    answers     questions through the rewriter over an open release, each connection by cursors of its own
    encode      Arrow batches as rows of the protocol, whole columns at once; decode: parameters as values
    shadow      a PostgreSQL without any row, with the tables' names and types: catalog queries and types of parameters
    keeper      the process between server and shadow: when the server dies, however it dies, the shadow goes with it
    doorstep    connections before their login: nobody keeps others out
    listener    accepts, counts and ends connections; watches for cancels, time limits and clients that are gone

What reads a served table goes through the rewriter or is refused: in the shadow no statement that reads one of these
tables can even be planned, so that what is mistaken for a look at the catalog gets an error, never a wrong answer.
"""
