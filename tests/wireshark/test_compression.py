"""snappy and lz4 as the dissector reads them: any blocks, whole and damaged, are what their steps say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import cramjam
import pytest

from kwire.compression import Codec, compress
from tests.support.capture_files import write_pcap

LUA = Path(__file__).parents[2] / "templates" / "wireshark" / "_compression.lua.jinja"
DRIVER = """
for line in io.lines(%r) do
  local name, hex = line:match("^(%%w+) (%%x*)$")
  local done, found = pcall(({snappy = snappy, lz4 = lz4})[name], hex == "" and "" or ByteArray.new(hex):raw())
  print(done and "= " .. ByteArray.new(found, true):tohex(true) or found)
end
"""
INVALID = "the compressed data is invalid"
XERIAL = b"\x82SNAPPY\0" + bytes(8)
Case = tuple[str, bytes, bytes | None]
"""A codec, compressed data, and what it is decompressed, or ``None`` if it is invalid."""

pytestmark = pytest.mark.slow


def lengthened(length: int) -> bytes:
    """What follows a length of 15 or more in a token of lz4."""
    return b"" if length < 15 else b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255])


def copied(out: bytearray, offset: int, count: int) -> None:
    for _ in range(count):
        out.append(out[-offset])


def lz4_block(random: Random) -> tuple[bytes, bytes]:
    """A block of random steps with lengths around each border, and its content."""
    data, out = b"", bytearray()
    lengths = (0, 1, 14, 15, 16, 269, 270, 271, 525)
    for _ in range(random.randrange(1, 5)):
        literal = random.randbytes(random.choice(lengths) or not out)
        out += literal
        offset, count = random.randint(1, len(out)), random.choice(lengths)
        data += bytes([min(len(literal), 15) << 4 | min(count, 15)]) + lengthened(len(literal)) + literal
        data += offset.to_bytes(2, "little") + lengthened(count)
        copied(out, offset, count + 4)
    last = random.randbytes(random.choice(lengths))
    return data + bytes([min(len(last), 15) << 4]) + lengthened(len(last)) + last, bytes(out + last)


def lz4_frame(random: Random, blocks: int) -> tuple[bytes, bytes]:
    """A frame with or without its size and checksums, of compressed and of stored blocks."""
    sized, summed, ended = (random.random() < 0.5 for _ in range(3))
    flags = 0x60 | sized << 3 | summed << 4 | ended << 2
    data, out = b"\x04\x22\x4d\x18" + bytes([flags, 0x70]) + b"s" * 8 * sized + b"h", b""
    for _ in range(blocks):
        block, content = lz4_block(random)
        is_stored = random.random() < 0.3
        found = content if is_stored else block
        data += (len(found) | is_stored << 31).to_bytes(4, "little") + found + b"cccc" * summed
        out += content
    return data + bytes(4) + b"eeee" * ended, out


def snappy_block(random: Random) -> tuple[bytes, bytes]:
    """A block of literals with lengths of each width, and of copies of each kind."""
    data, out = b"", bytearray()
    for _ in range(random.randrange(1, 6)):
        literal = random.randbytes(random.choice((1, 2, 59, 60, 61, 255, 256, 257, 300)))
        width = random.choice([one for one in range(5) if len(literal) <= (60 if not one else 256**one)])
        size = len(literal) - 1
        data += (
            bytes([(59 + width if width else size) << 2])
            + (size.to_bytes(width, "little") if width else b"")
            + literal
        )
        out += literal
        kind = random.choice((1, 2, 3))
        if kind == 1:
            offset, count = random.randint(1, min(len(out), 2047)), random.randint(4, 11)
            data += bytes([offset >> 8 << 5 | count - 4 << 2 | 1, offset & 255])
        else:
            offset, count = random.randint(1, len(out)), random.choice((1, 4, 63, 64))
            data += bytes([count - 1 << 2 | kind]) + offset.to_bytes(2 if kind == 2 else 4, "little")
        copied(out, offset, count)
    size = len(out)
    return bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + data, bytes(out)


def xerial(random: Random, blocks: int) -> tuple[bytes, bytes]:
    """Blocks with their lengths, after a header that may come again, as of a file that was appended to."""
    data, out = XERIAL, b""
    for _ in range(blocks):
        block, content = snappy_block(random)
        data, out = data + XERIAL * (random.random() < 0.3) + len(block).to_bytes(4, "big") + block, out + content
    return data, out


def cases(random: Random) -> Iterator[Case]:
    kinds: dict[str, list[Callable[[], tuple[bytes, bytes]]]] = {
        "lz4": [lambda: lz4_frame(random, random.randrange(4))],
        "snappy": [lambda: snappy_block(random), lambda: xerial(random, random.randrange(4))],
    }
    for name, makers in kinds.items():
        for make in makers * 40:
            yield (name, *make())
    for size in (0, 1, 100, 70_000):
        content = random.randbytes(size // 2) + b"ab" * (size // 4 + size % 2)
        yield "lz4", compress(Codec.LZ4, content), content
        yield "snappy", compress(Codec.SNAPPY, content), content
        yield "snappy", bytes(cramjam.snappy.compress_raw(content)), content
    whole = b"\x04\x22\x4d\x18\x60\x70h" + (9).to_bytes(4, "little") + b"\x41abcd\x04\0\x10e" + bytes(4)
    yield "lz4", whole, b"abcdabcdae"[:4] + b"abcda" + b"e"
    yield from (("lz4", whole[:end], None) for end in (0, 4, 7, 10, 19, len(whole) - 1))
    yield from (("lz4", whole[:at] + bytes([by]) + whole[at + 1 :], None) for at, by in ((0, 5), (16, 5), (16, 0)))
    yield "lz4", whole[:11] + b"\xf1abcd\x04\0\x10e" + bytes(4), None
    yield "lz4", whole[:7] + (6).to_bytes(4, "little") + b"\x41abcd\x04" + bytes(4), None  # half of an offset
    block = b"\6\x0cabcd\5\4"
    yield "snappy", block, b"abcdabcda"[:9]
    yield from (("snappy", one, None) for one in (b"", b"\x80", block[:4], block[:-1], b"\6\x0cabcd\5\5", b"\1\5\0"))
    yield from (
        ("snappy", one, None) for one in (b"\1\xf0", b"\1\xf4\1", b"\1\xf0\1a", block[:6] + b"\6\4", b"\1\7\0\0\0\0")
    )
    yield "snappy", block[:6] + b"\x13\4\0\0\1", None
    far = random.randbytes(70_000)
    copy = b"\x13" + (66_000).to_bytes(4, "little")
    yield "snappy", b"\1\xf8" + (69_999).to_bytes(3, "little") + far + copy, far + far[4_000:4_005]
    packed = XERIAL + len(block).to_bytes(4, "big") + block
    yield from (("snappy", packed[:end], None if end > 20 else b"") for end in (16, 19, 21, len(packed) - 1))


def limited() -> Iterator[Case]:
    """What is as long as it may be, if that is 1,000 bytes, and one byte more: as literals, copies and two blocks."""
    frame = b"\x04\x22\x4d\x18\x60\x70h"
    for size in (1000, 1001):
        data = bytes(range(250)) * 4 + b"x" * (size - 1000)
        content = data if size == 1000 else None
        literals = b"\xf0" + lengthened(size) + data
        copies = b"\x1fa\1\0" + lengthened(size - 5)
        blocks = (literals, copies)
        for block, out in zip(blocks, (content, content and b"a" * size), strict=True):
            yield "lz4", frame + len(block).to_bytes(4, "little") + block + bytes(4), out
        stored = ((len(part) | 1 << 31).to_bytes(4, "little") + part for part in (data[:500], data[500:]))
        yield "lz4", frame + b"".join(stored) + bytes(4), content
        block = b"\1\xf4" + (size - 1).to_bytes(2, "little") + data
        yield "snappy", block, content
        last = bytes([size - 962 << 2 | 2])
        yield "snappy", b"\1\0a" + b"\xfe\1\0" * 15 + last + b"\1\0", content and b"a" * size
        parts = (b"\1\xf4" + (len(part) - 1).to_bytes(2, "little") + part for part in (data[:500], data[500:]))
        yield "snappy", XERIAL + b"".join(len(part).to_bytes(4, "big") + part for part in parts), content


@pytest.mark.parametrize("limit", ["16 * 1024 * 1024", "1000"])
def test_snappy_and_lz4(tmp_path: Path, limit: str) -> None:
    found = [*(limited() if limit == "1000" else cases(Random(5)))]
    (vectors := tmp_path / "vectors").write_text("".join(f"{name} {data.hex()}\n" for name, data, _ in found))
    text = LUA.read_text().replace("MAX_DECOMPRESSED = 16 * 1024 * 1024", f"MAX_DECOMPRESSED = {limit}")
    script = f"local unpack = table.unpack or unpack\n{text}\n{DRIVER % str(vectors)}"
    (lua := tmp_path / "test.lua").write_text(script)
    command = ["tshark", "-X", f"lua_script:{lua}", "-r", str(write_pcap(tmp_path / "none.pcap", []))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    shown = [INVALID if content is None else f"= {content.hex()}" for _, _, content in found]
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert len(lines) == len(shown), done.stderr
    assert [one for one in zip(found, lines, shown, strict=True) if one[1].strip() != one[2].strip()] == []
