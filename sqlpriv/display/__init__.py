"""Results for people to read: on the terminal, as JSON, and as pictures.

terminal    lines and tables of a result, as wide as the terminal
progress    a progress bar
junit       what was judged, for machines that show tests
charts/     pictures of plans, searches, attacks and comparisons
"""
