"""Places in stores, on a store of this process: what is asked of it, and all that is made of its answers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow.fs import FileInfo, FileSelector, FileType

from kwire_inspect.storage import RemotePlace, opened, place, refuse_secrets, stores
from kwire_inspect.storage.stores import MaskedPlace, StoreError, masked

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


class File(BytesIO):
    """An object that is read. ``store.fault`` is what a read does instead."""

    def __init__(self, store: Store, name: str, data: bytes) -> None:
        super().__init__(data)
        self.store, self.name = store, name

    def read(self, size: int | None = -1) -> bytes:
        self.store.asked.append(f"read {self.name}")
        if self.store.fault:
            raise self.store.fault
        return super().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return super().seek(0 if self.store.whole else offset, whence)

    def close(self) -> None:
        self.store.asked.append(f"close {self.name}")
        super().close()


@dataclass
class Store:
    """Objects by path, with the times of their last change. A flat one has no folders, as Google's."""

    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    flat: bool = False
    whole: bool = False
    fault: OSError | None = None
    late: int = 0
    last: BytesIO = field(default_factory=BytesIO)

    def put(self, path: str, data: bytes = b"", at: int = NOW) -> None:
        self.objects[path] = data, at

    def get_file_info(self, of: str | FileSelector) -> Any:
        if isinstance(of, str):
            self.asked.append(f"info {of}")
            if of in self.objects:
                return self._info(of, 0)
            inner = any(name.startswith(f"{of}/") for name in self.objects) or (of == "/" and self.objects)
            return FileInfo(of, FileType.Directory if inner else FileType.NotFound)
        self.asked.append(f"list {of.base_dir}{'/**' if of.recursive else ''}")
        found = {}
        for name in self.objects:
            parts = name.removeprefix(f"{of.base_dir}/").split("/")
            if name.startswith(f"{of.base_dir}/"):
                for end in range(1, len(parts)) if not self.flat else ():
                    folder = "/".join((of.base_dir, *parts[:end]))
                    found[folder] = FileInfo(folder, FileType.Directory)
                found[name] = self._info(name, self.late)
        if not found and not of.allow_not_found:
            raise FileNotFoundError(of.base_dir)
        deep = found if of.recursive else {one for one in found if one.count("/") == of.base_dir.count("/") + 1}
        return [found[name] for name in sorted(deep, reverse=True)]

    def _info(self, path: str, late: int) -> FileInfo:
        data, at = self.objects[path]
        return FileInfo(path, FileType.File, size=len(data), mtime_ns=at + late)

    def open_input_file(self, path: str) -> File:
        self.asked.append(f"open {path}")
        self.last = File(self, path, self.objects[path][0])
        return self.last

    def open_output_stream(self, path: str) -> BytesIO:
        self.asked.append(f"write {path}")
        if self.fault:
            raise self.fault
        store = self

        class Written(BytesIO):
            def close(self) -> None:
                store.put(path, self.getvalue())
                super().close()

        return Written()

    def delete_file(self, path: str) -> None:
        self.asked.append(f"delete {path}")
        del self.objects[path]


NAMES = (
    "a/x.log",
    "a/_h.log",
    "a/.x",
    ".b/x.log",
    "_c/x.log",
    "d",
    "e/f/g",
    "e/f/_g",
    "e/[1]",
    "e/f2/g",
    "q?t=1",
    "E/z",
)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store()
    for name in NAMES:
        made.put(f"box/{name}", name.encode())
    monkeypatch.setattr(
        stores, "file_system", lambda scheme, authority: (made, authority.rpartition("@")[0] or authority)
    )
    monkeypatch.setattr(stores, "_listed", {})
    monkeypatch.setattr(stores, "_sends_parts", set())
    return made


