"""Converts brokers' request logs, server logs and metrics dumps to rows, without Spark.

``splits`` divides log files into parts. ``request_batches`` and ``refusal_batches`` convert these parts to Arrow
batches. ``metrics_batches`` converts a whole dump.
"""

from __future__ import annotations

from kwire_inspect.text_logs.batches import refusal_batches, request_batches
from kwire_inspect.text_logs.lines import Lines, Split, splits
from kwire_inspect.text_logs.metrics import metrics_batches

__all__ = ["Lines", "Split", "metrics_batches", "refusal_batches", "request_batches", "splits"]
