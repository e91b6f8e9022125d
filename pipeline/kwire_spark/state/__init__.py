"""What the history in internal topics comes to: offsets, groups, transactions, the cluster. No Spark in here.

A ``State`` takes the records of one partition in order and has the rows that are left at the end. It keeps what is
alive and nothing else.
"""