EVERY = ["E/z", "_c/x.log", "a/x.log", "d", "e/[1]", "e/f/g", "e/f2/g", "q…"]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    ("given", "names", "requests"),
    [
        ("box", EVERY, "info box, list box/**"),
        ("box/", EVERY, "info box, list box/**"),
        ("box/a", ["a/x.log"], "info box/a, list box/a/**"),
        ("box/e/", ["e/[1]", "e/f/g", "e/f2/g"], "info box/e, list box/e/**"),
        ("box/d", ["d"], "info box/d"),
        ("box/a/_h.log", ["a/_h.log"], "info box/a/_h.log"),
        ("box/.b/x.log", [".b/x.log"], "info box/.b/x.log"),
        ("box/.b", [".b/x.log"], "info box/.b, list box/.b/**"),
        ("box/e/[1]", ["e/[1]"], "info box/e/[1]"),
        ("box/*", [".b/x.log", *EVERY], None),
        ("box/[de]", ["d", "e/[1]", "e/f/g", "e/f2/g"], None),
        ("box/?/*", ["E/z", "a/x.log", "e/[1]", "e/f/g", "e/f2/g"], None),
        ("box/*/x.log", [".b/x.log", "_c/x.log", "a/x.log"], None),
        ("box/**/x.log", [".b/x.log", "_c/x.log", "a/x.log"], None),
        ("box/**/g", ["e/f/g", "e/f2/g"], None),
        ("box/**", [".b/x.log", *EVERY], None),
        ("box/e/*/g", ["e/f/g", "e/f2/g"], None),
        ("box/e/f*", ["e/f/g", "e/f2/g"], None),
        ("box/e/f[2]/g", ["e/f2/g"], None),
        ("box/e/*/[_g]*", ["e/f/g", "e/f2/g"], None),
        ("box/*/f/g", ["e/f/g"], None),
        ("box/*/f", ["e/f/g"], None),
        ("box/d*/g", "no object matches this pattern", None),
        ("box/x*", "no object matches this pattern", None),
        ("box/none", "no such object or folder", "info box/none, list box/none"),
        ("box/a/x.log/y", "no such object or folder", "info box/a/x.log/y, list box/a/x.log/y"),
    ],
)
def test_which_objects_a_name_stands_for(
    store: Store, flat: bool, given: str, names: list[str] | str, requests: str | None
) -> None:
    store.flat = flat
    scheme = "gs" if flat else "s3"
    try:
        found: list[str] | str = list(place(f"{scheme}://{given}").files())
    except FileNotFoundError as error:
        found = str(error)
    refused = f"{scheme}://{given}: {names}"
    assert found == (refused if isinstance(names, str) else [f"{scheme}://box/{name}" for name in names])
    if requests:
        assert ", ".join(store.asked) == requests


def test_few_requests_find_what_matches(store: Store) -> None:
    """A folder is listed once. Objects whose folder was listed are known."""
    expected = {
        "s3://box/*": "info box/*, list box, "
        + ", ".join(f"list box/{one}/**" for one in ("E", "_c", "a", "e", ".b")),
        "s3://box/e/f[2]/g": "info box/e/f[2]/g, list box/e, info box/e/f2/g",
        "s3://box/**/g": "info box/**/g, list box/**",
        "s3://box/e/**": "info box/e/**, list box/e/**, list box/e/**, list box/e/f/**, list box/e/f2/**",
        "gs://box/e/f[2]/g": "info box/e/f[2]/g, list box/e/**",
    }
    for given, requests in expected.items():
        store.asked.clear()
        list(place(given).files())
        assert sorted(store.asked) == sorted(requests.split(", "))


def test_sizes_and_stamps_are_those_of_the_listing_or_of_now(store: Store) -> None:
    def states() -> tuple[int, str, str]:
        store.asked.clear()
        one = RemotePlace("s3://box/d")
        return one.size(), one.listed_stamp(), one.stamp()

    assert states() == (1, "", "1 1700000000")
    assert store.asked == ["info box/d", "info box/d"]
    assert list(place("s3://box/d").files()) == ["s3://box/d"]
    assert states() == (1, "1 1700000000", "1 1700000000")
    assert store.asked == ["info box/d"]
    store.put("box/d", b"dd", NOW + 7 * SECOND + 999)
    assert states() == (1, "1 1700000000", "2 1700000007")
    list(place("s3://box").files())
    assert states() == (2, "2 1700000007", "2 1700000007")
    del store.objects["box/d"]
    assert (place("s3://box/d").size(), place("s3://box/a").listed_stamp()) == (2, "")
    for gone in (place("s3://box/d").stamp, place("s3://box/x").size):
        with pytest.raises(StoreError) as told:
            gone()
        assert told.value.strerror == "the object no longer exists"


