"""Judge a table: what can be required of it, and a report of every model with the verdicts."""
