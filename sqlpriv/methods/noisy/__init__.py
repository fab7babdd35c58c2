"""What the randomized methods share: releases with random noise, that anyone can query without bias.

policy          what the owner declares: domains, prior bound, gamma; the keys and roles of every such method
plan            a release that could be made: domains numbered, tuples counted, noise calibrated
calibration     from the bound that is asked for to a mechanism, what it guarantees and what it costs
mechanism       how noise is made, with its numbers: a type each, which a file names; what rows weigh
attackers       who might attack a release, and what they come to believe at most
combinations    among how many values an attacker guesses
tuples          the private table as tuples of numbers, and as elements; outside: why rows are not in the domain
draws           noise drawn over the domain, as SQL
column_sets     smaller sets of columns that could be published where a policy asks for too much
questions       how far off the answers of a release will be
write, read     the tables of a file, and what a file declares
verify          what only randomized releases have; verify_policy: whether one is what a policy asks for
facts, wording  what is reported of a plan and a release, and its sentences
method          all of it as a method, but for the noise
"""
