"""Showing the bytes of a message, frame or record as an annotated tree for people to read.

::

    from kwire.trace import annotate, show, trace_request

    print(show(trace_request(PROTOCOL, payload)))   # one line per field: offset, bytes, name, type and value

    try:
        FetchRequest.decode(data, 13)
    except DecodeError as error:
        print(annotate(error))                      # the lines up to the invalid byte

``kwire decode`` prints the same lines. Traces come from ``kwire.interpreter``, so they are consistent with decoding.
"""

from __future__ import annotations

from kwire.trace.batches import RecordsBudget, expand_records
from kwire.trace.frames import trace_frame, trace_request, trace_response
from kwire.trace.internal import trace_record
from kwire.trace.spans import Span, Trace, trace_message
from kwire.trace.view import annotate, as_json, show, value_text

__all__ = [
    "RecordsBudget",
    "Span",
    "Trace",
    "annotate",
    "as_json",
    "expand_records",
    "show",
    "trace_frame",
    "trace_message",
    "trace_record",
    "trace_request",
    "trace_response",
    "value_text",
]
