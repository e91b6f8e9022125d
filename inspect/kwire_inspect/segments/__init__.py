"""Reads log segments and snapshots as Arrow tables, without Spark.

``segment_files`` finds files, ``splits`` divides them, and ``record_batches`` decodes splits into columns. By
default, broken input does not raise an error, but becomes a row that describes the problem.
"""

from kwire_inspect.segments.bounds import Bounds
from kwire_inspect.segments.files import Selection, Split, segment_files, splits
from kwire_inspect.segments.reading import record_batches
from kwire_inspect.segments.rows import Broken

__all__ = ["Bounds", "Broken", "Selection", "Split", "record_batches", "segment_files", "splits"]
