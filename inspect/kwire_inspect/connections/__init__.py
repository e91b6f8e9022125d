"""Converts pieces of TCP connections to rows of FRAMES or EXCHANGES, without Spark.

``frame_batches`` converts pieces to Arrow batches. ``ConnectionRows`` creates the rows of one connection, and can be
the state of a streaming job. ``ConnectionProjection`` selects rows and columns.
"""

from kwire_inspect.connections.batches import ConnectionProjection, Table, frame_batches
from kwire_inspect.connections.connection import ConnectionRows
from kwire_inspect.rows import Condition

__all__ = ["Condition", "ConnectionProjection", "ConnectionRows", "Table", "frame_batches"]
