"""Files as Arrow batches, task by task, without Spark: a reader plans tasks by its options and reads them.

Spark's data sources hand the tasks to workers (``sources``); the local engine reads them one after the other.
"""

from __future__ import annotations

from kwire_spark.readers.base import Reader
from kwire_spark.readers.capture import CaptureReader
from kwire_spark.readers.log import LogReader
from kwire_spark.readers.text_log import RequestLogReader, ServerLogReader

__all__ = ["CaptureReader", "LogReader", "Reader", "RequestLogReader", "ServerLogReader"]
