"""A release: its file, the ledger that knows it, and how it is read and asked."""
