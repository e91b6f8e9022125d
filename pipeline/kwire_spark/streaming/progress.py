"""Totals of the progress that a query reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def too_late(progress: Iterable[StreamingQueryProgress]) -> int:
    """How many packets came so late that Spark dropped them, in these batches."""
    return sum(state["numRowsDroppedByWatermark"] for one in progress for state in one["stateOperators"])
