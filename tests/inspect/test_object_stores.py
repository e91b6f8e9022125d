"""Inputs in object stores: the same tables as of files, few requests, and every fault in one line."""

from __future__ import annotations

import gzip
import json
import re
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileInfo, FileType, LocalFileSystem, SubTreeFileSystem

from kwire.command import main as run
from kwire_inspect.inputs import find
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers import read_batches
from kwire_inspect.storage import RemotePlace, opened, place, size_of, stores
from tests.inspect.test_archives import rows
from tests.support.capture_files import beginning
from tests.support.s3_server import Request, Store, serving
from tests.support.small_sample import TRAFFIC, left_behind

CAPTURE = beginning(TRAFFIC / "traffic.pcap.gz", packets=300)
LOG = b"".join(gzip.decompress((TRAFFIC / "kafka-request.log.gz").read_bytes()).splitlines(keepends=True)[:50])

SERVER_LOG = gzip.decompress((Path(__file__).parents[1] / "data" / "server_logs" / "4.1.1.log.gz").read_bytes())


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with serving() as made:
        made.use(monkeypatch)
        stores.file_system.cache_clear()
        stores._listed.clear()
        yield made
    stores.file_system.cache_clear()


def upload(store: Store, folder: Path, prefix: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            store.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["clients", "census", "offsets", "tables"])
def test_a_folder_of_a_store_gives_the_same_tables(tmp_path: Path, store: Store, command: str) -> None:
    (tmp_path / "given").mkdir()
    left_behind(tmp_path / "given")
    upload(store, tmp_path / "given", "bucket/day 1")
    store.page = 7
    for name, given in (("file", f"{tmp_path / 'given'}"), ("store", "s3://bucket/day 1")):
        run([command, given, "--out", str(tmp_path / name), "-q"])
    assert rows(tmp_path / "store", "s3://bucket/day 1/") == rows(tmp_path / "file", f"{tmp_path / 'given'}/") != {}


NAMES = (
    "a/x.pcap",
    "a b/y%20z.pcap",
    "a/_hidden.pcap",
    "a/.x.pcap",
    ".b/x.pcap",
    "_c/x.pcap",
    "a/ü[1].pcap",
    "d.pcap",
)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("s3://bucket", ["_c/x.pcap", "a b/y%20z.pcap", "a/x.pcap", "a/ü[1].pcap", "d.pcap"]),
        ("s3://bucket/a", ["a/x.pcap", "a/ü[1].pcap"]),
        ("s3a://bucket/a/", ["a/x.pcap", "a/ü[1].pcap"]),
        ("s3://bucket/a*/*.pcap", ["a b/y%20z.pcap", "a/x.pcap", "a/ü[1].pcap"]),
        ("s3://bucket/*/x.pcap", ["_c/x.pcap", ".b/x.pcap", "a/x.pcap"]),
        ("s3://bucket/**/x.pcap", ["_c/x.pcap", ".b/x.pcap", "a/x.pcap"]),
        ("s3://bucket/[ad]*", ["a b/y%20z.pcap", "a/x.pcap", "a/ü[1].pcap", "d.pcap"]),
        ("s3://bucket/a/ü[1].pcap", ["a/ü[1].pcap"]),
    ],
)
@pytest.mark.parametrize("page", [1, 1000])
def test_what_a_name_stands_for(store: Store, given: str, names: list[str], page: int) -> None:
    store.page = page
    for name in NAMES:
        store.put(f"bucket/{name}", CAPTURE)
    root = "s3a://bucket/" if given.startswith("s3a") else "s3://bucket/"
    assert sorted(Options({"path": given}).files()) == sorted(root + name for name in names)


def test_many_objects_are_listed_page_by_page(store: Store) -> None:
    for number in range(2300):
        store.put(f"bucket/logs/{number}.log", b"")
    assert len(Options({"path": "s3://bucket/logs"}).files()) == 2300
    assert sum("list-type" in one.query for one in store.requests) == 4


