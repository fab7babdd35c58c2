"""Mondrian: the rows are cut into boxes, again and again, as long as every part meets the requirements.

cuts      rounds of cuts, one by one or all in one query: one cut of every partition is tried, and judged
method    the rest is what all boxes share
"""

from sqlpriv.methods.generalized.mondrian.method import METHOD as METHOD
