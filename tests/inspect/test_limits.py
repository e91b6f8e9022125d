"""Limits of what is believed, waits and is tried: their values. The test of each limit takes it from the source."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

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
    "storage.archives": {"MAX_HEADER": 1 << 20, "MAX_LIST": 32 << 20, "BUFFER": 1 << 17, "MAX_KNOWN": 4},
    "storage.decompression": {"CHUNK": 1 << 17, "STEP": 256, "SMALL_STEP": 4096},
    "storage.places": {"AT_ONCE": 16},
    "storage.stores": {"PEEKED": 1 << 18, "REQUESTED": 1 << 22, "MAX_LISTED": 1_000_000, "LOOKS_EVERY": 0.2},
    "tls.connection": {"TRIES": 2000, "MORE_TRIES": 4, "MAX_TRIES": 20_000, "MIN_RECORD": 22, "MAX_KEYS": 1000},
    "tls.decryption": {"CHUNK": 1 << 20},
    "tls.records": {"MAX_RECORD": 18_432, "MAX_HELLO": 1 << 16},
}


@pytest.mark.parametrize("module", LIMITS)
def test_limits_have_their_values(module: str) -> None:
    found = import_module(f"kwire_inspect.{module}")
    assert {name: getattr(found, name) for name in LIMITS[module]} == LIMITS[module]
