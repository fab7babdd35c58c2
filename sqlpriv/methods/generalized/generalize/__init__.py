"""Full-domain generalization: every node of the lattice judged from one scan of the table.

The table is read once, into its frequencies (generalized/scan.py): one row for each combination of values. Each value
carries the list of its labels' numbers, one a level. So the class of a row under a node is one sum of list entries, and
a batch of nodes is one GROUP BY over frequencies x nodes (generalized/evaluate.py).

policy        what a policy may say
search        which nodes to look at, and when no other can be better
objectives    what a node costs, and what it must cost at least; workload: the error of the owner's queries as a cost
plan          the best node, found or named; lattice: all nodes, to be listed or drawn
node          what a node publishes: suppressed classes, labels, rows
retrace       whether the search would choose the same node in another world
write         the release, and the file compared with the private table
verify        the release judged from its file
wording       the sentences of a plan
method        all of it as a method
"""

from sqlpriv.methods.generalized.generalize.method import METHOD

__all__ = ["METHOD"]
