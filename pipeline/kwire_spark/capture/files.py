"""One file of a capture to TCP packets."""

from __future__ import annotations

from collections.abc import Container, Iterator

from kwire_spark.capture.packets import IncompletePacketError, Packet, packet
from kwire_spark.capture.pcap import MAGICS, pcap_records
from kwire_spark.capture.pcapng import MAGIC, pcapng_records
from kwire_spark.capture.pieces import Broken
from kwire_spark.capture.records import Record, Report
from kwire_spark.capture.streams import DamagedStreamError, Window

ALWAYS, NEVER = float("-inf"), float("inf")
BEGINNING = 64
"""Bytes that tell what a file is: compressed ones may begin with fewer at a time."""


def file_packets(
    path: str, passed: Container[bytes] = (), start: float = ALWAYS, end: float = NEVER
) -> Iterator[Packet | Broken]:
    """The TCP packets from ``start`` until before ``end`` in a file, and what is broken about it.

    Packets whose key is in ``passed`` are passed over as fast as can be: it may grow meanwhile.
    """
    report = Report(path)
    window = Window(path)
    try:
        yield from _packets(window, path, passed, start, end, report)
    except OSError as error:
        report.add(0, f"cannot be read: {error.strerror or error}")
    except DamagedStreamError as error:
        report.add(window.base + len(window.buffer), str(error))
    finally:
        window.close()
    yield from report.take()


def first_time(path: str) -> float:
    """When the first packet of a file was seen; 0 if it has none."""
    window = Window(path)
    try:
        return next((time for time, *_ in _records(window, Report(path))), 0.0)
    except (OSError, DamagedStreamError):
        return 0.0
    finally:
        window.close()


def _packets(
    window: Window, path: str, passed: Container[bytes], start: float, end: float, report: Report
) -> Iterator[Packet | Broken]:
    for time, begin, stop, length, at, link in _records(window, report):
        buffer = window.buffer
        if stop - begin < length:
            cut = f"packets are cut: of {length} bytes here {stop - begin} were captured"
            report.add(window.base + at, cut, "cut")
        four, six = begin + link.four, begin + link.six
        if buffer[four : four + 12] in passed or buffer[six : six + 36] in passed or not start <= time < end:
            continue
        try:
            found = packet(buffer, begin, stop, length, link.network, time, path, window.base + at)
        except IncompletePacketError as error:
            report.add(window.base + at, str(error), "headers")
            continue
        if report.new:
            yield from report.take()
        if found is not None:
            yield found


def _records(window: Window, report: Report) -> Iterator[Record]:
    while len(window.buffer) < BEGINNING and window.advance(0):
        pass
    if not window.buffer:
        report.add(0, "not a capture: the file is empty")
        return iter(())
    kind = window.buffer[:4]
    if kind in MAGICS:
        return pcap_records(window, report)
    if kind == MAGIC:
        return pcapng_records(window, report)
    report.add(0, f"not a capture: it begins with {kind.hex(' ')}")
    return iter(())
