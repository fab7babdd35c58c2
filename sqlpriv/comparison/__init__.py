"""Several methods on one workload: what each would answer, and what it would protect, before any of it is published.

run          each method rehearsed and asked; the comparison
conversion   the policy of one method for another, at the same bound of a belief
workload     the questions
truth        their true answers, from the private table
typical      the questions that people ask first, put to one release
measure      how far the answers of a release are off
facts        the comparison for people and machines, with a sentence of advice
"""
