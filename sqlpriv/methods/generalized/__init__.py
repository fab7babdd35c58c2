"""Methods that publish labels in place of values, and what they share: one layout of labels and leaves, hard bounds.

policy      hierarchies of the quasi-identifiers, nodes, and for boxes where the cuts come from
scan        the private table for a search: hierarchies checked, labels numbered, frequencies by these numbers
columns     what a reader may know of the published columns: types, kinds of labels, public domains
grid        where ranges may end, and whether they do
measures    the requirements of a policy as SQL over classes; evaluate: the classes of many nodes judged in one query
layout      the tables of a file; write: a release in this layout; verify: its labels and requirements
read        a file opened for queries; linking: what an attacker finds in one
axes        quasi-identifiers as axes, hierarchies as trees; points: the combinations of a table on these axes
boxes       classes of points as boxes: made and judged; box_files: written and compared; plan: a release of boxes
pseudonyms  pseudonyms of persons in a file, checked
method      what methods that publish labels share, and those that publish boxes; wording: their sentences

generalize/    every quasi-identifier on one level of its hierarchy
mondrian/      rows cut into boxes again and again
hilbert/       neighbours along a Hilbert curve as boxes
"""
