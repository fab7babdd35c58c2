"""Several methods on one workload: what each would answer, and what it would protect, before any of it is published."""
