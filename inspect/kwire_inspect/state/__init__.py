"""The current state, replayed from internal topics: offsets, groups, transactions, the cluster. Needs no Spark.

A ``State`` receives the records of one partition in order and returns the rows of the final state. It keeps only live
entries in memory.
"""
