"""Compares kwire with other implementations of Kafka's protocol on identical bytes in one run: ``make bench-peers``.

Every peer is a process that answers each command with a line:

- ``check CASE FILE``: decode the case's bytes, encode the result to the file, and answer ``facts`` with sums over the
  decoded values, or the reason why the peer does not support the message.
- ``decode CASE N`` and ``encode CASE N``: decode or encode N times, and answer ``ns`` with the nanoseconds taken.

``worker.py`` is the Python peer. ``go``, ``rust`` and ``java`` contain the other peers. The peers take turns in
each round, so that slow moments affect all peers alike.
"""
