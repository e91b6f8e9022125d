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

from kwire_inspect.storage import DamagedStreamError, decompression
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


@pytest.mark.parametrize("ending", [b"", b"\n"])
@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_lines_from_any_position_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, ending: bytes
) -> None:
    """Those that begin there or later, or so many bytes before; of each that is too long, its place and size."""
    path, data = tmp_path / "log", b"one\n\nfour\nfive5\n\nsixsix\nabcd\n-----\nend!" + ending
    path.write_bytes(data)
    monkeypatch.setattr(lines, "CHUNK", chunk)
    monkeypatch.setattr(decompression, "CHUNK", chunk)
    for start in range(len(data) + 2):
        for near in (0, 1, 6):
            found = Lines(str(path), start, 4, near=near)
            mine = [one for one in expected(data) if one[0] >= start - near and (one[1] or one[0] < len(data))]
            assert list(found) == [one for one in mine if len(one[1]) <= 4]
            reason = "a line of {} bytes is skipped: the option maxLine allows 4"
            assert found.problems == [(at, reason.format(len(line))) for at, line in mine if len(line) > 4]


def test_lines_that_are_given_back_come_again_the_last_one_first(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\nb\nc\n")
    with Lines(str(tmp_path / "log")) as found:
        a, b = next(found), next(found)
        found.give_back(b)
        found.give_back(a)
        assert [*found] == [(0, b"a"), (2, b"b"), (4, b"c")]


def test_so_many_lines_that_are_too_long_are_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"long\n" * (lines.MAX_PROBLEMS + 1) + b"a\n")
    found = Lines(str(tmp_path / "log"), longest=3)
    assert [line for _, line in found] == [b"a"]
    assert [position for position, _ in found.problems] == [*range(0, lines.MAX_PROBLEMS * 5, 5)]


def test_an_error_before_a_split_is_told_where_the_split_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its lines are missing. Of one in the split, where its bytes end."""
    errors = [OSError(5, "Input/output error"), DamagedStreamError("truncated gzip data")]
    for error, reason in zip(errors, ["cannot be read: Input/output error", "truncated gzip data"], strict=True):

        def blocks(path: str, start: int, stamp: str, error: Exception = error) -> Any:
            yield b"0123\n56\n89"[start:]
            raise error

        monkeypatch.setattr(lines, "_blocks", blocks)
        for start, near, told in ((0, 0, 10), (6, 0, 10), (10, 0, 10), (12, 0, 12), (12, 6, 12), (9, 4, 10)):
            found = Lines("log", start, near=near)
            assert list(found) == [one for one in ((0, b"0123"), (5, b"56"), (8, b"89")) if one[0] >= start - near]
            assert found.problems == [(told, reason)]


@pytest.mark.parametrize(
    ("size", "expected"), [(4, [(0, 4), (4, 8), (8, None)]), (5, [(0, 5), (5, None)]), (10, [(0, None)])]
)
def test_parts_of_files(tmp_path: Path, size: int, expected: list[tuple[int, int | None]]) -> None:
    """Of several files one after the other. A compressed one, and one that cannot be read, is a part."""
    a, packed, gone = (str(tmp_path / name) for name in ("a", "packed.gz", "gone"))
    Path(a).write_bytes(bytes(10))
    Path(packed).write_bytes(gzip.compress(bytes(100)))
    found = splits([a, packed, gone, a], size)
    assert [(split.path, split.start, split.end) for split in found] == [
        *((a, *one) for one in expected),
        (packed, 0, None),
        (gone, 0, None),
        *((a, *one) for one in expected),
    ]
    one = Split(a, 4, 8)
    assert [at for at in range(10) if one.has(at)] == [4, 5, 6, 7]
    assert [at for at in range(10) if Split(a, 4).has(at)] == [4, 5, 6, 7, 8, 9]


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