def test_what_was_listed_is_kept_up_to_a_number(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"s3://box/{name}" for name in NAMES}
    list(place("s3://box").files())
    assert {*stores._listed} == files
    monkeypatch.setattr(stores, "MAX_LISTED", 12)
    place("s3://box/a/x").siblings()
    assert {*stores._listed} == {f"s3://box/a/{name}" for name in ("x.log", "_h.log", ".x")}
    monkeypatch.setattr(stores, "MAX_LISTED", 4)
    place("s3://box/e/x").siblings()
    assert len(stores._listed) <= 4
    assert {*stores._listed} < files


@pytest.mark.parametrize(
    ("listed", "described", "same"),
    [
        ("5 100", "5 100", True),
        ("5 101", "5 100", True),
        ("5 100", "5 101", True),
        ("5 102", "5 100", False),
        ("5 100", "5 102", False),
        ("6 100", "5 100", False),
        ("5 None", "5 None", True),
        ("5 None", "5 100", True),
        ("5 100", "5 None", True),
        ("None 100", "None 100", True),
        ("None None", "5 None", False),
    ],
)
def test_a_second_may_lie_between_two_stamps_of_one_state(listed: str, described: str, same: bool) -> None:
    assert stores._same(listed, described) is same


def read(name: str, change: Callable[[], None], peek: bool = False, expected: str = "") -> bytes | str:
    """The bytes of an object that changes after it was opened, or why it cannot be read."""
    try:
        with opened(name, peek=peek, expected=expected) as file:
            change()
            return file.read()
    except StoreError as error:
        return str(error.strerror) if error.filename == name else f"of {error.filename}"


@pytest.mark.parametrize("scheme", ["s3", "hdfs", "sftp"])
def test_an_object_must_be_the_same_at_its_end(store: Store, scheme: str) -> None:
    name, data = f"{scheme}://box/d", store.objects["box/d"]

    def write(content: bytes, seconds: int) -> Callable[[], None]:
        return lambda: store.put("box/d", content, NOW + seconds * SECOND)

    cases = {
        "the same": (lambda: None, b"d"),
        "in the same second": (lambda: store.put("box/d", b"x", NOW + 999), b"d"),
        "another time": (write(b"d", 1), b"d" if scheme == "hdfs" else stores.CHANGED),
        "longer": (write(b"dd", 5), b"d" if scheme == "hdfs" else stores.CHANGED),
        "longer at once": (write(b"dd", 0), b"d" if scheme == "hdfs" else stores.CHANGED),
        "empty": (write(b"", 0), stores.CHANGED),
        "gone": (lambda: store.objects.pop("box/d"), b"d"),
    }
    for case, (change, expected) in cases.items():
        for peek in (False, True):
            store.objects["box/d"] = data
            assert read(name, change, peek) == (b"d" if peek else expected), case  # type: ignore[arg-type]
            assert (store.asked[-1], store.last.closed) == ("close box/d", True)


def test_an_object_must_be_the_one_that_was_listed(store: Store) -> None:
    for expected, found in (("1 1700000000", b"d"), ("1 1700000001", b"d"), ("1 1700000002", stores.CHANGED)):
        assert read("s3://box/d", lambda: None, expected=expected) == found
    assert read("s3://box/d", lambda: None, expected="2 1700000000") == stores.CHANGED
    store.asked.clear()
    assert read("s3://box/d", lambda: None, peek=True) == b"d"
    assert [one for one in store.asked if one.startswith("info")] == []


def test_an_object_is_read_from_anywhere(store: Store) -> None:
    store.put("box/n", bytes(range(100)))
    with opened("s3://box/n") as file:
        assert (file.seek(90), file.read(3), file.seek(-2, 2), file.read(), file.seek(3), file.read(2)) == (
            *(90, bytes([90, 91, 92]), 98),
            *(bytes([98, 99]), 3, bytes([3, 4])),
        )
        assert file.readable()
        assert file.seekable()


