"""What an attacker would do, run on the owner's own table or release and reported in sentences with numbers.

run           all attacks, one after the other
target        what is attacked, opened: a table or releases, the private table, a dictionary; what is asked for
findings      what an attack found, and the report of all of them
classes       homogeneity, background knowledge, skewness and similarity: by the classes that guesses finds
learned       what the other groups of a release teach about a person
linking       whose record it is, with a dictionary
noise         the linking attacker on randomized releases
range_ends    ends of ranges that are somebody's value
intersection  two releases of one table
minimality    what the choice of a search reveals; worlds: all the worlds that it is compared in, or a sample
guesses       what guesses find in classes
matches       which records a person could be behind
"""
