"""Mondrian: the rows are cut into boxes, again and again, as long as every part meets the requirements.

policy    what a policy may say
rounds    every partition of a round cut at once
cuts      which cut of a partition is tried, and whether it is allowed
method    the rest is what all boxes share
"""

from sqlpriv.methods.mondrian.method import METHOD as METHOD
