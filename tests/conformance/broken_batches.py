"""Broken record batches: what we read of them, Java reads alike; what only Java reads is counted.

Of ``LIKE_KAFKA``, only ``trailing="ignore"`` has a meaning for records: it passes over what Java does not look at.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from random import Random
from typing import Any

from crc32c import crc32c

from kwire.compression import Codec
from kwire.errors import DecodeError
from kwire.policy import LIKE_KAFKA, STRICT, Policy
from kwire.records import read_batches
from tests.conformance.jvm import Jvm, Refused
from tests.conformance.messages import seed
from tests.conformance.records import combinations, described
from tests.conformance.tally import Tally
from tests.fuzz.mutation import mutate

BROKEN = "broken batches that both refuse, or read alike"


def check(jvm: Jvm, rounds: int, tally: Tally) -> Counter[str]:
    """Mutations of Java's batches, with checksums that are right again. Gives what only Java reads, by our reason and
    the choice that makes us read it too, if there is one."""
    only_java: Counter[str] = Counter()
    for magic, codec, kind in combinations(jvm.kinds(), control=True):
        random = Random(seed("broken", magic, codec, kind))
        for number in range(rounds):
            data = jvm.build(magic, codec, kind, seed(magic, codec, kind, number % 8)).data
            data = _sealed(mutate(data, data, random))
            mine, reason = _mine(data, STRICT)
            tolerant, tolerant_reason = _mine(data, LIKE_KAFKA)
            try:
                theirs = _theirs(jvm, data)
            except MemoryError:
                continue
            if tolerant == theirs and mine in (None, theirs):
                tally.same(BROKEN)
                if mine != theirs:
                    only_java[f'{reason}: trailing="ignore"'] += 1
            elif tolerant is None and mine is None:
                only_java[tolerant_reason] += 1
            else:
                tally.differ(BROKEN, f"magic {magic} {codec} {kind} {number}", f"bytes {data.hex()}")
    return only_java


def _sealed(data: bytes) -> bytes:
    """With the size that it has, and with the checksum of its bytes: so that what is inside gets looked at."""
    if len(data) < 22:
        return data
    data = data[:8] + (len(data) - 12).to_bytes(4, "big") + data[12:]
    if data[16] >= 2:
        return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]
    return data[:12] + zlib.crc32(data[16:]).to_bytes(4, "big") + data[16:]


def _mine(data: bytes, policy: Policy) -> tuple[list[dict[str, Any]] | None, str]:
    try:
        batches = list(read_batches(data, policy=policy))
        if any(batch.codec > Codec.ZSTD for batch in batches):
            return None, "codec"  # without records nobody asks us for it, and Java always asks
        return [described(batch) for batch in batches], ""
    except DecodeError as error:
        return None, f"magic {error.version}: " + re.sub(r"-?\d+", "N", error.reason)


def _theirs(jvm: Jvm, data: bytes) -> list[dict[str, Any]] | None:
    try:
        batches: list[dict[str, Any]] = json.loads(jvm.records(data))
    except Refused as refused:
        if "OutOfMemoryError" in refused.reason:
            raise MemoryError from refused  # Java allocates what an inner message says that it has
        return None
    for batch in batches:
        for record in batch["records"]:
            record.pop("control", None)
    return batches
