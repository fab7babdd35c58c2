"""What the randomized methods share: releases with random noise, that anyone can query without bias.

policy          what the owner declares: domains, prior bound, gamma; the keys and roles of every such method
background      what attackers know beforehand: among how many values they guess, of a table and of a file
attackers       who might attack a release, and what they come to believe at most
calibration     from the bound that is asked for to a mechanism, what it guarantees and what it costs
mechanism       how noise is made, with its numbers: a type each, which a file names; what rows weigh
tuples          the private table as tuples of numbers, and as elements; why rows are not in the domain
plan            a release that could be made: domains numbered, tuples counted, noise calibrated
questions       how far off the answers of a release will be
draws           noise drawn over the domain, as SQL
write, read     the tables of a file, and what a file declares
verify          what only randomized releases have; whether one is what a policy asks for
facts, wording  what is reported of a plan and a release, with what could be published instead; its sentences
method          all of it as a method, but for the noise

noisy_counts/   every tuple with its number of rows and noise
alpha_beta/     tuples kept with one probability and added with another
frapp/          every record kept, or replaced by another
"""
