"""What methods share that publish columns apart, inside buckets of rows: which value goes with which stays hidden.

layout    the sides of a table, and what is measured of their buckets
policy    what policies of these methods share
arrange   rows into buckets, at random
plan      a release that could be made, and the rules in which methods differ
write     the file, and its comparison with the private rows
verify    judging a release from its file
method    the shared part of the methods, and a release opened for queries
anatomy/  groups of rows whose sensitive values differ
slicing/  groups of columns, by their correlation or as given
"""
