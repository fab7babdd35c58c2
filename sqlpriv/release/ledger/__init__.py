"""The ledger: the releases of an owner's tables, kept where only the owner can read them.

Two releases of one table, made independently, are a severe breach. What occurs in two randomized views is almost surely
in the table (Rastogi, Suciu and Hong 2007, section 4.4.1), and two generalized tables are intersected. So a second one
is refused unless it is the next view of its sequence, or the very same release again. It is allowed, too, if all are
differential privacy within the budget of the policy, or if the owner writes why both may coexist.

entry      one release, and the cost of several, where they compose
place      where the ledger is, and that nobody else can read or change it
store      the small database: entries, sketches, the secret; the lock, and the folder for unfinished releases
rules      which entries are about a table, and which release may follow them
show       the entries as `sqlpriv ledger` prints them
"""

from sqlpriv.release.ledger.entry import Entry

__all__ = ["Entry"]
