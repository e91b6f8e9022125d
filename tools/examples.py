"""``python -m tools.examples`` selects examples for the protocol guide from recordings of real brokers.

For every layout, and for every pair of request and response layouts, the command selects the bytes that show the most
fields, and of these the shortest. Messages of more than 700 bytes are selected only if no others exist. The command
writes these kinds of examples to ``message_defs/kafka/examples.jsonl``:

- requests with their responses,
- records of coordinator logs and the metadata log, without the version numbers before the message,
- control records,
- the messages that group members embed in these records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain

from kwire.logs import InternalRecord, embedded, internal_records, scan
from kwire.message import Message
from kwire.trace import Span, Trace, expand_records, trace_message, trace_request, trace_response
from kwire_guide.examples import EXAMPLES
from kwire_guide.messages import place_of_span
from kwire_guide.rows import rows
from kwire_kafka import PROTOCOL
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.lowering import lower
from tools import ROOT, UNION

FRAMES = ROOT / "tests" / "data" / "real_frames" / "frames.jsonl"
LOGS = ROOT / "tests" / "data" / "logs"
LONG = 700

Recording = tuple[str, int, Sequence[tuple[str, bytes, Trace]]]
"""A broker release, a message version, and related messages, each with its name, bytes and trace."""


def main() -> None:
    layouts = lower(load([UNION], Report()).schema).by_message
    best: dict[tuple[str, ...], tuple[tuple[bool, int, int], list[dict[str, object]]]] = {}
    for source, version, messages in chain(exchanges(), records()):
        if any(trace.error or version not in layouts[name] for name, _, trace in messages):
            continue
        key, shown, size = [], 0, 0
        for name, data, trace in messages:
            layout = layouts[name][version]
            places, spans = {row.place for row in rows(layout)}, trace.spans[body(trace, name, version) :]
            key += [name, layout.fingerprint]
            shown += len({place_of_span(span, places) for span in spans if span.end > span.start})
            size += len(data)
        score = all(len(data) <= LONG for _, data, _ in messages), shown, -size
        if tuple(key) not in best or score > best[tuple(key)][0]:
            best[tuple(key)] = score, [
                {"source": f"Kafka {source}", "message": name, "version": version, "hex": data.hex()}
                for name, data, _ in messages
            ]
    lines = sorted(
        (line for _, found in best.values() for line in found),
        key=lambda line: (str(line["message"]), str(line["version"]).zfill(3)),
    )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (UNION / EXAMPLES).write_text(text, "utf-8")
    print(f"{len(lines)} examples, {len(text):,} bytes")


def exchanges() -> Iterator[Recording]:
    """Yield every answered request with its response."""
    for line in FRAMES.read_text("utf-8").splitlines():
        found = json.loads(line)
        if not found["response"]:
            continue
        key, version = found["api_key"], found["version"]
        request, response = bytes.fromhex(found["request"]), bytes.fromhex(found["response"])
        yield (
            found["broker"],
            version,
            (
                (PROTOCOL.request(key).__name__, request, trace_request(PROTOCOL, request, expand=expand_records)),
                (
                    PROTOCOL.response(key).__name__,
                    response,
                    trace_response(PROTOCOL, response, key, version, expand=expand_records),
                ),
            ),
        )


def records() -> Iterator[Recording]:
    """Yield every message in the stored records of internal topics."""
    for folder in sorted(LOGS.glob("*/__*-0")):
        release = folder.parent.name.partition("-")[0]
        for file in sorted(one.path for one in scan(folder)):
            for row in internal_records(PROTOCOL, file, topic=folder.name.removesuffix("-0")):
                for message, version, raw in messages(row.record):
                    data = message.encode(version)
                    if raw.endswith(data):  # skip records that do not encode to their original bytes
                        trace = trace_message(type(message), data, version)
                        yield release, version, ((type(message).__name__, data, trace),)


def messages(record: InternalRecord) -> Iterator[tuple[Message, int, bytes]]:
    """Yield each message in a record, with its version and bytes. Other data in the bytes may precede the message."""
    if record.key is not None:
        yield record.key, record.key.VALID_VERSIONS.start, record.raw_key or b""
    if record.value is not None and record.version is not None:
        yield record.value, record.version, record.raw_value or b""
        for inner in embedded(PROTOCOL, record.value):
            if inner.message and inner.version is not None and inner.version in inner.message.VALID_VERSIONS:
                yield inner.message, inner.version, inner.raw


def body(trace: Trace, name: str, version: int) -> int:
    """Return the index of the message's heading, or of the last span if the body has another version."""
    titles = (number for number, span in enumerate(trace.spans) if _is_title(span, name, version))
    return next(titles, len(trace.spans) - 1)


def _is_title(span: Span, name: str, version: int) -> bool:
    return span.name == f"{name} v{version}" and span.start == span.end


if __name__ == "__main__":
    main()
