"""Pieces of TCP connections to rows of FRAMES or EXCHANGES: no Spark.

``frame_batches`` is the whole way, from pieces to Arrow batches; ``ConnectionRows`` is one connection of it, and the
state of a streaming job. What rows are made of is told by ``Wanted``.
"""

from kwire_spark.frames.batches import frame_batches
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.wanted import Condition, Wanted

__all__ = ["Condition", "ConnectionRows", "Wanted", "frame_batches"]