def test_a_read_that_fails_has_the_reason_that_the_store_gives_for_the_object(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.fault = OSError("AWS Error UNKNOWN (HTTP status 400) during GetObject operation: No response body.")
    assert read("s3://box/d", lambda: None) == "the store answered 400: No response body."
    info = store.get_file_info

    def expired(of: Any) -> Any:
        if store.asked[-1] == "read box/d":
            raise OSError("ExpiredToken")
        return info(of)

    monkeypatch.setattr(store, "get_file_info", expired)
    assert read("s3://box/d", lambda: None) == "the credentials have expired: renew them"


@pytest.mark.parametrize("answer", ["No response body", "something else"])
def test_an_answer_without_a_body_is_asked_for_by_a_list(
    store: Store, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    def refused(of: Any) -> Any:
        raise OSError(answer if isinstance(of, str) else "AccessDenied")

    monkeypatch.setattr(store, "get_file_info", refused)
    with pytest.raises(StoreError) as told:
        place("s3://box/d").is_folder()
    denied = "access is denied: check the credentials and their permissions"
    assert (told.value.errno, told.value.strerror) == (0, denied if "body" in answer else answer)


def test_a_store_may_be_written_if_a_small_object_can_be(store: Store) -> None:
    RemotePlace("s3://box/out/_probe").probe()
    assert store.asked == ["write box/out/_probe", "delete box/out/_probe"]
    assert {*store.objects} == {f"box/{name}" for name in NAMES}
    store.fault = OSError("AccessDenied")
    with pytest.raises(StoreError) as told:
        RemotePlace("s3://box/out/_probe").probe()
    assert told.value.filename == "s3://box"
    assert told.value.strerror == "access is denied: check the credentials and their permissions"


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", False),
        (b"a", False),
        (b"\0" * 100, False),
        (b"ab", True),
        (b"\0" * 63 + b"\1" + b"\0" * 9, True),
        (bytes(range(100)), True),
    ],
)
@pytest.mark.parametrize("scheme", ["gs", "gcs", "abfs", "abfss", "s3", "hdfs"])
def test_whole_objects_in_place_of_parts_are_noticed_for_each_store(
    store: Store, scheme: str, data: bytes, parts: bool
) -> None:
    """``parts`` says whether the bytes suffice to see the difference."""
    for box in ("box", "other"):
        store.put(f"{box}/n", data)
        name, checks = f"{scheme}://{box}/n", scheme not in ("s3", "hdfs")
        store.whole = True
        assert read(name, lambda: None) == (stores.WHOLE if checks and parts else data)
        store.whole = False
        assert read(name, lambda: None) == data
        assert (f"{scheme}://{box}" in stores._sends_parts) == (checks and parts)
    store.whole = True
    assert read(f"{scheme}://box/n", lambda: None) == data, "it is known to send parts"


def test_an_object_with_a_secret_in_its_key_is_listed_and_not_read(store: Store) -> None:
    found = place("s3://box/a/q…")
    assert isinstance(found, MaskedPlace)
    assert (found.files(), found.is_folder(), found.name) == (["s3://box/a/q…"], False, "s3://box/a/q…")
    calls = (
        found.check,
        found.info,
        found.opened,
        found.size,
        found.stamp,
        lambda: opened("s3://box/a/q…", peek=True),
    )
    for call in calls:
        with pytest.raises(StoreError) as told:
            call()
        assert told.value.strerror == (
            "the key may contain a secret, which tables would show: copy the object to another key"
        )
    assert store.asked == []


SECRET = (
    "an address with a password, or with a query that may contain a secret, "
    "is not accepted because tables show addresses"
)


