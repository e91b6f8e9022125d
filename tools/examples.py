"""``python -m tools.examples`` picks the frames that the protocol guide shows from those of real brokers.

For every layout of a request or response it takes the frame that shows most fields, of those the shortest, and writes
``message_defs/kafka/examples.jsonl``. Frames of more than 700 bytes, and those that the guide could not show exactly
as ``kwire decode`` does, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kwire.trace import Span, Trace, expand_records, trace_request, trace_response
from kwire_kafka import PROTOCOL
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.guide.examples import EXAMPLES
from kwirec.guide.spans import read
from kwirec.lowering import lower

ROOT = Path(__file__).parents[1]
DEFINITIONS = ROOT / "message_defs" / "kafka"
FRAMES = ROOT / "tests" / "data" / "real_frames" / "frames.jsonl"
LONGEST = 700


def main() -> None:
    layouts = lower(load([DEFINITIONS], Report()).schema).by_message
    best: dict[tuple[str, str], tuple[tuple[int, int], dict[str, object]]] = {}
    for source, name, version, data, trace in frames():
        layout = layouts[name].get(version)
        if layout is None or trace.error or len(data) > LONGEST:
            continue
        start = body(trace, name, version)
        spans = read(layout, data, {}, trace.spans[start].start)
        if [(s.start, s.path, s.kind) for s in spans[1:] if s.end > s.start] != [
            (s.start, s.path, s.kind) for s in trace.spans[start + 1 :] if s.end > s.start
        ]:
            continue
        shown = len({span.place for span in spans if span.end > span.start})
        line = {"source": f"Kafka {source}", "message": name, "version": version, "hex": data.hex()}
        score = shown, -len(data)
        if (name, layout.fingerprint) not in best or score > best[name, layout.fingerprint][0]:
            best[name, layout.fingerprint] = score, line
    lines = sorted(
        (line for _, line in best.values()), key=lambda line: (str(line["message"]), str(line["version"]).zfill(3))
    )
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (DEFINITIONS / EXAMPLES).write_text(text, "utf-8")
    print(f"{len(lines)} frames, {len(text):,} bytes")


def frames() -> Iterator[tuple[str, str, int, bytes, Trace]]:
    """The broker, message, version, bytes and trace of every frame."""
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


def body(trace: Trace, name: str, version: int) -> int:
    """The index of the heading of the message; the last span where the body has another version."""
    titles = (number for number, span in enumerate(trace.spans) if _is_title(span, name, version))
    return next(titles, len(trace.spans) - 1)


def _is_title(span: Span, name: str, version: int) -> bool:
    return span.name == f"{name} v{version}" and span.start == span.end


if __name__ == "__main__":
    main()