@pytest.mark.parametrize(
    ("given", "most"),
    [
        ("s3://bucket/logs", 3),
        ("s3://bucket/**/*.log", 3),
        ("s3://bucket/**/7.log", 3),
        ("s3://bucket/logs/*/7.log", 23),
    ],
)
def test_listings_are_few(store: Store, given: str, most: int) -> None:
    """A store lists all that is below a folder at once, however many folders that has."""
    for number in range(400):
        store.put(f"bucket/logs/{number % 20}/{number // 20}.log", b"")
    assert len(Options({"path": given}).files()) == (20 if "7" in given else 400)
    assert len(store.requests) <= most


def test_a_type_is_told_by_the_beginning_of_an_object(store: Store) -> None:
    store.put("bucket/a.pcap", CAPTURE + bytes(20 << 20))
    assert find(["s3://bucket/a.pcap"]).captures == ("s3://bucket/a.pcap",)
    assert store.served <= 1 << 19


def test_parts_of_an_object_are_requested_alone(store: Store) -> None:
    made = BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        for name, data in (("big", bytes(40 << 20)), ("a.pcap", CAPTURE), ("more", bytes(20 << 20))):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            packed.addfile(member, BytesIO(data))
    store.put("bucket/a.tar", made.getvalue())
    with opened("s3://bucket/a.tar!/a.pcap") as file:
        assert file.read() == CAPTURE
    assert size_of("s3://bucket/a.tar!/a.pcap") == len(CAPTURE)
    assert store.served < 20 << 20
    assert find(["s3://bucket/a.tar"]).captures == ("s3://bucket/a.tar!/a.pcap",)


@pytest.mark.slow
def test_segments_and_logs_are_cut_into_splits(tmp_path: Path, store: Store) -> None:
    left_behind(tmp_path)
    upload(store, tmp_path, "bucket")
    for table, order in (("records", ["topic", "partition", "offset"]), ("exchanges", ["source", "position"])):
        whole, parts = (
            pa.Table.from_batches(read_batches(table, find(["s3://bucket/"]), options=options))
            for options in ({}, {"splitSize": "2k"})
        )
        keys = [(name, "ascending") for name in order]
        assert whole.num_rows > 30
        assert whole.sort_by(keys).equals(parts.sort_by(keys))


