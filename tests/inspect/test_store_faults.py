"""Stores that stop in the middle, and a disk without room: a row or a line that says so, and the rest is read."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from kwire_inspect.inputs import find
from kwire_inspect.options import OptionError
from kwire_inspect.readers import read_batches
from kwire_inspect.storage import archives, decompression, stores
from tests.inspect.test_object_stores import CAPTURE, LOG
from tests.support.s3_server import Request, Store, serving

EXPIRED = "cannot be read: the credentials have expired: renew them"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Two request logs of 50 lines and a capture; an object is requested in many small parts."""
    monkeypatch.setattr(stores, "REQUESTED", 1 << 12)
    monkeypatch.setattr(decompression, "CHUNK", 1 << 12)
    with serving() as made:
        made.use(monkeypatch)
        stores.file_system.cache_clear()
        stores._listed.clear()
        for name, data in {"a.log": LOG, "b.log": LOG, "c.pcap": CAPTURE}.items():
            made.put(f"bucket/{name}", data)
        yield made
    stores.file_system.cache_clear()


def read(given: str = "s3://bucket") -> tuple[dict[str, int], dict[str, str]]:
    """The number of good rows of each input, and the reasons of others."""
    found = find([given])
    good: dict[str, int] = {}
    reasons = dict(found.skipped)
    for batch in read_batches("exchanges", found):
        for row in batch.to_pylist():
            name = row["source"].rpartition("/")[2]
            if row["problem"]:
                reasons[name] = row["problem"]
            else:
                good[name] = good.get(name, 0) + 1
    return good, reasons


def stops(name: str, status: int, code: str, after: int = 6) -> Callable[[Request], tuple[int, str] | None]:
    """An object of which only the first parts can be requested, and then nothing more."""
    late = False

    def fault(request: Request) -> tuple[int, str] | None:
        nonlocal late
        is_it = request.key == f"bucket/{name}" or request.query.get("prefix", "") == f"{name}/"
        late |= is_it and request.method == "GET" and request.number >= after
        return (status, code) if is_it and late else None

    return fault


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (400, "ExpiredToken", EXPIRED),
        (
            403,
            "AccessDenied",
            "cannot be read: access is denied: check the credentials and their permissions",
        ),
        (404, "NoSuchKey", "cannot be read: the object no longer exists"),
        (416, "InvalidRange", "cannot be read: the store answered 416: "),
        (501, "NotImplemented", "cannot be read: the store answered 501: "),
    ],
)
@pytest.mark.parametrize("name", ["a.log", "c.pcap"])
def test_what_was_read_before_a_refusal_stays(store: Store, name: str, status: int, code: str, told: str) -> None:
    whole, none = read()
    assert whole["a.log"] == whole["b.log"] == 50
    assert not none
    store.requests.clear()
    store.fault = stops(name, status, code)
    good, reasons = read()
    assert list(reasons) == [name]
    assert reasons[name].startswith(told)
    assert 0 < good.pop(name) < whole.pop(name)
    assert good == whole


def test_a_listing_that_ends_in_the_middle_is_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support import s3_server

    whole = s3_server.listing
    monkeypatch.setattr(s3_server, "listing", lambda *given: whole(*given)[:-40])
    with pytest.raises(OptionError, match=r"^s3://bucket/: "):
        find(["s3://bucket"])


@pytest.mark.slow
def test_an_archive_for_which_the_disk_has_no_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        member = tarfile.TarInfo("a.log")
        member.size = len(LOG)
        packed.addfile(member, BytesIO(LOG))
    store.put("bucket/d.tar.gz", gzip.compress(made.getvalue()))
    assert read()[0] == {"a.log": 100, "b.log": 50, "c.pcap": read("s3://bucket/c.pcap")[0]["c.pcap"]}
    archives._known.clear()
    monkeypatch.setattr(archives, "TemporaryFile", full_disk)
    good, reasons = read()
    assert good.keys() == {"a.log", "b.log", "c.pcap"}
    assert good["a.log"] == 50
    (told,) = reasons.values()
    assert told.startswith("No space left on device in ")
    assert told.endswith(" while decompressing: set TMPDIR to a folder with more free space")


def full_disk() -> BinaryIO:
    return cast(BinaryIO, Path("/dev/full").open("w+b"))
