"""The values of the inspector's limits. The test of each limit takes it from the source, so any other would pass too.

People compare the reports of two days, which must not leave out more by chance.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

MB = 1 << 20
LIMITS: dict[str, dict[str, Any]] = {
    "capture.candidates": {"PIECE": 1 << 16},
    "capture.layers": {"MIN_TYPE": 0x600, "PPP_CONTROL": 0x4000},
    "capture.name_blocks": {"NEAR": 1 << 20, "MAX_NAMES": 100_000, "MAX_LENGTH": 255},
    "capture.ordering": {"FAR": 1 << 30, "MAX_PACKETS": 1000, "PACKET_SIZE": 512, "PATIENCE": 1.0},
    "capture.packet_files": {"BEGINNING": 64},
    "capture.packets": {"MANY": 3, "MAX_ENDS": 1 << 16},
    "capture.pcap": {"MAX_PACKET": 1 << 18, "BELIEVED": 1 << 24, "LATEST": 1 << 33, "MAX_REASONS": 100}
    | {"MAX_COUNTED": 1 << 48, "MIN_PACKET": 24, "APART": 2_592_000, "MAX_TRIES": 200},
    "capture.pcapng": {"MAX_DROPPED": 1 << 40, "MAX_INTERFACES": 1 << 16, "MIN_PACKET": 28},
    "capture.tcp": {"GRACE": 1.0, "BEHIND": 1 << 20, "MAX_PASSED": 1 << 17},
    "capture.unwrapping": {"MAX_RANGES": 64, "PATIENCE": 0.5, "MAX_PACKET": 65_535, "MAX_NAMES": 1000, "NAMED": 3},
    "command.common": {"MAX_NAMED": 5, "PROBED": 65_536, "WIDTH": 140},
    "command.engines": {"WORTH": 64 * MB, "BRIEF_LIMIT": 1024 * MB},
    "command.live": {"REFRESH": 30},
    "command.reports": {"MAX_ROWS": 10_000},
    "connections.batches": {"BATCH_ROWS": 4096, "BATCH_BYTES": 8 << 20, "TURN": 128, "TURN_BYTES": 1 << 19},
    "connections.connection": {"WINDOW": 1 << 18, "FIRST": 1 << 12, "GROWTH": 8, "ENOUGH": 3}
    | {"FOREIGN": 1 << 62, "HOPELESS": 32, "MAX_UNDECIDED": 1 << 26},
    "connections.error_codes": {"MAX_CODES": 256, "DEEPEST": 16},
    "connections.request_context": {"MAX_CONTEXTS": 256},
    "inputs": {"MAX_NAMED": 5, "PROBE_BYTES": 1 << 18},
    "live.interfaces": {"WHOLE": 262_144, "KERNEL_MB": 32, "STARTING": 20.0, "STOPPING": 10.0, "ASKED_EVERY": 30.0}
    | {"READ_BYTES": 1 << 16, "TICK": 0.25, "TOLD_LINES": 40},
    "live.ring": {"FILE_SECONDS": 1.0, "FILE_BYTES": 8 << 20},
    "readers": {"MAX_SPLIT": 64 << 20, "MIN_SPLIT": 4 << 20},
    "readers.capture": {"BYTES_PER_TASK": 32 << 20, "COMPRESSION": 4},
    "readers.stored": {"ROWS": 4096},
    "reasons": {"MIN_COVERAGE": 90.0},
    "reports.advice": {"EXAMPLES": 5},
    "reports.basis": {"MAX_PROBLEMS": 1000},
    "reports.census": {"TOP": 200},
    "reports.charts": {"PALETTE": 8},
    "reports.client_usage": {"MAX_ROWS": 200_000, "VERIFIES_SINCE": 4, "CREATES_SINCE": 7},
    "reports.encrypted": {"MAX_ROWS": 1000},
    "reports.formats": {"MARKDOWN_ROWS": 200},
    "reports.latency": {"TOP": 100, "SLOW_ROWS": 20, "ACCURACY": 1000},
    "reports.newer": {"MAX_NAMED": 10},
    "reports.offsets": {"TOP": 500, "BARS": 25},
    "reports.over_time": {"MAX_ROWS": 60},
    "reports.owners": {"MAX_FILE": 16 * MB},
    "reports.page": {"AT_ONCE": 100, "LONG": 36},
    "reports.prometheus": {"MAX_CLIENTS": 1000},
    "reports.readiness": {"MAX_NAMED": 10},
    "reports.terminal": {"ROWS": 20, "WIDEST": 60, "NARROW": 16, "WORD": 28},
    "reports.text": {"LONGEST": 200, "WHOLE": MB},
    "segments.reading": {"MAX_INDEX": 16 * MB},
    "segments.rows": {"MAX_RECORD": 2 * MB},
    "storage.archives": {"MAX_HEADER": 1 << 20, "MAX_LIST": 32 << 20, "BUFFER": 1 << 17, "MAX_KNOWN": 4},
    "storage.decompression": {"CHUNK": 1 << 17, "STEP": 256, "SMALL_STEP": 4096},
    "storage.places": {"AT_ONCE": 16},
    "storage.stores": {"PEEKED": 1 << 18, "REQUESTED": 1 << 22, "MAX_LISTED": 1_000_000, "LOOKS_EVERY": 0.2},
    "stored": {"MAX_MARKER": 64 * MB},
    "tables.clients": {"MAX_VERSIONS": 10_000, "MAX_IDENTITY": 1000},
    "tables.database": {"MAX_PARTS": 4096, "MAX_VALUE": 1024 * MB},
    "text_logs.dumps": {"MAX_JSON": 16 * MB, "MAX_VALUES": 500_000, "MAX_COUNTED": 1 << 53, "MAX_LABELS": 64},
    "text_logs.hosts": {"LONGEST": 600},
    "text_logs.lines": {"LONGEST": 4 * MB, "MAX_PROBLEMS": 1000},
    "text_logs.metrics": {"MAX_SERIES": 100_000},
    "text_logs.refusals": {"NEAR": 65_536, "MAX_LINES": 300, "MAX_BYTES": MB, "LONGEST_MESSAGE": 1000, "PREFIX": 200},
    "text_logs.requests": {"MAX_LINES": 2000, "MAX_BYTES": 4 * MB, "LAYOUT": 80},
    "tls.connection": {"TRIES": 2000, "MORE_TRIES": 4, "MAX_TRIES": 20_000, "MIN_RECORD": 22, "MAX_KEYS": 1000},
    "tls.decryption": {"CHUNK": 1 << 20},
    "tls.records": {"MAX_RECORD": 18_432, "MAX_HELLO": 1 << 16},
}


@pytest.mark.parametrize("module", LIMITS)
def test_limits_have_their_values(module: str) -> None:
    found = import_module(f"kwire_inspect.{module}")
    assert {name: getattr(found, name) for name in LIMITS[module]} == LIMITS[module]
