"""Compression of records: round trips, bytes that Java wrote, streams of other clients, and hostile ones."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc
import zlib
from itertools import groupby
from random import Random
from typing import Any

import cramjam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire.compression import (
    DEFAULT_LIMIT,
    Codec,
    CompressionError,
    DecompressionLimitError,
    _lz4_header_checksum,
    compress,
    decompress,
)
from kwire.errors import EncodeError
from tests.support.effort import peak

NONE, GZIP, SNAPPY, LZ4, ZSTD = Codec
CODECS = (GZIP, SNAPPY, LZ4, ZSTD)
TEXT = b"The quick brown fox. " * 5

JAVA = [
    (GZIP, 2, b"", "1f8b08000000000000ff03000000000000000000"),
    (GZIP, 2, b"a", "1f8b08000000000000ff4b040043beb7e801000000"),
    (
        GZIP,
        2,
        TEXT,
        "1f8b08000000000000ff0bc94855282ccd4cce56482aca2fcf5348cbafd05308a1812000cf050aec69000000",
    ),
    (SNAPPY, 2, b"", "82534e41505059000000000100000001"),
    (SNAPPY, 2, b"a", "82534e4150505900000000010000000100000003010061"),
    (
        SNAPPY,
        2,
        TEXT,
        "82534e415050590000000001000000010000001d695054686520717569636b2062726f776e20666f782e20fe15004e1500",
    ),
    (LZ4, 0, b"", "04224d1860401a00000000"),
    (LZ4, 0, b"a", "04224d1860401a010000806100000000"),
    (LZ4, 1, b"a", "04224d18604082010000806100000000"),
    (
        LZ4,
        2,
        TEXT,
        "04224d1860408220000000ff0654686520717569636b2062726f776e20666f782e2015003c50666f782e2000000000",
    ),
    (ZSTD, 2, b"", "28b52ffd2000010000"),
    (ZSTD, 2, b"a", "28b52ffd005808000061010000"),
    (ZSTD, 2, TEXT, "28b52ffd0058e40000a854686520717569636b2062726f776e20666f782e20010003a7c904010000"),
]
"""What ``org.apache.kafka.common.compress.Compression`` of kafka-clients 4.1.1 writes with its default levels, with
snappy-java 1.1.10.7, lz4-java 1.8.0, zstd-jni 1.5.6-10 and the zlib of Java 17."""


def lz4_frame(data: bytes, **options: Any) -> bytes:
    compressor = cramjam.lz4.Compressor(**options)
    compressor.compress(data)
    return bytes(compressor.finish())


def payloads() -> list[bytes]:
    """Sizes around the borders of blocks, of what compresses and what does not."""
    sizes = [0, 1, 7, 8, *(block + more for block in (1 << 15, 1 << 16, 1 << 17) for more in (-1, 0, 1)), 300_000]
    return [content(size) for size in sizes for content in (bytes, Random(size).randbytes)]


@pytest.mark.parametrize("codec", [NONE, *CODECS])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_round_trips_around_the_borders_of_blocks(codec: int, magic: int) -> None:
    for data in payloads():
        written = compress(codec, data, magic=magic)
        assert decompress(codec, written, magic=magic) == data
        assert decompress(codec, memoryview(b"x" + written)[1:], magic=magic, limit=len(data)) == data
        assert compress(codec, data, magic=magic) == written


@given(
    data=st.one_of(
        st.binary(), st.builds(lambda piece, times: piece * times, st.binary(max_size=40), st.integers(0, 4000))
    ),
    codec=st.sampled_from([NONE, *CODECS]),
    magic=st.integers(0, 2),
    level=st.none() | st.integers(1, 9),
)
@example(data=b"", codec=ZSTD, magic=2, level=None)
def test_round_trips(data: bytes, codec: int, magic: int, level: int | None) -> None:
    if codec in (NONE, SNAPPY):
        level = None
    written = compress(codec, data, magic=magic, level=level)
    assert decompress(codec, written, magic=magic, limit=len(data)) == data
    if data:
        with pytest.raises(DecompressionLimitError):
            decompress(codec, written, magic=magic, limit=len(data) - 1)


@pytest.mark.parametrize(("codec", "magic", "data", "written"), JAVA)
def test_bytes_of_java(codec: int, magic: int, data: bytes, written: str) -> None:
    assert decompress(codec, bytes.fromhex(written), magic=magic) == data
    if codec != ZSTD:  # of which every release writes something else
        assert compress(codec, data, magic=magic).hex() == written


@pytest.mark.parametrize("repeated", [4, 5])
def test_a_block_of_lz4_that_would_not_shrink_is_stored(repeated: int) -> None:
    """To say that 4 bytes repeat takes as many as they are."""
    start = b"abcdefghijkl"
    data = start + start[:repeated] + b"0123456789AB"
    saved = repeated - 4
    assert len(bytes(cramjam.lz4.compress_block(data, store_size=False))) == len(data) - saved
    written = compress(LZ4, data)
    assert int.from_bytes(written[7:11], "little") == len(data) - saved | (0 if saved else 1 << 31)
    assert decompress(LZ4, written) == data


def test_without_a_level_the_default_of_kafka_is_meant() -> None:
    data = Random(1).randbytes(3_000).hex().encode() * 3
    for codec, default, other in ((GZIP, 6, 1), (ZSTD, 3, 1), (ZSTD, 3, 22)):
        assert compress(codec, data) == compress(codec, data, level=default)
        assert compress(codec, data) != compress(codec, data, level=other)


def test_codecs_are_numbers_of_three_bits() -> None:
    assert [Codec(number).name for number in range(8)] == [
        *("NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD", "UNKNOWN_5", "UNKNOWN_6", "UNKNOWN_7")
    ]
    assert len(Codec) == 5
    others: list[Any] = [-1, 8, "1", 1.5]
    for number in others:
        with pytest.raises(ValueError, match="is not a valid Codec"):
            Codec(number)


@pytest.mark.slow
def test_levels() -> None:
    data = b"".join(b"key-%d value-%d;" % (number, number * number) for number in range(5000))
    for codec, weak, strong in ((GZIP, 1, 9), (LZ4, 9, 12), (ZSTD, -5, 19)):
        small, large = compress(codec, data, level=strong), compress(codec, data, level=weak)
        assert len(small) < len(large)
        assert decompress(codec, small) == decompress(codec, large) == data
    varied = b"".join(bytes(Random(n).choices(b"abcdefgh", k=20)) + b"some text again" * (n % 5) for n in range(500))
    for codec, others in ((GZIP, range(1, 10)), (LZ4, (3, 4, 5, 8, 9, 10, 12)), (ZSTD, (-5, -1, 1, 3, 9, 19))):
        assert len({compress(codec, varied, level=level) for level in others}) == len(others), "each level counts"
    for codec, strongest in ((GZIP, 9), (LZ4, 17), (ZSTD, 22)):
        assert decompress(codec, compress(codec, data, level=strongest)) == data
    assert compress(LZ4, data, level=9) == compress(LZ4, data), "Kafka's default level is the fast compressor"
    small = compress(LZ4, data, level=12, magic=0)
    assert decompress(LZ4, small, magic=0) == data
    with pytest.raises(CompressionError, match="header checksum"):
        decompress(LZ4, small, magic=2)


@pytest.mark.parametrize(
    ("codec", "level"), [(GZIP, 0), (GZIP, 10), (LZ4, 18), (ZSTD, 23), (SNAPPY, 1), (NONE, 1), (5, None)]
)
def test_unknown_codecs_and_levels_are_not_written(codec: int, level: int | None) -> None:
    with pytest.raises(EncodeError):
        compress(codec, b"data", level=level)


class TestTrap45:
    """Codec bits 0 to 2, and the streams that other clients send. [KAFKA-WIRE 45]"""

    def test_trap_45_numbers(self) -> None:
        assert (NONE, GZIP, SNAPPY, LZ4, ZSTD) == (0, 1, 2, 3, 4)
        assert [codec.label for codec in Codec] == ["none", "gzip", "snappy", "lz4", "zstd"]

    @pytest.mark.parametrize("codec", [-1, 5, 6, 7])
    def test_trap_45_unknown_codecs(self, codec: int) -> None:
        with pytest.raises(CompressionError, match=f"unknown compression codec {codec}"):
            decompress(codec, b"data")

    def test_trap_45_raw_snappy(self) -> None:
        for data in (b"", TEXT, bytes(100_000)):
            assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data

    @pytest.mark.parametrize("versions", ["0100000001000000", "0000000900000009", "ffffffffffffffff"])
    def test_trap_45_xerial_headers_with_other_versions(self, versions: str) -> None:
        """Redpanda writes them with the little end first."""
        data = Random(1).randbytes(100_000)
        written = compress(SNAPPY, data)
        assert decompress(SNAPPY, written[:8] + bytes.fromhex(versions) + written[16:]) == data

    def test_trap_45_xerial_blocks_are_of_32_kib(self) -> None:
        data = Random(1).randbytes(70_000)
        written = compress(SNAPPY, data)
        assert written[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
        sizes, at = [], 16
        while at < len(written):
            size = int.from_bytes(written[at : at + 4], "big")
            sizes.append(cramjam.snappy.decompress_raw_len(written[at + 4 : at + 4 + size]))
            at += 4 + size
        assert sizes == [32768, 32768, 4464]

    def test_trap_45_header_checksum_of_lz4(self) -> None:
        """Records of magic 0 carry a wrong one, which only readers of magic 0 accept."""
        old, new = compress(LZ4, TEXT, magic=0), compress(LZ4, TEXT, magic=1)
        assert (old[6], new[6]) == (0x1A, 0x82)
        assert old[:6] + old[7:] == new[:6] + new[7:]
        assert decompress(LZ4, old, magic=0) == decompress(LZ4, new, magic=0) == decompress(LZ4, new, magic=1) == TEXT
        assert bytes(cramjam.lz4.decompress(new)) == TEXT
        for magic in (1, 2):
            with pytest.raises(CompressionError, match="header checksum") as caught:
                decompress(LZ4, old, magic=magic)
            assert caught.value.offset == 6

    @pytest.mark.parametrize("content_checksum", [True, False])
    def test_trap_45_frames_of_another_lz4_writer(self, content_checksum: bool) -> None:
        data = Random(1).randbytes(100_000) + bytes(100_000)
        assert decompress(LZ4, lz4_frame(data, block_linked=False, content_checksum=content_checksum)) == data

    def test_trap_45_content_checksum_of_lz4_is_not_checked(self) -> None:
        """KAFKA-20528: Kafka skips it, but it has to be there."""
        written = lz4_frame(TEXT, block_linked=False, content_checksum=True)
        assert decompress(LZ4, written[:-4] + b"oops") == TEXT
        for missing in (1, 2, 3, 4):
            with pytest.raises(CompressionError, match="content checksum is missing"):
                decompress(LZ4, written[:-missing])

    def test_trap_45_linked_lz4_blocks_are_refused_as_in_kafka(self) -> None:
        with pytest.raises(CompressionError, match="dependent blocks"):
            decompress(LZ4, lz4_frame(TEXT, block_linked=True))

    def test_trap_45_lz4_header_with_content_size(self) -> None:
        frame = bytes.fromhex("04224d18684069000000000000006f") + compress(LZ4, TEXT)[7:]  # 105 bytes
        frame = frame[:6] + (105).to_bytes(8, "little") + frame[14:]
        assert decompress(LZ4, frame, magic=0) == TEXT
        checked = [checksum for checksum in range(256) if _readable(LZ4, frame[:14] + bytes([checksum]) + frame[15:])]
        assert checked == [cramjam_checksum(frame)]

    @pytest.mark.parametrize("magic", [0, 2])
    def test_trap_45_errors_of_cut_lz4_frames_point_into_them(self, magic: int) -> None:
        """Of a frame with all that is optional: the size of the content, checksums of blocks and of the content."""
        frame = compress(LZ4, TEXT, magic=0)
        descriptor = bytes([0x7C, frame[5]]) + bytes(8)
        block = frame[7:-4] + b"sum "
        whole = frame[:4] + descriptor + _lz4_header_checksum(descriptor, magic) + block + bytes(4) + b"sum "
        assert decompress(LZ4, whole, magic=magic) == TEXT
        for size in range(4, len(whole)):
            with pytest.raises(
                CompressionError, match=r"ends in its header|is truncated|bytes, but|is missing"
            ) as got:
                decompress(LZ4, whole[:size], magic=magic)
            assert got.value.offset <= size

    def test_trap_45_several_frames_in_one_payload(self) -> None:
        for codec in (GZIP, SNAPPY, ZSTD):
            assert decompress(codec, compress(codec, TEXT) + compress(codec, b"more")) == TEXT + b"more"

    def test_trap_45_zstd_frames_without_content_size_and_skippable_frames(self) -> None:
        compressor = cramjam.zstd.Compressor(level=3)
        compressor.compress(TEXT)
        streamed = bytes(compressor.finish())
        assert not streamed[4] & 0b1110_0000, "the frame states its size"
        skippable = struct.pack("<II", 0x184D2A50, 3) + b"abc"
        assert decompress(ZSTD, streamed + skippable + streamed) == TEXT * 2

    @pytest.mark.parametrize(
        ("codec", "tail"), [(GZIP, b"xyz"), (GZIP, bytes(9)), (LZ4, b"abc"), (SNAPPY, b"\0\0"), (SNAPPY, b"abc")]
    )
    def test_trap_45_what_java_ignores_behind_the_end(self, codec: int, tail: bytes) -> None:
        assert decompress(codec, compress(codec, TEXT) + tail) == TEXT


def _readable(codec: int, data: bytes) -> bool:
    try:
        decompress(codec, data)
    except CompressionError:
        return False
    return True


def cramjam_checksum(frame: bytes) -> int:
    """The header checksum with which another reader of lz4 accepts the frame."""
    for checksum in range(256):
        try:
            cramjam.lz4.decompress(frame[:14] + bytes([checksum]) + frame[15:])
        except cramjam.DecompressionError:
            continue
        return checksum
    raise AssertionError("no checksum is right")


LITERALS = b"\2\4ab", b"\3\x08cde"
"""Two blocks of snappy as they are."""
XERIAL = JAVA[4][3][:32] + "00000004" + LITERALS[0].hex() + "00000005" + LITERALS[1].hex()
LZ4_START = b"\x04\x22\x4d\x18"


def lz4_by_hand(flags: int, *blocks: bytes, sizes: int = 0x40) -> bytes:
    """A frame of stored blocks, with the checksums, which nobody looks at, and the size that its flags say."""
    descriptor = bytes([flags, sizes]) + bytes(8 * (flags >> 3 & 1))
    data = LZ4_START + descriptor + _lz4_header_checksum(descriptor, 2)
    for block in blocks:
        data += (len(block) | 1 << 31).to_bytes(4, "little") + block + b"sums" * (flags >> 4 & 1)
    return data + bytes(4) + b"sums" * (flags >> 2 & 1)


GZIPPED = compress(GZIP, b"ab")
STREAMS: dict[str, tuple[int, bytes]] = {
    "two members of gzip": (GZIP, GZIPPED + GZIPPED),
    "two blocks of snappy": (SNAPPY, bytes.fromhex(XERIAL)),
    "snappy with its header again": (SNAPPY, bytes.fromhex(XERIAL[:48] + XERIAL[:32] + XERIAL[48:])),
    "a block of snappy alone": (SNAPPY, LITERALS[1]),
    "two blocks of lz4": (LZ4, lz4_by_hand(0x60, b"ab", b"cde")),
    "lz4 with checksums and a size": (LZ4, lz4_by_hand(0x7C, b"ab", b"cde")),
    "no compression": (NONE, b"abcde"),
    **{f"lz4 with flags {flags:02x}": (LZ4, lz4_by_hand(flags, b"ab")) for flags in (0x20, 0x40, 0x61, 0xA0)},
    **{f"lz4 with sizes {size:02x}": (LZ4, lz4_by_hand(0x60, b"ab", sizes=size)) for size in (0x30, 0x70, 0x41)},
    "a large block of lz4": (LZ4, lz4_by_hand(0x60, bytes(65_537))[:20]),
    "a large block of snappy": (SNAPPY, bytes.fromhex(XERIAL[:32]) + b"\xff\xff\xff\xff\0"),
    "an empty block of snappy": (SNAPPY, bytes.fromhex(XERIAL[:32]) + bytes(4)),
    "a block of snappy that claims too much": (SNAPPY, b"\x7f\x08cde"),
    "snappy of more than an int32": (SNAPPY, b"\xff" * 9 + b"\1"),
    "gzip with a wrong checksum": (GZIP, GZIPPED[:-8] + b"oops" + GZIPPED[-4:]),
    "zstd with something behind it": (ZSTD, compress(ZSTD, b"abcde") + b"garbage"),
    "no zstd": (ZSTD, b"garbage"),
}  # fmt: skip
OURS = ("the ", "a block of ", "Kafka does ", "decompresses ")


@pytest.mark.parametrize(("codec", "data"), STREAMS.values(), ids=STREAMS)
def test_every_cut_and_every_limit(codec: int, data: bytes, snapshot: SnapshotAssertion) -> None:
    """What is decompressed, or why not and at which byte; reasons of libraries are left out."""

    def outcome(seen: bytes, limit: int) -> str:
        found = None
        try:
            return repr(decompress(codec, seen, limit=limit))
        except CompressionError as error:
            found = error
        assert (found.message_name, found.data) == (Codec(codec).label, seen)
        assert isinstance(found, DecompressionLimitError) == (f"limit of {limit} bytes" in found.reason)
        reason = found.reason if found.reason.startswith(OURS) else "its own reason"
        left = len(seen) - found.offset
        reason = reason.replace(f"the limit of {limit} bytes", "the limit").replace(f" {left} are", " fewer are")
        return f"{reason}, at {f'byte {found.offset}' if left else 'the end'}"

    cuts = [(size, outcome(data[:size], 5)) for size in range(len(data) + 1)]
    limits = [(limit, outcome(data, limit)) for limit in range(6)]
    lines = []
    for what, found in (("byte", cuts), ("limit", limits)):
        for said, run in groupby(found, key=lambda one: one[1]):
            first, *_, last = [number for number, _ in run] * 2
            lines.append(f"{what} {first} to {last}: {said}" if first < last else f"{what} {first}: {said}")
    assert lines == snapshot


@pytest.mark.parametrize("codec", CODECS)
def test_random_damage_gives_nothing_but_typed_errors(codec: int) -> None:
    random = Random(codec)
    written = compress(codec, TEXT + random.randbytes(100))
    errors = 0
    for _ in range(5000):
        damaged = bytearray(written)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        try:
            decompress(codec, bytes(damaged[: random.randint(1, len(damaged))]), limit=1 << 20)
        except CompressionError as error:
            errors += 1
            str(error)
    assert errors > 1000


def zstd_bomb() -> bytes:
    """Blocks of one repeated byte: 4 bytes for 128 KiB."""
    block, last = 128 << 10 << 3 | 2, 128 << 10 << 3 | 3
    return (
        b"\x28\xb5\x2f\xfd\x00\x58" + (block.to_bytes(3, "little") + b"a") * 250 + last.to_bytes(3, "little") + b"a"
    )


def bombs() -> list[tuple[str, int, bytes]]:
    """1 KB each, of what decompresses to the most, or says so."""
    huge = (1 << 60).to_bytes(8, "little")
    return [
        ("gzip", GZIP, compress(GZIP, bytes(1_000_000), level=9)),
        ("gzip within gzip", GZIP, compress(GZIP, bytes(100_000)) * 8),
        ("xerial", SNAPPY, b"\x82SNAPPY\0" + bytes(8) + _xerial_block(bytes(20_000))),
        ("raw snappy", SNAPPY, bytes(cramjam.snappy.compress_raw(bytes(20_000)))),
        ("snappy that says 4 GiB", SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(1000)),
        ("lz4", LZ4, compress(LZ4, bytes(200_000))),
        ("zstd", ZSTD, zstd_bomb()),
        ("zstd that says 2^60", ZSTD, b"\x28\xb5\x2f\xfd\xc0\x58" + huge + zstd_bomb()[6:]),
    ]


def _xerial_block(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return len(block).to_bytes(4, "big") + block


@pytest.mark.parametrize(
    ("name", "codec", "data"), bombs(), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("limit", [1000, 16_000])
def test_bombs_are_refused_within_their_bound(name: str, codec: int, data: bytes, limit: int) -> None:
    assert len(data) <= 1100
    decompress(codec, compress(codec, b"warm up"))
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimitError, match=f"more than the limit of {limit} bytes"):
            decompress(codec, data, limit=limit)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 4 * limit + 255 * len(data), name


def test_the_limit_that_is_named_is_that_of_the_whole() -> None:
    stream = compress(SNAPPY, bytes(100_000))
    with pytest.raises(DecompressionLimitError, match="more than the limit of 90000 bytes"):
        decompress(SNAPPY, stream, limit=90_000)
    assert decompress(SNAPPY, stream, limit=100_000) == bytes(100_000)


@pytest.mark.slow
@pytest.mark.parametrize("codec", CODECS)
def test_what_is_decompressed_is_in_memory_once(codec: int) -> None:
    """Also while it becomes bytes: a batch may be 100 MiB large."""
    data = compress(codec, bytes(64 << 20))
    assert peak(lambda: decompress(codec, data)) < 100 << 20


def test_bombs_take_no_memory_outside_of_python_either() -> None:
    """What the libraries allocate themselves shows in the resident memory of a process."""
    script = """
