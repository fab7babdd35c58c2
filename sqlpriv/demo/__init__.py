"""Generated data to try things on; nobody in it is real.

hospital    a year of a hospital
story       `sqlpriv demo`: from that table to releases and attacks, one screen a step
examples    the small tables of the examples in docs/macros.md
"""
