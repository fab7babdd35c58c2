"""Mondrian: the rows are cut into boxes, again and again, as long as every part meets the requirements.

policy    what a policy may say
rounds    rounds of cuts, one by one or all in one query
cuts      a round: one cut of every partition is tried, and judged
method    the rest is what all boxes share
"""

from sqlpriv.methods.generalized.mondrian.method import METHOD as METHOD
