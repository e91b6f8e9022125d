"""kwire beside other implementations of Kafka's protocol: identical bytes, one run. ``make bench-peers``.

Every peer is a process that reads commands and answers each with a line:

- ``check CASE FILE``: read the case's bytes, write what it encodes from them to the file, and answer ``facts`` with
  sums over the values that it read, or the reason why it has no such message.
- ``decode CASE N`` and ``encode CASE N``: do so N times, and answer ``ns`` with the nanoseconds taken.

``worker.py`` is the peer in Python; ``go``, ``rust`` and ``java`` have the others. In each round every peer has its
turn, so that slow moments hit all alike.
"""