@pytest.mark.parametrize(
    ("name", "shown", "cut"),
    [
        ("s3://box/a?t=1", "s3://box", "s3://box/a…"),
        ("s3://box/a@b?t=1", "s3://…", "s3://box/a…"),
        ("s3://box/a?.log", None, None),
        ("s3://box/a@b", None, None),
        ("s3://box/a?t", None, None),
        ("s3://box?t=1", "s3://…", "s3://box?t=1…"),
        ("s3://user:word@box/a", "s3://box", "s3://user:word@box/a…"),
        ("s3://user@box/a", None, None),
        ("s3:/box/a?t=1", "s3://box", None),
        ("S3://box/a?t=1", "s3://box", "S3://box/a…"),
        ("https://host/a?t", "https://host", "https://host/a…"),
        ("https://host/a@b", "https://…", "https://host/a…"),
        ("https://me@host/a", "https://host", "https://me@host/a…"),
        ("https://host:80/a", None, None),
        ("sftp://host:22/a@b", "sftp://…", "sftp://host:22/a…"),
        ("hdfs://host:80/a@b", None, None),
        ("hdfs://host:port/a", "hdfs://…", "hdfs://host:port/a…"),
        ("sftp://[::1]:22/a", None, None),
        ("a/b?t=1", None, None),
        ("/a:b/c?t=1", None, None),
    ],
)
def test_names_with_a_secret_are_refused_and_cut(name: str, shown: str | None, cut: str | None) -> None:
    if shown is None:
        refuse_secrets(name)
        assert masked(name) == name
        return
    with pytest.raises(ValueError, match=r"^[a-z0-9]+://") as told:
        refuse_secrets(name)
    assert str(told.value) == f"{shown}: {SECRET}"
    if cut:
        assert masked(name) == cut


def test_names_have_a_store_and_the_scheme_in_lower_case(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = RemotePlace("S3A://Box//a/B/")
    assert (found.name, found.scheme, found.authority, found.key) == ("s3a://Box/a/B/", "s3a", "Box", "a/B/")
    assert (found.path(), found.path("c/"), found.path("")) == ("Box/a/B", "Box/c", "Box")
    assert found.absolute() == found.name
    monkeypatch.setattr(stores, "file_system", lambda scheme, authority: (store, ""))
    assert (found.path(), found.path("")) == ("/a/B", "/")
    monkeypatch.setattr(stores, "file_system", lambda scheme, authority: (store, "box"))
    found.check()
    with pytest.raises(ValueError, match=r"^s3:///a: no bucket or host: write s3://NAME/PATH$"):
        RemotePlace("s3:///a")
    assert RemotePlace("abfss://box@account/a").path() == "box/a"
    assert sorted(place("s3://box/e/f/g").siblings()) == ["_g", "g"]
    assert sorted(place("s3://box/d").siblings()) == [".b", "E", "_c", "a", "d", "e", "q?t=1"]


@pytest.mark.parametrize("error", [OSError("x"), KeyError("x"), KeyboardInterrupt()])
def test_an_error_of_a_listing_is_that_of_its_caller(error: BaseException) -> None:
    threads: list[threading.Thread] = []

    def listing() -> list[FileInfo]:
        threads.append(threading.current_thread())
        raise error

    with pytest.raises(type(error)) as told:
        stores._ended(listing, "s3://box")
    assert told.value is error
    assert [one.daemon for one in threads] == [True]


@pytest.mark.parametrize(("seconds", "peaks", "ends"), [(0.0, 0, True), (9.0, 5, True), (9.0, 4, False)])
def test_a_listing_ends_by_its_time_or_its_memory(
    monkeypatch: pytest.MonkeyPatch, seconds: float, peaks: int, ends: bool
) -> None:
    monkeypatch.setattr(stores, "MAX_LISTING_SECONDS", seconds)
    monkeypatch.setattr(stores, "MAX_LISTING_BYTES", 4)
    monkeypatch.setattr(stores, "LOOKS_EVERY", 0.001)
    memory = iter([100])
    monkeypatch.setattr(stores, "_peak", lambda: next(memory, 100 + peaks))
    asked = threading.Event()

    def listing() -> list[FileInfo]:
        asked.wait(9)
        return []

    if not ends:
        threading.Timer(0.05, asked.set).start()
    try:
        if ends:
            with pytest.raises(StoreError) as told:
                stores._ended(listing, "s3://box")
            assert (told.value.filename, told.value.strerror) == ("s3://box", stores.ENDLESS)
        else:
            assert stores._ended(listing, "s3://box") == []
    finally:
        asked.set()


def test_hadoop_without_a_root_refused(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        list(place("hdfs://box/none").files())
    store.objects = {}
    info = store.get_file_info
    store.get_file_info = lambda of: info("/nothing" if of == "/" else of)  # type: ignore[method-assign]
    with pytest.raises(StoreError) as told:
        place("hdfs://box/none").is_folder()
    assert told.value.strerror == stores.REFUSED
    assert place("s3://box/none").is_folder() is False


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("AccountName=a;AccountKey=k==", ("https", ".blob.core.windows.net", ".dfs.core.windows.net", "k==", None)),
        (" AccountName =a; AccountKey=k;;x", ("https", ".blob.core.windows.net", ".dfs.core.windows.net", "k", None)),
        (
            "AccountName=a;SharedAccessSignature=s=1&t=2;EndpointSuffix=x.cn;DefaultEndpointsProtocol=http",
            ("http", ".blob.x.cn", ".dfs.x.cn", None, "s=1&t=2"),
        ),
        (
            "AccountName=a;BlobEndpoint=http://h:1/a;AccountKey=k;SharedAccessSignature=s",
            ("http", "h:1", "h:1", "k", "s"),
        ),
        ("AccountName=a;BlobEndpoint=https://a.blob.y.z", ("https", ".blob.y.z", ".dfs.y.z", None, None)),
        ("AccountName=b;AccountKey=k", None),
        ("AccountKey=k", None),
    ],
)
def test_all_that_a_connection_string_of_azure_says(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: tuple[str | None, ...] | None
) -> None:
    monkeypatch.setenv(stores.CONNECTION_STRING, given)
    monkeypatch.setattr("pyarrow.fs.AzureFileSystem", lambda name, **how: {"name": name} | how)
    found: Any = stores.connected("box@a.dfs.core.windows.net")
    if expected is None:
        assert found is None
        return
    scheme, blob, dfs, key, token = expected
    secrets = {name: value for name, value in (("account_key", key), ("sas_token", token)) if value}
    assert found == secrets | {
        "name": "a",
        "blob_storage_scheme": scheme,
        "dfs_storage_scheme": scheme,
        "blob_storage_authority": blob,
        "dfs_storage_authority": dfs,
    }


