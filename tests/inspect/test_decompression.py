"""Compressed inputs: told by their first bytes, read in bounded memory, and up to where they are damaged."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import tracemalloc
import zlib
from collections import deque
from pathlib import Path

import pytest

from kwire_inspect.inputs import find
from kwire_inspect.storage import DamagedStreamError, Window, decompression, is_compressed
from kwire_inspect.storage.decompression import CHUNK, SMALL_STEP, decompressed
from tests.support.packing import COMPRESS

RANDOM = random.Random(1)
DATA = b"".join(RANDOM.choice([RANDOM.randbytes(3000), bytes(9000), b"line of a log\n" * 99]) for _ in range(150))
LOG = b"[2026-01-02 12:00:00,000] INFO Completed request:{} (kafka.request.logger)\n"
NAMES = sorted(COMPRESS)


def read(data: bytes) -> tuple[bytes, str]:
    """The bytes of a file, and why it ended early."""
    parts: list[bytes] = []
    try:
        for chunk in decompressed(io.BufferedReader(io.BytesIO(data))):
            assert 0 < len(chunk) <= max(CHUNK, 1 << 23)
            parts.append(chunk)
    except DamagedStreamError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), ""


@pytest.mark.parametrize("name", NAMES)
def test_one_stream_and_several(name: str) -> None:
    one = COMPRESS[name](DATA)
    assert read(one) == (DATA, "")
    assert read(one + COMPRESS[name](b"more")) == (DATA + b"more", "")
    assert read(COMPRESS[name](b"")) == (b"", "")


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("zeros", [0, 4, CHUNK, 3 * CHUNK])
def test_zeros_after_a_stream_are_padding(name: str, zeros: int) -> None:
    one, two = COMPRESS[name](b"one"), COMPRESS[name](b"two")
    assert read(one + bytes(zeros) + two + bytes(zeros)) == (b"onetwo", "")


def test_chunks_of_lz4_are_as_large_as_those_of_other_formats() -> None:
    chunks = decompressed(io.BufferedReader(io.BytesIO(COMPRESS["LZ4"](DATA))))
    assert [len(chunk) for chunk in chunks] == [*[CHUNK] * (len(DATA) // CHUNK), len(DATA) % CHUNK]


@pytest.mark.parametrize("name", NAMES)
def test_the_file_tells_its_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / "whatever"
    path.write_bytes(COMPRESS[name](LOG))
    assert find([path]).request_logs == (str(path),)
    assert is_compressed(str(path))
    path.write_bytes(LOG)
    assert not is_compressed(str(path))


def test_zstd_may_begin_with_what_is_skipped(tmp_path: Path) -> None:
    for first in (0x50, 0x5F):
        path = tmp_path / "log"
        path.write_bytes(bytes([first]) + b"\x2a\x4d\x18" + b"\3\0\0\0" + b"abc" + COMPRESS["zstd"](LOG))
        assert read(path.read_bytes()) == (LOG, "")
        assert find([path]).request_logs == (str(path),)


def test_texts_that_begin_like_bzip2_are_plain() -> None:
    assert read(b"BZh is no compression\n") == (b"BZh is no compression\n", "")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_what_is_cut_is_read_to_there(name: str, part: float) -> None:
    """All formats but bzip2, whose blocks have up to 900 kB, lose no more than a block of 256 KB."""
    whole = COMPRESS[name](DATA)
    found, reason = read(whole[: int(len(whole) * part)])
    assert reason == f"truncated {name} data"
    assert DATA.startswith(found)
    assert len(found) > len(DATA) * part - (900_000 if name == "bzip2" else 300_000)


def test_of_a_cut_gzip_file_all_is_read_that_zlib_can_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompression, "CHUNK", 64)
    whole = gzip.compress(bytes(5000) + b"some lines\n" * 200 + RANDOM.randbytes(200), mtime=0)
    for size in range(6, len(whole)):
        expected = zlib.decompressobj(wbits=31).decompress(whole[:size])
        assert read(whole[:size]) == (expected, "truncated gzip data")


def test_of_a_damaged_gzip_file_all_is_read_up_to_the_damage() -> None:
    packer = zlib.compressobj(wbits=31)
    good = packer.compress(DATA[:6400]) + packer.flush(zlib.Z_FULL_FLUSH)
    found, reason = read(good + b"\xff" * 9)
    assert reason == "invalid gzip data: Error -3 while decompressing data: invalid block type"
    assert found == DATA[: len(found)]
    assert 6400 - 64 <= len(found) <= 6400


@pytest.mark.parametrize("name", NAMES)
def test_what_is_damaged_is_read_to_there(name: str) -> None:
    whole = bytearray(COMPRESS[name](DATA))
    middle = len(whole) // 2
    whole[middle : middle + 64] = RANDOM.randbytes(64)
    found, reason = read(bytes(whole))
    assert reason.startswith(f"invalid {name} data: ")
    assert DATA.startswith(found[: len(DATA) // 4]) or name == "bzip2"  # whose checksum is at the end of a block


@pytest.mark.parametrize("name", ["bzip2", "xz", "LZ4"])
def test_what_follows_a_stream_must_be_one(name: str) -> None:
    found, reason = read(COMPRESS[name](DATA) + b"garbage" * 2)
    assert DATA.startswith(found)
    assert len(DATA) - len(found) < SMALL_STEP
    assert reason.startswith(f"invalid {name} data: ")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_bomb_takes_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESS[name](bytes(60_000_000)))
    window, size = Window(str(path)), 0
    tracemalloc.start()
    while window.advance(len(window.buffer)):
        size += len(window.buffer)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert size == 60_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_not_become_a_multiple_of_itself(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "MAX_FREE", 1 << 20)
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESS[name](bytes(64 << 20)))
    window = Window(str(path))
    if path.stat().st_size * decompression.MAX_RATIO >= 64 << 20:
        pytest.skip("LZ4 cannot make a multiple of that size")
    with pytest.raises(DamagedStreamError, match="more than 200 times its size"):
        deque(iter(lambda: window.advance(len(window.buffer)), False), maxlen=0)
    assert window.base < 32 << 20
    window.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("free", "ratio", "believe", "allowed"),
    [
        (20_000, 0, False, True),
        (19_999, 0, False, False),
        (19_999, 1, False, False),  # the larger of both limits counts, and not their sum
        (0, 3, False, True),
        (0, 0, True, True),
    ],
)
def test_the_limit_is_that_of_all_bytes_of_a_file(
    name: str, free: int, ratio: int, believe: bool, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "CHUNK", 1 << 10)
    monkeypatch.setattr(decompression, "MAX_FREE", free)
    monkeypatch.setattr(decompression, "MAX_RATIO", ratio)
    monkeypatch.setattr(decompression, "SMALL_STEP", 1 << 8)
    data = b"".join(RANDOM.randbytes(100) * 2 for _ in range(100))  # becomes about half as large
    chunks = decompressed(io.BufferedReader(io.BytesIO(COMPRESS[name](data))), believe=believe)
    if allowed:
        assert b"".join(chunks) == data
    else:
        with pytest.raises(DamagedStreamError) as refused:
            deque(chunks, maxlen=0)
        assert str(refused.value) == f"decompressed to more than {ratio} times its size: decompress the file yourself"
    plain = decompressed(io.BufferedReader(io.BytesIO(data)), believe=believe)
    assert b"".join(plain) == data


def test_xz_that_asks_for_much_memory_is_refused() -> None:
    """A header of 12 bytes can ask for a dictionary of 4 GB."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 256 << 20}]
    data = lzma.compress(b"little", lzma.FORMAT_XZ, filters=filters)
    assert read(data) == (b"", "invalid xz data: Memory usage limit exceeded")
