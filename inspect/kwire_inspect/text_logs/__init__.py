"""Converts request logs, server logs and dumps of metrics of brokers to rows, without Spark.

``splits`` cuts files into parts. ``request_batches`` and ``refusal_batches`` make Arrow batches of the parts, and
``metrics_batches`` of a whole dump.
"""

from __future__ import annotations

from kwire_inspect.text_logs.batches import refusal_batches, request_batches
from kwire_inspect.text_logs.lines import Lines, Split, splits
from kwire_inspect.text_logs.metrics import metrics_batches

__all__ = ["Lines", "Split", "metrics_batches", "refusal_batches", "request_batches", "splits"]
