"""Judge a table: what can be required of it, and a report of every model judged.

measures.py       every measure that can be required, declared once
requirements.py   a requirement: a measure with a threshold, as the command line writes it
exposure.py       who can be found by published rows, and whose value can be read off: evidence for the verdict
verdict.py        may it go out? The rules with their thresholds, and the verdict on evidence
run.py            the report of a table, and its requirements judged
"""
