"""Lines of files in splits: each once, wherever the cuts are; compressed, broken and endless files."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import IO, Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kwire_inspect.storage import decompression
from kwire_inspect.text_logs import Lines, Split, lines, splits

TEXTS = st.lists(st.sampled_from([b"", b"a", b"bc", b"defg" * 5, b"\r"]), max_size=12).map(b"\n".join)


def read(split: Split) -> list[tuple[int, bytes]]:
    """What the split has: of the lines from its start on those that begin before its end."""
    return [(position, line) for position, line in Lines(split.path, split.start) if split.has(position)]


def expected(data: bytes) -> list[tuple[int, bytes]]:
    found, position = [], 0
    for line in data.split(b"\n"):
        found.append((position, line))
        position += len(line) + 1
    return found[:-1] if found[-1][1] == b"" else found


@given(TEXTS, st.integers(1, 30), st.integers(1, 9))
def test_splits_of_any_size_give_each_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, size: int, chunk: int
) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    monkeypatch.setattr(lines, "CHUNK", chunk)
    monkeypatch.setattr(decompression, "CHUNK", chunk)
    cut = splits([str(path)], size)
    assert len(cut) == max(1, -(-len(data) // size))
    assert [line for split in cut for line in read(split)] == expected(data)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_compressed_files_are_one_split(tmp_path: Path, compress: type[bytes]) -> None:
    path = tmp_path / "log"
    data = b"".join(b"line %d\n" % number for number in range(1000))
    path.write_bytes(compress(data))
    (split,) = splits([str(path)], 100)
    assert read(split) == expected(data)


def test_a_cut_file_gives_what_is_there_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    data = b"".join(b"%d\n" % (number * 7919) for number in range(10_000))
    path.write_bytes(gzip.compress(data)[:-4000])
    found = Lines(str(path))
    got = list(found)
    assert 100 < len(got) < 10_000
    assert got[:-1] == expected(data)[: len(got) - 1]
    ((position, reason),) = found.problems
    assert "truncated gzip data" in reason
    assert position > got[-1][0]


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert splits([missing], 10) == [Split(missing)]
    found = Lines(missing)
    assert list(found) == []
    assert "No such file" in found.problems[0][1]


def test_a_file_that_ends_in_an_error_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def blocks(*_: Any) -> Any:
        yield b"one\ntw"
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(lines, "_blocks", blocks)
    found = Lines("log")
    assert list(found) == [(0, b"one"), (4, b"tw")]
    assert found.problems == [(6, "cannot be read: Input/output error")]


def test_a_line_that_is_too_long_is_a_problem_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n" + b"x" * 1000 + b"\ntwo\n" + b"y" * 1000)
    monkeypatch.setattr(decompression, "CHUNK", 16)
    found = Lines(str(path), longest=100)
    assert list(found) == [(0, b"one"), (1005, b"two")]
    assert [position for position, _ in found.problems] == [4, 1009]
    assert len([*Lines(str(path), longest=1000)]) == 4
    path.write_bytes(b"aa\nbb\ncc\nddd\nee")
    assert [line for _, line in Lines(str(path), longest=2)] == [b"aa", b"bb", b"cc", b"ee"]


@pytest.mark.parametrize("size", [10_000, 100], ids=["whole", "split"])
def test_files_are_closed_where_lines_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Not when a collector comes by: workers have it run rarely."""
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"Completed request:\n" * 100)
    opened: list[IO[bytes]] = []

    def remember(path: Path, *arguments: Any) -> IO[bytes]:
        opened.append(io.open(path, *arguments))  # noqa: SIM115, UP020  # Path.open is what is replaced here
        return opened[-1]

    monkeypatch.setattr(Path, "open", remember)
    for split in splits([str(path)], size):
        with Lines(split.path, split.start) as found:
            next(found)
    assert opened
    assert all(file.closed for file in opened)