def test_errors_of_libraries_are_told_for_the_object_they_are_about() -> None:
    def raised(error: Exception) -> tuple[Any, ...]:
        with pytest.raises(StoreError) as told, stores.telling("s3://box/a"):
            raise error
        return told.value.errno, told.value.strerror, told.value.filename

    assert raised(RuntimeError("a\n  b")) == (0, "a b", "s3://box/a")
    assert raised(KeyError()) == (0, "KeyError", "s3://box/a")
    assert raised(StoreError("s3://box/b", "mine")) == (0, "mine", "s3://box/b")
    with suppress(KeyboardInterrupt), stores.telling("s3://box/a"):
        raise KeyboardInterrupt


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The addresses for which Arrow is asked."""
    asked: list[str] = []

    def from_uri(address: str) -> tuple[Any, str]:
        asked.append(address)
        return Store(), "box/"

    monkeypatch.setattr(stores, "from_uri", from_uri)
    stores.file_system.cache_clear()
    yield asked
    stores.file_system.cache_clear()


def test_a_store_is_connected_once(systems: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [("gs", "a"), ("gs", "b"), ("gs", "a"), ("hdfs", "a:1"), ("abfss", "c@d"), ("hdfs", "a:1")]
    made = [stores.file_system(*name) for name in names]
    assert systems == [
        "gs://a/?retry_limit_seconds=30",
        "gs://b/?retry_limit_seconds=30",
        "hdfs://a:1/",
        "abfss://c@d/",
    ]
    assert made[0] is made[2]
    assert {prefix for _, prefix in made} == {"box"}
    monkeypatch.setattr(stores, "connected", lambda authority: f"account of {authority}")
    assert stores.file_system("abfs", "c@d.e") == ("account of c@d.e", "c")


def test_other_addresses_are_those_of_fsspec(systems: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    system = SimpleNamespace(protocol="sftp")

    def url_to_fs(address: str) -> tuple[Any, str]:
        asked.append(address)
        return system, "/box/"

    monkeypatch.setitem(sys.modules, "fsspec.core", SimpleNamespace(url_to_fs=url_to_fs))
    found, prefix = stores.file_system("sftp", "box")
    assert (found.handler.fs, prefix, asked, systems) == (system, "/box", ["sftp://box/"], [])