import resource, sys
from kwire.compression import DecompressionLimitError, compress, decompress
for codec in (1, 2, 3, 4):
    decompress(codec, compress(codec, bytes(1000)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for line in sys.stdin:
    codec, data = line.split()
    try:
        decompress(int(codec), bytes.fromhex(data), limit=1 << 14)
    except DecompressionLimitError:
        print("refused")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    lines = "".join(f"{codec} {data.hex()}\n" for _, codec, data in bombs())
    done = subprocess.run([sys.executable, "-c", script], input=lines, capture_output=True, text=True, check=True)
    *refused, growth = done.stdout.split()
    assert len(refused) == len(bombs())
    assert int(growth) < 4 << 10  # KiB


def test_what_a_stream_states_is_not_allocated() -> None:
    """A raw snappy block says 90 MB, a zstd frame says 2^60 bytes: below the default limit, and a lie."""
    for codec, data in (
        (SNAPPY, b"\x80\x95\xf5\x2a" + bytes(1000)),
        (ZSTD, b"\x28\xb5\x2f\xfd\xc0\x58" + (1 << 60).to_bytes(8, "little") + b"\x03\x00\x10a"),
    ):
        tracemalloc.start()
        try:
            with pytest.raises(CompressionError):
                decompress(codec, data)
            assert tracemalloc.get_traced_memory()[1] < 2 << 20
        finally:
            tracemalloc.stop()


def test_a_gzip_member_does_not_copy_all_that_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many members without content would take quadratic time."""
    copied: list[int] = []

    class Member:
        def __init__(self, wbits: int) -> None:
            self._real = real(wbits)

        def decompress(self, *arguments: Any) -> bytes:
            found = self._real.decompress(*arguments)
            copied.append(len(self._real.unused_data))
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    real = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Member)
    data = compress(GZIP, b"") * 5_000
    assert decompress(GZIP, data) == b""
    assert len(copied) >= 5_000
    assert max(copied) < len(data) / 5


def test_gzip_says_no_time() -> None:
    assert compress(GZIP, TEXT)[4:8] == bytes(4)
    assert zlib.decompress(compress(GZIP, TEXT), 31) == TEXT


@pytest.mark.slow
def test_the_default_limit_is_a_frame() -> None:
    assert DEFAULT_LIMIT == 100 << 20
    packed = compress(ZSTD, bytes(DEFAULT_LIMIT))
    assert len(decompress(ZSTD, packed)) == DEFAULT_LIMIT
    with pytest.raises(DecompressionLimitError):
        decompress(ZSTD, packed + compress(ZSTD, b"x"))
