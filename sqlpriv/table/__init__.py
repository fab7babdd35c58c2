"""The private table: where it is, how it is read, its hierarchies, and what its columns look like."""
