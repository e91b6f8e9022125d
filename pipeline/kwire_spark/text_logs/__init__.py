"""Converts request logs and server logs of brokers to rows, without Spark.

``splits`` cuts files into parts, ``request_batches`` and ``refusal_batches`` make Arrow batches of them.
"""

from __future__ import annotations

from kwire_spark.text_logs.batches import refusal_batches, request_batches
from kwire_spark.text_logs.lines import Lines, Split, splits

__all__ = ["Lines", "Split", "refusal_batches", "request_batches", "splits"]
