"""Judge a table: what can be required of it, and a report of every model with the verdicts.

measures.py       every measure that can be required, declared once
requirements.py   a requirement: a measure with a threshold, as the command line writes it
run.py            the report of a table, and its requirements judged
"""
