"""From a policy to a release, and what can be done with a release that is there; the same for every method.

path         publish: the only path to a release, in the one order that is safe
planning     policies read and planned; what publishing would refuse, without writing anything
proposing    a policy proposed for a table, planned before it is written
draft        which release of a table is about to be made, by the ledger: its number, its noise, its key, its entry
noise        from a secret key to the noise of a release
verdicts     may it go out? Of a plan, and of a release
tables       the files that people use, written from a release
against      what a policy would publish otherwise than a release that is there
released     a release that is there: opened, shown, verified; its views added and dropped
"""

from sqlpriv.publishing.draft import first_edition, given_key
from sqlpriv.publishing.path import Published, make_file, publish
from sqlpriv.publishing.planning import dry_run, foretold, open_private, plan, planned, read_policy, target_of
from sqlpriv.publishing.released import add_view, drop_view, judged_file, method_of, open_release, show, verify
from sqlpriv.publishing.verdicts import file_evidence

__all__ = [
    "Published",
    "add_view",
    "drop_view",
    "dry_run",
    "file_evidence",
    "first_edition",
    "foretold",
    "given_key",
    "judged_file",
    "make_file",
    "method_of",
    "open_private",
    "open_release",
    "plan",
    "planned",
    "publish",
    "read_policy",
    "show",
    "target_of",
    "verify",
]
