"""Converts pieces of TCP connections to rows of FRAMES or EXCHANGES, without Spark.

``frame_batches`` is the whole way, from pieces to Arrow batches; ``ConnectionRows`` is one connection of it, and the
state of a streaming job. ``ConnectionProjection`` says which rows and columns are needed.
"""

from kwire_spark.frames.batches import frame_batches
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.projection import ConnectionProjection, Table
from kwire_spark.projection import Condition

__all__ = ["Condition", "ConnectionProjection", "ConnectionRows", "Table", "frame_batches"]
