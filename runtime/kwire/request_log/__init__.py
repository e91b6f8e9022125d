"""Lines of a broker's request log, which Kafka writes through its logger ``kafka.request.logger``.

::

    for text in open("kafka-request.log"):
        line = parse_line(text)
        if line and line.header.deprecated:
            print(line.header.client_id, line.remote, line.header.api_name, line.header.api_version)

Since 2.8 a line knows the request and its response as JSON in the names of that broker's release;
``request_message`` and ``response_message`` make codec objects of them, ``request_model`` and ``response_model``
models. Before, they are text in
Java's own notation, which leaves bytes out and quotes nothing: all that can be had from it are error codes and the
throttle time. Header, connection, times and client are the same for both.
"""

from __future__ import annotations

from kwire.request_log.layouts import located, micros
from kwire.request_log.line import Address, Json, LoggedHeader, RequestLogError, RequestLogLine, addresses
from kwire.request_log.parsing import MARK, parse_line

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
