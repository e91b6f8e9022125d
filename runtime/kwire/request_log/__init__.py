"""Parsing lines of a broker's request log, which is written by the logger ``kafka.request.logger``.

::

    for text in open("kafka-request.log"):
        line = parse_line(text)
        if line and line.header.deprecated:
            print(line.header.client_id, line.remote, line.header.api_name, line.header.api_version)

Since Kafka 2.8, a line contains the request and its response as JSON, with the field names of the broker's release.
``request_message`` and ``response_message`` convert this JSON to codec objects, and ``request_model`` and
``response_model`` convert it to models. Before Kafka 2.8, the request and response are text in a Java notation that
omits bytes and quotes, so only error codes and the throttle time can be read. Both forms contain the header,
connection, times and client.
"""

from __future__ import annotations

from kwire.request_log.layouts import located, micros
from kwire.request_log.line import Address, Json, LoggedHeader, RequestLogError, RequestLogLine, addresses
from kwire.request_log.parsing import parse_line
from kwire.request_log.text import MARK

__all__ = [
    "MARK",
    "Address",
    "Json",
    "LoggedHeader",
    "RequestLogError",
    "RequestLogLine",
    "addresses",
    "located",
    "micros",
    "parse_line",
]
