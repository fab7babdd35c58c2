"""Full-domain generalization: every node of the lattice judged from one scan of the table.

The table is read once, into its frequencies (`scan`): one row for each combination of values. Each value carries the
list of its labels' numbers, one a level, so the class of a row under a node is one sum of list entries, and a batch of
nodes is one GROUP BY over frequencies x nodes (`evaluate`). What a class must fulfil is written by `measures` with the
formulas of sql/. `objectives` says what a node costs and what it must cost at least; `search` decides which nodes to
look at, and stops when no other can be better. `plan` puts them together, `write` makes the
release, `verify` judges it.
"""

from sqlpriv.methods.generalized.generalize.method import METHOD

__all__ = ["METHOD"]
