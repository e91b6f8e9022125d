"""``python -m tools.examples`` picks the bytes that the protocol guide shows from recordings of real brokers.

For every layout it picks the bytes that show most fields, and the shortest among equals. It writes
``message_defs/kafka/examples.jsonl`` with these kinds of examples, each of at most 700 bytes:

- frames of requests and responses,
- records of the logs of coordinators and of the metadata, without the numbers before the message,
- control records,
- the bytes that members of groups embed in these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
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
LONGEST = 700


def main() -> None:
    layouts = lower(load([UNION], Report()).schema).by_message
    best: dict[tuple[str, str], tuple[tuple[int, int], dict[str, object]]] = {}
    for source, name, version, data, trace in chain(frames(), records()):
        layout = layouts[name].get(version)
        if layout is None or trace.error or len(data) > LONGEST:
            continue
        places, spans = {row.place for row in rows(layout)}, trace.spans[body(trace, name, version) :]
        shown = len({place_of_span(span, places) for span in spans if span.end > span.start})
        line = {"source": f"Kafka {source}", "message": name, "version": version, "hex": data.hex()}
        score = shown, -len(data)
        if (name, layout.fingerprint) not in best or score > best[name, layout.fingerprint][0]:
            best[name, layout.fingerprint] = score, line
    lines = sorted(
        (line for _, line in best.values()), key=lambda line: (str(line["message"]), str(line["version"]).zfill(3))
    )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (UNION / EXAMPLES).write_text(text, "utf-8")
    print(f"{len(lines)} examples, {len(text):,} bytes")


def frames() -> Iterator[tuple[str, str, int, bytes, Trace]]:
    """Yield the broker, message, version, bytes and trace of every frame."""
    for line in FRAMES.read_text("utf-8").splitlines():
        found = json.loads(line)
        key, version = found["api_key"], found["version"]
        data = bytes.fromhex(found["request"])
        name = PROTOCOL.request(key).__name__
        yield found["broker"], name, version, data, trace_request(PROTOCOL, data, expand=expand_records)
        if found["response"]:
            data = bytes.fromhex(found["response"])
            trace = trace_response(PROTOCOL, data, key, version, expand=expand_records)
            yield found["broker"], PROTOCOL.response(key).__name__, version, data, trace


def records() -> Iterator[tuple[str, str, int, bytes, Trace]]:
    """Yield the same for the messages of stored records."""
    for folder in sorted(LOGS.glob("*/__*-0")):
        release = folder.parent.name.partition("-")[0]
        for file in sorted(one.path for one in scan(folder)):
            for row in internal_records(PROTOCOL, file, topic=folder.name.removesuffix("-0")):
                for message, version, raw in messages(row.record):
                    data = message.encode(version)
                    if raw.endswith(data):  # not what another version of the reader writes otherwise
                        yield release, type(message).__name__, version, data, trace_message(
                            type(message), data, version
                        )


def messages(record: InternalRecord) -> Iterator[tuple[Message, int, bytes]]:
    """Yield the messages in a record, with their versions and the bytes that end in them."""
    if record.key is not None:
        yield record.key, record.key.VALID_VERSIONS.start, record.raw_key or b""
    if record.value is not None and record.version is not None:
        yield record.value, record.version, record.raw_value or b""
        for inner in embedded(PROTOCOL, record.value):
            if inner.message and inner.version is not None and inner.version in inner.message.VALID_VERSIONS:
                yield inner.message, inner.version, inner.raw


def body(trace: Trace, name: str, version: int) -> int:
    """Return the index of the message's heading, or of the last span where the body has another version."""
    titles = (number for number, span in enumerate(trace.spans) if _is_title(span, name, version))
    return next(titles, len(trace.spans) - 1)


def _is_title(span: Span, name: str, version: int) -> bool:
    return span.name == f"{name} v{version}" and span.start == span.end


if __name__ == "__main__":
    main()
