"""Inputs by their names on this machine: what a name means, which files it stands for, and how they are read."""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from kwire_inspect.storage import (
    STDIN,
    DamagedStreamError,
    MemberPlace,
    Window,
    absolute,
    archives,
    is_compressed,
    is_remote,
    map_inputs,
    opened,
    place,
    places,
    size_of,
    standard_input,
    stores,
    written,
)
from kwire_inspect.storage.folders import claimed, private_folder
from kwire_inspect.storage.places import StandardInput, regular
from tests.support.packing import tar

FILES = ("a.log", "_b.log", ".c.log", "[d].log", "x/a.log", "x/_t-0/e.log", "x/_t-0/_e.log", "x/.h/g.log", ".i/j.log")
EVERY = ["/-/k.log", "[d].log", "a.log", "/c:/l.log", "links/again/e.log", "links/n.log", "m.tar", "pipe"]
EVERY += ["x/_t-0/e.log", "x/a.log"]
MEMBERS = ("x.log", "a/y.log", "a/z.log", "a/b/w.log", "ab/v.log")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files, links and archives."""
    for name in (*FILES, "-/k.log", "c:/l.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "links").mkdir()
    for name, target in (
        ("again", "x/_t-0"),
        ("one", "x/_t-0"),
        ("up", "."),
        ("itself", "links"),
        ("n.log", "a.log"),
    ):
        (tmp_path / "links" / name).symlink_to(tmp_path / target)
    (tmp_path / "m.tar").write_bytes(tar(*((name, name.encode()) for name in MEMBERS)))
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(archives, "_known", {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(error: BaseException) -> str:
    """The class of an error, and what it says of which file."""
    return (
        f"{type(error).__name__} {getattr(error, 'filename', None) or ''} {getattr(error, 'strerror', '') or error}"
    )


@pytest.mark.parametrize(
    ("given", "kind", "name", "inner"),
    [
        ("a.log", "LocalPlace", "a.log", False),
        ("none", "LocalPlace", "none", False),
        ("x", "LocalPlace", "x", True),
        (STDIN, "StandardInputPlace", STDIN, False),
        ("m.tar!/a/y.log", "MemberPlace", "m.tar!/a/y.log", False),
        ("m.tar!/none", "MemberPlace", "m.tar!/none", False),
        ("m.tar!/", "MemberPlace", "m.tar!/", True),
        ("none!/a", "LocalPlace", "none!/a", False),
        ("x!/a", "LocalPlace", "x!/a", False),
        ("none!/m.tar!/a", "LocalPlace", "none!/m.tar!/a", False),
        ("m.tar!/a!/b", "MemberPlace", "m.tar!/a!/b", False),
    ],
)
def test_what_a_name_means(given: str, kind: str, name: str, inner: bool) -> None:
    found = place(given)
    assert (type(found).__name__, found.name, found.is_folder()) == (kind, name, inner)


def test_a_folder_named_like_a_member_is_that_folder(folder: Path) -> None:
    (folder / "m.tar!").mkdir()
    (folder / "m.tar!" / "x.log").write_bytes(b"of the folder")
    assert not isinstance(place("m.tar!/x.log"), MemberPlace)
    assert place("m.tar!/x.log").opened().read() == b"of the folder"
    assert place("m.tar!/a/y.log").opened().read() == b"a/y.log"


def test_only_a_name_that_is_too_long_is_taken_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    long = f"m.tar!/{'n' * 5000}"
    assert isinstance(place(long), MemberPlace)
    monkeypatch.setattr(Path, "exists", lambda path: (_ for _ in ()).throw(PermissionError(13, "denied", str(path))))
    with pytest.raises(PermissionError):
        place("m.tar!/a")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.log", ["a.log"]),
        ("./a.log", ["./a.log"]),
        ("_b.log", ["_b.log"]),
        (".c.log", [".c.log"]),
        ("[d].log", ["[d].log"]),
        ("x", ["x/_t-0/e.log", "x/a.log"]),
        ("x/", ["x/_t-0/e.log", "x/a.log"]),
        ("x/.h", ["x/.h/g.log"]),
        ("links", ["links/again/e.log", "links/n.log"]),
        (
            ".",
            EVERY,
        ),
        ("*.log", ["[d].log", "a.log"]),
        ("?.log", ["a.log"]),
        ("[a].log", ["a.log"]),
        ("*", EVERY),
        ("**/?.log", ["/-/k.log", "a.log", "/c:/l.log", "links/n.log", "x/_t-0/e.log", "x/a.log"]),
        ("x/.h/*", ["x/.h/g.log"]),
        ("x/[._]*/*", ["x/_t-0/e.log"]),
        ("x/*", ["x/_t-0/e.log", "x/a.log"]),
        ("x/../*.log", ["x/../[d].log", "x/../a.log"]),
        (STDIN, [STDIN]),
        ("m.tar!/", [f"m.tar!/{name}" for name in MEMBERS]),
        ("m.tar!/a/y.log", ["m.tar!/a/y.log"]),
        ("m.tar!/a", "FileNotFoundError a no such member in the archive"),
        ("none", "FileNotFoundError  none: no such file or folder"),
        ("c:/l.log", ["/c:/l.log"]),
        ("./-/k.log", ["/-/k.log"]),
        ("none*", "FileNotFoundError  none*: no file matches this pattern"),
        ("_b*", []),
        ("https:/user:word@host/a", "ValueError  https://host: an address with a password, or with a query that may "
            "contain a secret, is not accepted because tables show addresses"),
    ],
)  # fmt: skip
def test_which_files_a_name_stands_for(folder: Path, given: str, found: list[str] | str) -> None:
    """Names that might be addresses or the standard input are absolute, others as they were given."""
    try:
        names: list[str] | str = list(place(given).files())
    except (OSError, ValueError) as error:
        names = said(error)
    expected = found if isinstance(found, str) else [str(folder) + one if one[0] == "/" else one for one in found]
    assert names == expected


def test_a_folder_that_cannot_be_listed_is_a_file_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.iterdir

    def refused(path: Path) -> Iterator[Path]:
        if path.name == "_t-0":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert list(place("x").files()) == ["x/_t-0", "x/a.log"]
    with pytest.raises(OSError, match="cannot list the folder"):
        place("x/_t-0").check()


@pytest.mark.parametrize(
    ("given", "checked", "content"),
    [
        ("a.log", "", b"a.log"),
        ("m.tar!/a/y.log", "", b"a/y.log"),
        ("none", "", "FileNotFoundError none No such file or directory"),
        ("x", "OSError x cannot list the folder", "OSError x not a regular file"),
        ("pipe", "OSError pipe not a regular file", "OSError pipe not a regular file"),
        ("/dev/null", "OSError /dev/null not a regular file", "OSError /dev/null not a regular file"),
        (
            "m.tar!/a",
            "FileNotFoundError a no such member in the archive",
            "FileNotFoundError a no such member in the archive",
        ),
        (STDIN, "OSError - standard input is closed", "OSError - standard input is closed"),
    ],
)
def test_what_can_be_opened(monkeypatch: pytest.MonkeyPatch, given: str, checked: str, content: bytes | str) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for function, expected in (
        (lambda: place(given).check() or "", checked),
        (lambda: opened(given).read(), content),
    ):
        try:
            found: Any = function()
        except OSError as error:
            found = said(error)
        assert found == expected
    with pytest.raises(OSError, match="not a regular file"):
        regular("x")
    assert (regular("a.log"), regular("none")) == (Path("a.log"), Path("none"))


def test_names_for_processes_with_another_current_folder(folder: Path) -> None:
    expected = {
        "a.log": f"{folder}/a.log",
        "x/../a.log": f"{folder}/x/../a.log",
        "none": f"{folder}/none",
        STDIN: STDIN,
        "m.tar!/a/y.log": f"{folder}/m.tar!/a/y.log",
        "m.tar!/": f"{folder}/m.tar!/",
        "s3://bucket/a": "s3://bucket/a",
        "s3://bucket/a.tar!/b": "s3://bucket/a.tar!/b",
    }
    assert {name: absolute(name) for name in expected} == expected


def test_an_archive_of_the_same_name_in_another_folder_is_another_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "x" / "m.tar").write_bytes(tar(("x.log", b"other")))
    for moment in ("m.tar", "x/m.tar"):
        os.utime(moment, (1, 1))
    monkeypatch.setattr(places.LocalPlace, "stamp", lambda of: "the same")
    assert opened("m.tar!/x.log").read() == b"x.log"
    monkeypatch.chdir(folder / "x")
    assert opened("m.tar!/x.log").read() == b"other"


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("a.log", {*(name for name in FILES if "/" not in name), "x", ".i", "-", "c:", "links", "m.tar", "pipe"}),
        ("x/a.log", {"a.log", "_t-0", ".h"}),
        ("m.tar!/x.log", ["x.log"]),
        ("m.tar!/a/y.log", ["y.log", "z.log"]),
        ("m.tar!/a/b/w.log", ["w.log"]),
    ],
)
def test_files_of_the_same_folder(name: str, beside: set[str] | list[str]) -> None:
    found = place(name).siblings()
    assert (found if isinstance(beside, list) else {*found}) == beside
    assert len(found) == len(beside)


def test_sizes_and_compression(folder: Path) -> None:
    (folder / "a.gz").write_bytes(gzip.compress(b"a" * 100, mtime=0))
    names = ["a.log", "x/a.log", "m.tar!/a/b/w.log", STDIN, "a.gz"]
    assert [size_of(name) for name in names] == [5, 7, 9, 0, (folder / "a.gz").stat().st_size]
    assert [is_compressed(name) for name in ("a.log", "m.tar!/x.log", "a.gz")] == [False, False, True]
    with pytest.raises(FileNotFoundError):
        size_of("none")


def test_members_that_cannot_be_read_are_named_with_their_archive(folder: Path) -> None:
    (folder / "cut.tar").write_bytes(tar(("a", b"1"), ("b", b"2"))[:1024])
    tables = {name: place(f"{name}!/") for name in ("m.tar", "cut.tar")}
    told = {name: one.skipped() for name, one in tables.items() if isinstance(one, MemberPlace)}
    assert told == {"m.tar": {}, "cut.tar": {"cut.tar": "damaged or truncated tar at byte 1024"}}


def test_a_member_of_a_store_with_a_secret_in_its_name_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a.log", "b?sig=word", "c.log")
    data = tar(*((name, b"") for name in names))
    monkeypatch.setattr(stores.RemotePlace, "stamp", lambda of: "1")
    monkeypatch.setattr(stores.RemotePlace, "opened", lambda of: io.BufferedReader(io.BytesIO(data)))
    found = list(place("s3://bucket/m.tar!/").files())
    assert found == [f"s3://bucket/m.tar!/{name}" for name in ("a.log", "b…", "c.log")]
    with pytest.raises(
        OSError, match="the key may contain a secret, which tables would show: copy the object to another key"
    ):
        opened(found[1])


def test_a_stamp_changes_with_size_time_and_file(folder: Path) -> None:
    path, other = folder / "a.log", folder / "b.log"
    second = 1_700_000_000_000_000_000

    def states() -> Iterator[str]:
        for content, moment in ((b"1234", second), (b"1234", second + 1), (b"12345", second + 1)):
            path.write_bytes(content)
            os.utime(path, ns=(0, moment))
            yield place("a.log").stamp()
            assert (place("a.log").stamp(), place("a.log").listed_stamp()) == (f"{place('a.log').stamp()}", "")
        other.write_bytes(b"12345")
        os.utime(other, ns=(0, second + 1))
        other.rename(path)
        yield place("a.log").stamp()

    assert len({*states()}) == 4
    path.unlink()
    with pytest.raises(FileNotFoundError):
        place("a.log").stamp()


def test_names_that_were_made_into_paths() -> None:
    expected = {
        "s3:/bucket/a": "s3://bucket/a",
        "hdfs:/name:8020/a": "hdfs://name:8020/a",
        "/x/s3:/bucket/a": "/x/s3:/bucket/a",
        "a:/b": "a:/b",
        "a b:/c": "a b:/c",
        "s3:bucket": "s3:bucket",
        "a.log": "a.log",
    }
    assert {name: written(Path(name)) for name in expected} == expected
    remote = {"s3://a": True, "s3://a/b": True, "S3A://a\nb": True, "s3:/a": False, "x://": False, "xy://": True}
    assert {name: is_remote(name) for name in remote} == remote


@pytest.mark.parametrize(
    ("paths", "at_once"),
    [
        ([], False),
        (["b", "a"], False),
        (["b", "s3://b/a"], False),
        (["s3://b/z", "b", "s3://b/a"], True),
        (["s3://b/z", "s3://b/a"], True),
    ],
)
def test_several_objects_are_read_at_a_time_and_results_keep_their_order(paths: list[str], at_once: bool) -> None:
    found = map_inputs(lambda path: (path, threading.current_thread() is threading.main_thread()), paths)
    assert found == [(path, not at_once) for path in paths]


def test_a_window_moves_over_a_stream(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "CHUNK", 4)
    (folder / "a.gz").write_bytes(gzip.compress(b"0123456789", mtime=0))
    window = Window("a.gz")
    seen: list[tuple[object, ...]] = [(window.base, window.buffer)]
    for at in (0, 0, 5, 3, 0):
        seen.append((window.advance(at), window.base, window.buffer))
    assert seen == [
        (0, b""),
        (True, 0, b"0123"),
        (True, 0, b"01234567"),
        (True, 5, b"56789"),
        (False, 5, b"56789"),
        (False, 5, b"56789"),
    ]
    (folder / "cut.gz").write_bytes(gzip.compress(b"0123456789", mtime=0)[:-2])
    window = Window("cut.gz")
    for _ in range(3):
        assert window.advance(0)
    with pytest.raises(DamagedStreamError, match=r"^truncated gzip data$"):
        window.advance(4)
    assert (window.base, window.buffer) == (0, b"0123456789"), "nothing is dropped"


def test_a_window_that_is_closed_closes_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []

    def noted(path: str, *, peek: bool = False) -> BinaryIO:
        files.append((io.BufferedReader(io.BytesIO(bytes(300_000))), path, peek))
        return files[-1][0]  # type: ignore[no-any-return]

    monkeypatch.setattr(places, "opened", noted)
    for peek in (False, True):
        window = Window("a", peek=peek)
        assert window.advance(0)
        assert not files[-1][0].closed
        window.close()
        assert files[-1][0].closed
    assert [one[1:] for one in files] == [("a", False), ("a", True)]


class Stream(io.BytesIO):
    """A pipe that gives five bytes at a time, and none after it said that it ended."""

    ends = 0

    def read1(self, size: int | None = -1) -> bytes:
        assert not self.ends
        data = super().read1(min(5, size or 0))
        self.ends += not data
        return data


def test_the_standard_input_is_read_again_while_it_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PEEK", 20)
    made = StandardInput(Stream(b"0123456789abcdefghij"))
    assert [made.read(0, 3), made.read(3, 9), made.read(2, 9), made.read(0, 2)] == [
        b"012",
        b"34567",
        b"234567",
        b"01",
    ]
    assert made.opened().read() == b"0123456789abcdefghij"
    assert made.opened().read() == b"0123456789abcdefghij"
    assert (made.read(20, 5), made.read(20, 5)) == (b"", b"")


@pytest.mark.parametrize("keep", [False, True])
def test_a_longer_one_is_read_again_if_it_is_kept(monkeypatch: pytest.MonkeyPatch, keep: bool) -> None:
    monkeypatch.setattr(places, "PEEK", 20)
    data = b"0123456789abcdefghijk"
    made = StandardInput(Stream(data))
    for _ in range(2):
        with made.opened(peek=True) as file:
            assert (file.read(7), file.read()) == (data[:7], data[7:20])
    if keep:
        made.keep()
    assert made.opened().read() == data
    if keep:
        assert made.opened().read() == data
        assert (made.read(19, 9), made.read(21, 9)) == (b"jk", b"")
    else:
        for again in (made.opened(), made.opened(peek=True)):
            with pytest.raises(OSError, match="standard input can be read only once") as refused:
                again.read(1)
            assert refused.value.filename == STDIN


def test_the_standard_input_is_that_of_the_process_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def give(data: bytes, terminal: bool = False) -> None:
        stream = io.TextIOWrapper(io.BytesIO(data))
        stream.isatty = lambda: terminal  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdin", stream)

    give(b"first")
    first = standard_input()
    assert standard_input() is first
    assert [opened(STDIN, peek=True).read(), opened(STDIN).read(), opened(STDIN).read()] == [b"first"] * 3
    give(b"second")
    assert standard_input() is not first
    assert [opened(STDIN).read(), place(STDIN).check()] == [b"second", None]
    give(b"", terminal=True)
    with pytest.raises(OSError, match=r"^\[Errno 0\] standard input is a terminal: pipe a capture or a log into"):
        place(STDIN).check()
    sys.stdin.close()
    with pytest.raises(OSError, match="standard input is closed"):
        opened(STDIN)


def test_a_private_folder_and_its_parents(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine").chmod(0o755)
    for _ in range(2):
        assert private_folder("mine/a/b") == Path("mine/a/b")
        modes = [(folder / name).stat().st_mode & 0o777 for name in ("mine", "mine/a", "mine/a/b")]
        assert modes == [0o755, 0o700, 0o700]
    with pytest.raises(FileExistsError):
        private_folder("a.log")


def test_a_folder_is_claimed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with claimed(folder) as first, claimed(folder) as second, claimed(folder / "x") as other:
        assert (first, second, other) == (True, False, True)
    with suppress(KeyError), claimed(folder) as again:
        assert again is True
        raise KeyError
    with claimed(folder) as after:
        assert after is True
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "not supported")))
    closed: list[int] = []
    monkeypatch.setattr(os, "close", closed.append)
    with claimed(folder) as unknown:
        assert (unknown, closed) == (None, [])
    monkeypatch.undo()
    (handle,) = closed
    os.close(handle)
