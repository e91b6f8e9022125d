"""The current state, replayed from internal topics: offsets, groups, transactions, the cluster. Needs no Spark.

A ``State`` takes the records of one partition in order and returns the rows that are left at the end. It keeps only
live entries in memory.
"""