def fails(store: Store, wanted: Callable[[Request], bool], status: int, code: str) -> None:
    store.fault = lambda request: (status, code) if wanted(request) else None


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (400, "ExpiredToken", "the credentials have expired: renew them"),
        (403, "AccessDenied", "access is denied: check the credentials and their permissions"),
        (403, "SignatureDoesNotMatch", "access is denied: check the credentials and their permissions"),
        (403, "InvalidAccessKeyId", "the store does not know the access key: check the credentials"),
        (404, "XAdminUserNotFound", "the store does not know the access key: check the credentials"),
    ],
)
def test_what_a_store_refuses_is_one_line(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path, status: int, code: str, told: str
) -> None:
    store.put("bucket/a/x.pcap", CAPTURE)
    store.page = 1
    store.put("bucket/a/y.pcap", CAPTURE)
    fails(store, lambda request: True, status, code)
    for name in ("s3://bucket/a", "s3://bucket/"):
        assert run(["clients", name, "--out", str(tmp_path), "-q"]) == 2
        assert capsys.readouterr().err == f"kwire: {name}: {told}\n"
    fails(store, lambda request: "continuation-token" in request.query, status, code)  # the listing is cut off
    assert run(["clients", "s3://bucket/a", "--out", str(tmp_path), "-q"]) == 2
    assert capsys.readouterr().err == f"kwire: s3://bucket/a: {told}\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("s3://bucket/none", "s3://bucket/none: no such object or folder"),
        ("s3://bucket/none*/a", "s3://bucket/none*/a: no object matches this pattern"),
        ("s3://bucket/te*/none", "s3://bucket/te*/none: no object matches this pattern"),
        ("s3://nobody/", "s3://nobody/: no such object or folder"),
        ("s3://bucket/text/", "no captures or broker logs in s3://bucket/text/"),
        ("s3://key:letmein@bucket/a", "s3://bucket: an address with a password"),
        ("https://host/a?sig=letmein", "https://host: an address with a password, or with a query"),
        ("https://host?sig=letmein", "https://…: an address with a password, or with a query"),
        ("webhdfs://host:9870/a?user.name=letmein", "webhdfs://host:9870: an address with a password"),
        ("s3://bucket/a?X%2DAmz%2DSignature=letmein", "s3://bucket: an address with a password"),
        ("https://letmein@host/a.pcap", "https://host: an address with a password"),
        ("https://user:let/mein@host/a.pcap", "https://…: an address with a password"),
        ("https://user:12/letmein@host/a.pcap", "https://…: an address with a password"),
        ("https:/user:12!/letmein@host/a.pcap", "https://…: an address with a password"),
        ("HTTPS://user:letmein/@host/a.pcap", "https://…: an address with a password"),
        ("https://let/letmein@host/a.pcap", "https://…: an address with a password"),
        ("sftp://user:letmein/1@host/a.pcap", "sftp://…: an address with a password"),
        ("sftp://user:1/letmein@host/a.pcap", "sftp://…: an address with a password"),
        ("s3://key:let/mein@bucket/a", "s3://…: an address with a password"),
        ("s3://key:letmein", "s3://…: an address with a password"),
        ("zip://a.pcap::https://user:letmein@host/a.zip", "zip://…: an address with a password"),
        ("abfss://c@a.dfs.core.windows.net/a?sig=letmein", "abfss://a.dfs.core.windows.net: an address with"),
        ("s3:///a", "no bucket or host"),
        ("unheard://of/it", "unheard"),
    ],
)
def test_what_is_not_there_is_one_line(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path, given: str, told: str
) -> None:
    store.put("bucket/a", CAPTURE)
    store.put("bucket/text/notes.txt", b"milk\n")
    assert run(["clients", given, "--out", str(tmp_path), "-q"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert "letmein" not in line
    assert "sig" not in line


@pytest.mark.parametrize(
    "given",
    [
        "s3://bucket/a@b.pcap",
        "s3://bucket/10:00/a?.pcap",
        "https://host:8443/a:b.pcap",
        "https://[::1]:8443/a.pcap",
        "hdfs://name:8020/a@b/c.pcap",
        "sftp://user@host/a.pcap",
        "abfss://box@account.dfs.core.windows.net/a",
    ],
)
def test_addresses_without_secrets_are_taken(given: str) -> None:
    assert place(given).name == given


@pytest.mark.parametrize("given", ["s3://bucket", "s3://bucket/a", "s3://bucket/*/*"])
def test_a_key_that_looks_like_a_secret_is_one_row(store: Store, given: str) -> None:
    """Whoever may write to a bucket chooses its keys, and does not end what is read of the others."""
    store.put("bucket/a/q?token=hidden.pcap", CAPTURE)
    store.put("bucket/a/x.pcap", CAPTURE)
    found = find([given])
    assert found.captures == ("s3://bucket/a/x.pcap",)
    [(name, reason)] = found.skipped
    assert name == "s3://bucket/a/q…"
    assert "may contain a secret" in reason
    assert any(row["source"] == name and row["problem"] for row in read_rows(given))
    assert not any("hidden" in str(row) for row in read_rows(given))


def read_rows(given: str) -> list[dict[str, object]]:
    paths = replace(find([given]), captures=tuple(Options({"path": given}).files()))
    return [row for batch in read_batches("exchanges", paths) for row in batch.to_pylist()]


def test_a_member_that_looks_like_a_secret_is_one_row(store: Store) -> None:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("a.pcap", "q?token=hidden.pcap"):
            header = tarfile.TarInfo(name)
            header.size = len(CAPTURE)
            archive.addfile(header, BytesIO(CAPTURE))
    store.put("bucket/a.tar", packed.getvalue())
    found = find(["s3://bucket"])
    assert found.captures == ("s3://bucket/a.tar!/a.pcap",)
    assert [name for name, _ in found.skipped] == ["s3://bucket/a.tar!/q…"]


@pytest.mark.parametrize(("limit", "value"), [("MAX_LISTING_SECONDS", 0.1), ("MAX_LISTING_BYTES", -1)])
def test_a_listing_without_end_is_one_line(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], limit: str, value: float
) -> None:
    store.put("bucket/a/x.pcap", CAPTURE)
    store.endless = True
    monkeypatch.setattr(stores, limit, value)
    try:
        assert run(["clients", "s3://bucket/a"]) == 2
    finally:
        store.endless = False  # for the library, which goes on in its thread
    assert capsys.readouterr().err == f"kwire: s3://bucket/a: {stores.ENDLESS}\n"


@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
@pytest.mark.parametrize("grows", [stores.MAX_LISTING_BYTES, stores.MAX_LISTING_BYTES + 1024])
def test_the_memory_of_a_listing_is_limited(
    monkeypatch: pytest.MonkeyPatch, platform: str, unit: int, grows: int
) -> None:
    """Linux says in kilobytes, and macOS in bytes, how much it is."""
    said = chain([1 << 30], repeat((1 << 30) + grows))
    monkeypatch.setattr(stores, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr("resource.getrusage", lambda of: SimpleNamespace(ru_maxrss=next(said) // unit))
    monkeypatch.setattr(stores, "LOOKS_EVERY", 0.01)

    def listing() -> list[FileInfo]:
        sleep(0.1)
        return []

    if grows <= stores.MAX_LISTING_BYTES:
        assert stores._ended(listing, "s3://bucket") == []
    else:
        with pytest.raises(OSError, match=stores.ENDLESS):
            stores._ended(listing, "s3://bucket")


@pytest.mark.slow
def test_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(OptionError, match=r"^s3://bucket/a: the store cannot be reached: Could(n't| not) connect"):
        find(["s3://bucket/a"])


def corrupt(given: str, table: str = "exchanges") -> dict[str, str]:
    """The reasons for what could not be read, by input, after ``find``."""
    found = find([given])
    reasons = dict(found.skipped)
    for batch in read_batches(table, found):
        reasons |= {row["source"]: row["problem"] for row in batch.to_pylist() if row["problem"]}
    return reasons


def test_objects_that_vanish_are_rows_and_the_rest_is_read(store: Store) -> None:
    for name in ("a.pcap", "b.log", "c.log"):
        store.put(f"bucket/{name}", CAPTURE if name == "a.pcap" else LOG)

    def vanish(request: Request) -> tuple[int, str] | None:
        gone = request.key in ("bucket/a.pcap", "bucket/b.log") and request.method == "HEAD" and request.number > 0
        return (404, "NoSuchKey") if gone else None

    store.fault = vanish
    found = find(["s3://bucket"])
    assert len(found.captures) + len(found.request_logs) == 3
    told = [row for batch in read_batches("exchanges", found) for row in batch.to_pylist()]
    reasons = {row["source"]: row["problem"] for row in told if row["problem"]}
    assert reasons == {
        f"s3://bucket/{name}": "cannot be read: the object no longer exists" for name in ("a.pcap", "b.log")
    }
    assert sum(row["source"] == "s3://bucket/c.log" for row in told) == 50


def test_objects_that_vanish_before_their_type_is_known_are_skipped(store: Store) -> None:
    store.put("bucket/a.log", LOG)
    store.put("bucket/b.log", LOG)
    fails(store, lambda request: request.key == "bucket/b.log", 404, "NoSuchKey")
    found = find(["s3://bucket"])
    assert found.request_logs == ("s3://bucket/a.log",)
    assert found.skipped == (("s3://bucket/b.log", "the object no longer exists"),)
    assert found.unreadable == {"s3://bucket/b.log"}


@pytest.mark.parametrize("name", ["a.pcap", "a.log"])
def test_an_object_that_changes_while_it_is_read_is_a_row(store: Store, name: str) -> None:
    data = CAPTURE if name == "a.pcap" else LOG
    store.put(f"bucket/{name}", data)

    def change(request: Request) -> None:
        if request.method == "GET" and request.number == 2:  # its type and its first time were read
            store.put(f"bucket/{name}", data)

    store.fault = change
    if name == "a.log":
        store.fault = lambda request: change(Request(request.method, request.key, {}, request.number + 1))
    assert corrupt(f"s3://bucket/{name}") == {f"s3://bucket/{name}": f"cannot be read: {stores.CHANGED}"}


@pytest.mark.parametrize("late", [-1, 0, 1, 2])
def test_listings_may_differ_by_a_second(store: Store, late: int) -> None:
    """A store may take the time for them a moment after the other one."""
    segment = next(TRAFFIC.rglob("__consumer_offsets-*/*.log"))
    store.put(f"bucket/data/{segment.parent.name}/{segment.name}", segment.read_bytes())
    store.listed_late = late
    batches = read_batches("records", find(["s3://bucket/data"]))
    reasons = {text for batch in batches for text in batch.column("problem").to_pylist()}
    assert reasons == ({f"cannot be read: {stores.CHANGED}"} if late == 2 else {None})


@pytest.mark.parametrize("table", ["exchanges", "refusals"])
@pytest.mark.parametrize("read", [0, 1])
def test_parts_of_two_objects_are_never_read_as_one_log(store: Store, table: str, read: int) -> None:
    """A log that is replaced before or after its first part was read: each other part says that it changed."""
    size = 100 << 10
    data = LOG if table == "exchanges" else SERVER_LOG * (3 * size // len(SERVER_LOG))
    store.put("bucket/a.log", data)
    batches = read_batches(table, find(["s3://bucket/a.log"]), options={"splitSize": str(size)})
    parts = [row["position"] < size and not row["problem"] for n in range(read) for row in next(batches).to_pylist()]
    assert all(parts)
    store.put("bucket/a.log", data)
    then = [row for batch in batches for row in batch.to_pylist()]
    assert [(row["position"], row["problem"]) for row in then] == [
        (position, f"cannot be read: {stores.CHANGED}") for position in range(read * size, len(data), size)
    ]


def test_a_segment_that_changed_since_it_was_listed_is_a_row(store: Store) -> None:
    segment = next(TRAFFIC.rglob("__consumer_offsets-*/*.log"))
    key = f"bucket/data/{segment.parent.name}/{segment.name}"
    store.put(key, segment.read_bytes())
    found = find(["s3://bucket/data"])
    store.fault = lambda request: store.put(key, b"x" * 5000) if request.key == key else None
    (batch,) = read_batches("records", found)
    assert batch.column("problem").to_pylist() == [f"cannot be read: {stores.CHANGED}"]


@pytest.mark.parametrize("root", ["hdfs://name:8020", "abfss://box@account.dfs.core.windows.net", "gs://bucket"])
def test_other_file_systems_of_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    """Their own servers are not here: what is asked of Arrow, answered from a folder."""
    asked: list[str] = []

    def from_uri(uri: str) -> tuple[SubTreeFileSystem, str]:
        asked.append(uri)
        return SubTreeFileSystem(str(tmp_path), LocalFileSystem()), "box" if "abfss" in uri else "/"

    if root.startswith("gs"):
        monkeypatch.setattr(RemotePlace, "_list", listed_without_folders)
    base = tmp_path / "box" if "abfss" in root else tmp_path
    (base / "logs").mkdir(parents=True)
    (base / "logs" / "a.log").write_bytes(LOG)
    monkeypatch.setattr(stores, "from_uri", from_uri)
    stores.file_system.cache_clear()
    try:
        assert find([f"{root}/logs"]).request_logs == (f"{root}/logs/a.log",)
        for pattern in ("l*/*.log", "**/*.log", "**/logs/*", "*", "**/logs/**/a.log"):
            assert find([f"{root}/{pattern}"]).request_logs == (f"{root}/logs/a.log",)
        assert sum(batch.num_rows for batch in read_batches("exchanges", find([root]))) == 50
    finally:
        stores.file_system.cache_clear()
    assert asked == [f"{root}/?retry_limit_seconds=30" if root.startswith("gs") else f"{root}/"]


def listed_without_folders(of: RemotePlace, folder: str, *, recursive: bool = False) -> list[FileInfo]:
    """As Arrow lists Google's store, in which folders are beginnings of names."""
    return [found for found in in_full(of, folder, recursive=recursive) if found.is_file]


in_full = RemotePlace._list


@pytest.mark.parametrize("root", ["gs://bucket", "abfss://box@account.dfs.core.windows.net"])
def test_whole_objects_for_parts_are_noticed(monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    """What Arrow takes from a store, or a web server before it, that knows no ``Range``."""

    class Store:
        whole = True

        def get_file_info(self, path: str) -> FileInfo:
            return FileInfo(path, FileType.File, size=len(self.object(path)))

        def open_input_file(self, path: str) -> BytesIO:
            return (Whole if self.whole else BytesIO)(self.object(path))

        def object(self, path: str) -> bytes:
            return bytes(100) if path.endswith("zeros") else CAPTURE

    monkeypatch.setattr(stores, "from_uri", lambda uri: (Store(), ""))
    monkeypatch.setattr(stores, "_sends_parts", set())
    stores.file_system.cache_clear()
    try:
        with opened(f"{root}/zeros") as file:  # from which nobody can tell
            assert file.read() == bytes(100)
        assert corrupt(f"{root}/a.pcap") == {f"{root}/a.pcap": f"{stores.WHOLE}"}
        Store.whole = False
        assert corrupt(f"{root}/a.pcap") == {}
    finally:
        stores.file_system.cache_clear()


@pytest.mark.parametrize(
    ("root", "told"), [(FileType.NotFound, stores.REFUSED), (FileType.Directory, "no such object or folder")]
)
def test_hadoop_that_has_not_even_a_root_could_not_be_reached(
    monkeypatch: pytest.MonkeyPatch, root: FileType, told: str
) -> None:
    """Its library says that nothing is there, whatever the reason is."""

    class Store:
        def get_file_info(self, wanted: Any) -> Any:
            if isinstance(wanted, str):
                return FileInfo(wanted, root if wanted == "/" else FileType.NotFound)
            return []

    monkeypatch.setattr(stores, "from_uri", lambda uri: (Store(), ""))
    stores.file_system.cache_clear()
    try:
        with pytest.raises(OptionError, match=re.escape(told)):
            find(["hdfs://name:8020/a.pcap"])
    finally:
        stores.file_system.cache_clear()


class Whole(BytesIO):
    def seek(self, offset: int, whence: int = 0) -> int:
        return super().seek(0)


def test_whole_objects_of_s3_for_parts_are_noticed(store: Store) -> None:
    store.put("bucket/a.pcap", CAPTURE + bytes(1 << 20))
    store.ranges = False
    assert corrupt("s3://bucket/a.pcap") == {"s3://bucket/a.pcap": stores.WHOLE}


NO_CREDENTIALS = "no credentials were found, or their source cannot be reached"
NO_ACCESS = "access is denied: check the credentials and their permissions"
KEY = "a2V5"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            f"AccountName=box1;AccountKey={KEY}==",
            ("https", ".blob.core.windows.net", ".dfs.core.windows.net", f"{KEY}=="),
        ),
        (
            f"DefaultEndpointsProtocol=https;AccountName=box1;AccountKey={KEY};EndpointSuffix=core.chinacloudapi.cn",
            ("https", ".blob.core.chinacloudapi.cn", ".dfs.core.chinacloudapi.cn", KEY),
        ),
        (
            f"AccountName=box1;AccountKey={KEY};BlobEndpoint=http://127.0.0.1:10000/box1;",
            ("http", "127.0.0.1:10000", "127.0.0.1:10000", KEY),
        ),
        ("AccountName=other;AccountKey=a", None),
        ("", None),
    ],
)
def test_a_connection_string_of_azure_is_for_its_account(
    monkeypatch: pytest.MonkeyPatch, told: str, expected: tuple[str, ...] | None
) -> None:
    monkeypatch.setenv(stores.CONNECTION_STRING, told)
    made = stores.connected("box@box1.dfs.core.windows.net")
    if expected is None:
        assert made is None
        return
    assert made is not None
    given = made.__reduce__()[1][0]
    assert tuple(given[name] for name in AZURE_OPTIONS) == expected


def test_a_signature_takes_the_place_of_a_key_for_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(stores.CONNECTION_STRING, "AccountName=box1;SharedAccessSignature=sv=1&sig=x")
    made = stores.connected("box@box1.dfs.core.windows.net")
    assert made is not None
    given = made.__reduce__()[1][0]
    assert (given["account_key"], given["sas_token"]) == ("", "sv=1&sig=x")


AZURE_OPTIONS = ("blob_storage_scheme", "blob_storage_authority", "dfs_storage_authority", "account_key")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("AWS Error UNKNOWN (HTTP status 400): ExpiredToken", "the credentials have expired: renew them"),
        ("INVALID_ACCESS_KEY_ID", "the store does not know the access key: check the credentials"),
        ("InvalidAccessKeyId", "the store does not know the access key: check the credentials"),
        ("Could not create a OAuth2 access token to authenticate", NO_CREDENTIALS),
        ("DefaultAzureCredential: failed to get token from ManagedIdentity", NO_CREDENTIALS),
        ("All the provided credentials failed to authenticate", NO_CREDENTIALS),
        ("The HTTP server doesn't appear to support range requests", stores.WHOLE),
        ("Failed to flush response stream", stores.WHOLE),
        ("AWS Error ACCESS_DENIED during HeadObject", NO_ACCESS),
        ("SIGNATURE_DOES_NOT_MATCH", NO_ACCESS),
        ("SignatureDoesNotMatch", NO_ACCESS),
        ("google::cloud::Status(UNAUTHENTICATED: no)", NO_ACCESS),
        ("google::cloud::Status(PERMISSION_DENIED: no)", NO_ACCESS),
        ("Permission denied: user=nobody", NO_ACCESS),
        ("403 Forbidden", NO_ACCESS),
        ("status 401", NO_ACCESS),
        ("4011 bytes", "4011 bytes"),
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2", "there is no such bucket"),
        ("NoSuchBucket", "there is no such bucket"),
        ("BucketNotFound", "there is no such bucket"),
        ("AWS Error NO_SUCH_KEY during GetObject", "the object no longer exists"),
        ("NoSuchKey", "the object no longer exists"),
        ("RESOURCE_NOT_FOUND", "the object no longer exists"),
        ("File /a.log does not exist", "the object no longer exists"),
        ("Unable to load libjvm: no", "hdfs needs Java: set JAVA_HOME"),
        (
            "Unable to load libhdfs: no",
            "hdfs needs libhdfs.so from a Hadoop installation: set HADOOP_HOME or ARROW_LIBHDFS_DIR",
        ),
        (
            "HDFS connection failed",
            "hdfs needs Hadoop's jars: set CLASSPATH to the output of `hadoop classpath --glob`",
        ),
        ("HDFS GetPathInfo failed, errno: 255 (Unknown error 255)", stores.REFUSED),
        ("curlCode: 7, Couldn't connect to server; more", "the store cannot be reached: Couldn't connect to server"),
        ("Could not resolve hostname; more", "the store cannot be reached: Could not resolve hostname"),
        ("curl: Timeout was reached at last", "the store cannot be reached: Timeout was reached"),
        (
            "When listing: AWS Error SLOW_DOWN (HTTP status 503) during ListObjectsV2 operation: "
            "Unable to parse ExceptionName: SlowDown Message: Less, please (Request ID: 7)",
            "the store answered 503: SlowDown Message: Less, please",
        ),
        ("AWS Error UNKNOWN (HTTP status 500) during GetObject operation:", "the store answered 500"),
        (
            f"AWS Error UNKNOWN (HTTP status 500) during GetObject operation: {'x' * 300}",
            f"the store answered 500: {'x' * 200}",
        ),
        ("something\n  else", "something else"),
        ("x" * 300, "x" * 200),
        ("", "OSError"),
    ],
)
def test_what_stores_say_is_told_in_a_few_words(text: str, told: str) -> None:
    assert stores.reason_of(OSError(text)) == told


@pytest.mark.parametrize(
    ("scheme", "library"),
    [
        *((scheme, "s3") for scheme in ("s3", "s3a", "s3n")),
        *((scheme, "arrow") for scheme in ("gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")),
        ("http", "fsspec: pip install fsspec aiohttp"),
        ("https", "fsspec: pip install fsspec aiohttp"),
        ("sftp", "fsspec: pip install fsspec"),
    ],
)
def test_which_library_an_address_is_for(monkeypatch: pytest.MonkeyPatch, scheme: str, library: str) -> None:
    made = LocalFileSystem()
    monkeypatch.setattr(stores, "_s3", lambda bucket: made)
    monkeypatch.setattr(stores, "from_uri", lambda uri: (made, "inner/"))
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    stores.file_system.cache_clear()
    try:
        if library.startswith("fsspec"):
            with pytest.raises(stores.StoreError) as refused:
                stores.file_system(scheme, "box")
            assert refused.value.strerror == f"{scheme} addresses need {library}"
        else:
            prefix = "box" if library == "s3" else "inner"
            assert stores.file_system(scheme, "box") == (made, prefix)
    finally:
        stores.file_system.cache_clear()


@pytest.mark.parametrize(
    ("endpoints", "used"),
    [
        ({"AWS_ENDPOINT_URL": "http://a:1/"}, "http://a:1"),
        ({"AWS_ENDPOINT_URL_S3": "http://b:2", "AWS_ENDPOINT_URL": "http://a:1"}, "http://b:2"),
        ({"AWS_REGION": "eu-west-1"}, "region"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "region"),
        ({}, "s3://box/"),
    ],
)
def test_the_endpoint_of_s3(monkeypatch: pytest.MonkeyPatch, endpoints: dict[str, str], used: str) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in endpoints.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pyarrow.fs.S3FileSystem", lambda endpoint_override="region": endpoint_override)
    monkeypatch.setattr(stores, "from_uri", lambda uri: (uri, ""))
    stores.file_system.cache_clear()
    try:
        assert stores.file_system("s3", "box") == (used, "box")
    finally:
        stores.file_system.cache_clear()


def test_file_systems_of_fsspec() -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/box/logs/a.log", LOG)
    found = find(["memory://box/logs"])
    assert found.request_logs == ("memory://box/logs/a.log",)
    assert sum(batch.num_rows for batch in read_batches("exchanges", found)) == 50


def test_options_of_sources_take_addresses() -> None:
    given = json.dumps(["s3://a/b", "file:/c", "file:///d", "e"])
    assert Options({"paths": given}).paths() == ["s3://a/b", "/c", "/d", "e"]
    assert place("s3://a/b/").absolute() == "s3://a/b/"
