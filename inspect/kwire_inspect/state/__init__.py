"""Replays internal topics to derive the current offsets, groups, transactions and cluster state, without Spark.

A ``State`` receives the records of one partition in order and returns the rows of the final state. Only live entries
are kept in memory.
"""
