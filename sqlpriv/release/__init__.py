"""A release: its file, how it is written, verified, shown and queried, and the ledger that records it.

layout         what a file holds, declared as data: names, numbers, tables
file           the file itself: made, and open for reading
write          what every method writes: rows in order, what a file says of itself, and, last, date, policy and digests
digest         the digest of a table of a file, by which its rows are compared
verify         a file judged by its layout, its digests and its policy; then the method is asked
show           what a release says of itself, in sentences
views          questions kept in the file as SQL views; verify_views: whether each is what its question becomes
describe       what an analyst should know of an open release: its table, its columns, its bounds
read           what the rewriter needs to know of a file
open           a release that answers SQL; attach: the same in a connection of the user's
place          copies and scratch folders that do not outlive their use, and the last rename
ledger/        the releases of an owner's tables, and which may follow them
"""
