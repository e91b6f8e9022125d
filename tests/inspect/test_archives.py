"""Archives of captures, logs and segments: members are read under their own names, and bombs cost little."""

from __future__ import annotations

import errno
import gzip
import io
import os
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import zstandard

from kwire.command import main as run
from kwire_inspect.inputs import find
from kwire_inspect.options import BrokenInputError
from kwire_inspect.readers import read_batches
from kwire_inspect.storage import archives, opened, place, size_of
from tests.support.log_files import batch_at
from tests.support.packing import COMPRESS, tar
from tests.support.small_sample import left_behind

LOG = b"[2026-01-02 12:00:00,000] INFO Completed request:{} (kafka.request.logger)\n"
COMMANDS = ("clients", "offsets", "tables")


def folder_tar(folder: Path, format: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format) as packed:
        packed.add(folder, ".")
    return made.getvalue()


def zipped(folder: Path, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as packed:
        for file in sorted(folder.rglob("*")):
            packed.write(file, file.relative_to(folder))
    return made.getvalue()


def rows(folder: Path, given: str) -> dict[str, list[str]]:
    """The rows of all tables below a folder, in any order; ``given`` is what precedes names of inputs."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        name = "/".join(part for part in file.relative_to(folder).parts if "=" not in part)
        table = parquet.ParquetFile(file).read()
        found.setdefault(name, []).extend(str(row).replace(given, "") for row in table.to_pylist())
    return {name: sorted(lines) for name, lines in found.items() if name != "tables-written.parquet"}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    left_behind(folder)
    return folder


@pytest.fixture(scope="module")
def expected(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, list[str]]]:
    def made(command: str) -> dict[str, list[str]]:
        out = tmp_path_factory.mktemp("expected")
        run([command, str(sample), "--out", str(out), "-q"])
        return rows(out, f"{sample}/")

    return made


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", [".tar.gz", ".zip"])
@pytest.mark.long
def test_an_archive_gives_the_same_tables_as_its_folder(
    tmp_path: Path, sample: Path, expected: Callable[[str], dict[str, list[str]]], kind: str, command: str
) -> None:
    path = tmp_path / f"support{kind}"
    path.write_bytes(zipped(sample) if kind == ".zip" else gzip.compress(folder_tar(sample)))
    run([command, str(path), "--out", str(tmp_path / "out"), "-q"])
    assert rows(tmp_path / "out", f"{path}!/") == expected(command) != {}


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_kind_of_tar(tmp_path: Path, sample: Path, compress: Callable[[bytes], bytes], format: int) -> None:
    path = tmp_path / "any name"
    path.write_bytes(compress(folder_tar(sample, format)))
    found, plain = find([path]), find([sample])
    assert found.captures == (f"{path}!/captures/a.pcap.gz",)
    assert found.logs == (f"{path}!/",)
    assert len(found.request_logs) == len(plain.request_logs) == 2
    assert not found.skipped
    with opened(found.captures[0]) as file:
        assert file.read() == (sample / "captures" / "a.pcap.gz").read_bytes()
        assert file.seek(100) == 100
        assert file.read(7) == (sample / "captures" / "a.pcap.gz").read_bytes()[100:107]
    assert size_of(found.captures[0]) == (sample / "captures" / "a.pcap.gz").stat().st_size


def test_names_of_members_are_no_paths_and_the_last_of_a_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar(("../../up.log", LOG), ("/abs//./x.log", b"?"), ("abs/x.log", LOG), ("\x1b[31m", LOG)))
    assert find([path]).request_logs == (f"{path}!/../../up.log", f"{path}!/abs/x.log", f"{path}!/\x1b[31m")
    assert {*tmp_path.iterdir()} == {path}
    for name in ("a.tar!", "b.tar!"):  # folders, of which one is named like the archive
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.log").write_bytes(LOG)
        assert find([tmp_path / name]).request_logs == (f"{tmp_path / name}/x.log",)


def test_a_member_has_a_longer_name_than_any_file(tmp_path: Path) -> None:
    name = f"{'x' * 5000}.log"
    path = tmp_path / "a.tar"
    path.write_bytes(tar((name, LOG)))
    found = find([path])
    assert (found.request_logs, found.skipped) == ((f"{path}!/{name}",), ())
    assert [row["source"] for batch in read_batches("exchanges", found) for row in batch.to_pylist()] == [
        f"{path}!/{name}"
    ]


def test_what_cannot_be_read_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    inner = tar(("x.log", LOG))
    path.write_bytes(gzip.compress(tar(("in.tar", inner), ("a.log", LOG), ("empty", b""))))
    found = find([path])
    assert found.request_logs == (f"{path}!/a.log",)
    assert found.skipped == (
        (f"{path}!/in.tar", "an archive inside an archive: unpack the outer archive"),
        (f"{path}!/empty", "empty file"),
    )


@pytest.mark.parametrize(
    ("compress", "said"),
    [(bytes, "damaged tar: unexpected end of data"), (gzip.compress, "truncated gzip data")],
)
def test_an_archive_that_is_cut(tmp_path: Path, compress: Callable[[bytes], bytes], said: str) -> None:
    path = tmp_path / "a.tar"
    data = compress(tar(("a.log", LOG), ("b.log", LOG * 9000)))
    path.write_bytes(data[: -len(data) // 2])
    found = find([path])
    assert f"{path}!/a.log" in found.request_logs
    ((named, reason),) = found.skipped
    assert named == str(path) in found.unreadable
    assert reason == said


def test_an_archive_that_is_cut_behind_its_members(tmp_path: Path) -> None:
    """All are read, but others may have followed."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(tar(("a.log", LOG)))[:-4])
    found = find([path])
    assert (found.request_logs, found.skipped) == ((f"{path}!/a.log",), ((str(path), "truncated gzip data"),))


def test_zips_with_what_is_not_supported(tmp_path: Path, sample: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(sample, zipfile.ZIP_LZMA))
    found = find([path])
    assert not found
    reasons = {reason for _, reason in found.skipped}
    assert reasons == {"unsupported zip compression: compress the members with deflate"}
    data = bytearray(zipped(sample, zipfile.ZIP_STORED))
    streamed, encrypted = (bytearray(data) for _ in range(2))
    at = data.rfind(b"captures/a.pcap.gz") - 38  # its flags in the list of members
    streamed[at] |= 8
    encrypted[at] |= 1
    (tmp_path / "b.zip").write_bytes(streamed)
    assert not find([tmp_path / "b.zip"]).skipped
    (tmp_path / "c.zip").write_bytes(encrypted)
    assert [reason for _, reason in find([tmp_path / "c.zip"]).skipped] == ["encrypted"]
    for at in (data.find(b"PK\x01\x02"), data.find(b"PK\x05\x06")):
        (tmp_path / "b.zip").write_bytes(data[:at] + bytes(8) + data[at + 8 :])
        (told,) = find([tmp_path / "b.zip"]).skipped
        assert told[1].startswith("damaged zip: ")


def test_a_damaged_member_of_a_zip_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr("a.log", LOG * 10_000)
    data = bytearray(path.read_bytes())
    data[700_000] ^= 1
    path.write_bytes(data)
    told = [row["problem"] for batch in read_batches("exchanges", find([path])) for row in batch.to_pylist()]
    assert told[-1] == "cannot be read: damaged zip: Bad CRC-32 for file 'a.log'"


@pytest.mark.long
@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_ZEROS"])
def test_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(archives, limit, 1 << 30)
    path = tmp_path / "a.tar.zst"
    piece = zstandard.compress(bytes(1 << 26) if limit == "MAX_ZEROS" else b"bomb" * (1 << 24))
    path.write_bytes(zstandard.compress(tar(("a.log", LOG))[:1024]) + piece * 18)
    tracemalloc.start()
    found = find([path])
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()
    assert dict(found.skipped)[str(path)] == "more than 1 GiB: unpack the archive"
    assert found.request_logs == (f"{path}!/a.log",)


@pytest.mark.slow
def test_headers_do_not_take_the_memory_they_ask_for(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 300 << 20
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf() + bytes(300 << 20), 1))
    tracemalloc.start()
    ((_, reason),) = find([path]).skipped
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert reason == f"damaged tar: a header of {300 << 20} bytes"


def test_many_members_and_overlapping_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 10)
    path = tmp_path / "a.tar"
    path.write_bytes(tar(*((f"{number}.log", LOG) for number in range(20))))
    found = find([path])
    assert len(found.request_logs) == 10
    assert found.skipped == ((str(path), "more than 10 members: unpack the archive"),)
    monkeypatch.setattr(archives, "MAX_BYTES", 1000)
    (tmp_path / "b.zip").write_bytes(zipped_log(2000))
    assert find([tmp_path / "b.zip"]).skipped[0][1].startswith("more than")


def zipped_log(size: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.log", bytes(size))
    return made.getvalue()


def test_a_member_of_negative_size_ends_the_list(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    data = bytearray(tar(("a.log", LOG), ("b.log", LOG)))
    header = tarfile.TarInfo("b.log").tobuf(tarfile.GNU_FORMAT)
    damaged = bytearray(header[:124] + b"\xff" * 10 + b"\xfe\x00" + header[136:])  # -512 in base 256
    damaged[148:156] = b"%06o\0 " % (sum(damaged[:148]) + sum(damaged[156:]) + 8 * ord(" "))
    data[1024:1536] = damaged
    path.write_bytes(data)
    found = find([path])
    assert found.request_logs == (f"{path}!/a.log",)
    ((named, reason),) = found.skipped
    assert named == str(path)
    assert reason.startswith("damaged ")


def test_what_a_tar_has_after_its_last_header_is_told(tmp_path: Path) -> None:
    one, other = tar(("a.log", LOG)), tar(("b.log", LOG))
    told = {
        "no end": one[:1024],
        "a damaged header": one[:1024] + b"?" + other[1:],
        "a cut header": one[:1024] + other[:100],
        "two archives": one + other,
    }
    reasons = {}
    for name, data in told.items():
        (tmp_path / name).write_bytes(data)
        found = find([tmp_path / name])
        assert found.request_logs == (f"{tmp_path / name}!/a.log",)
        ((_, reasons[name]),) = found.skipped
    assert reasons.pop("two archives") == "data follows the end of the tar: unpack each part"
    assert {*reasons.values()} == {"damaged or truncated tar at byte 1024"}


def test_members_of_one_name_count_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 10)
    for count, told in ((10, []), (11, ["more than 10 members: unpack the archive"])):
        path = tmp_path / f"{count}.tar"
        path.write_bytes(tar(*[("a.log", LOG)] * count))
        assert [reason for _, reason in find([path]).skipped] == told


def test_seeking_in_a_large_stored_member_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_LIST", 1 << 16)
    monkeypatch.setattr(archives, "MAX_HEADER", 1 << 16)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr("a.log", LOG * 10_000)
    with opened(f"{path}!/a.log") as file:
        assert file.seek(600_000) == 600_000
        assert file.read(50) == (LOG * 10_000)[600_000:600_050]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.log", LOG * 10_000)
    data = bytearray(path.read_bytes())
    data[35:45] = b"\xff" * 10
    path.write_bytes(data)
    with opened(f"{path}!/a.log") as file, pytest.raises(OSError, match="damaged zip"):
        file.seek(700_000)


def test_a_zip_of_many_members_is_read_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(21):
            packed.writestr(f"{number}.log", LOG)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 11)
    assert len(find([path]).request_logs) == 11
    monkeypatch.setattr(archives, "MAX_MEMBERS", 10)
    archives._known.clear()
    assert find([path]).skipped == ((str(path), "the list of members is too long: unpack the archive"),)


def test_an_archive_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    for name in ("a.log", "b.log"):
        path.write_bytes(tar((name, LOG), *[("x", bytes(9))] * len(name)))
        assert find([path]).request_logs == (f"{path}!/{name}",)
        path.unlink()


def test_a_file_of_the_same_size_is_another_by_its_time_and_by_itself(tmp_path: Path) -> None:
    path, other = tmp_path / "a.tar", tmp_path / "b.tar"
    path.write_bytes(bytes(7))
    other.write_bytes(bytes(7))
    stamps = []
    for nanoseconds in (1, 2):
        os.utime(path, ns=(nanoseconds, nanoseconds))
        stamps.append(place(str(path)).stamp())
    os.utime(other, ns=(2, 2))
    other.rename(path)
    assert len({*stamps, place(str(path)).stamp()}) == 3


def test_zeros_alone_count_as_zeros_and_those_at_the_end_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the temporary file of a compressed archive they take no room."""
    monkeypatch.setattr(archives, "MAX_ZEROS", 3 << 20)
    path = tmp_path / "a.tar.gz"
    data = tar(("a.log", LOG + bytes(range(1, 256)) * (1 << 14)), ("b.log", LOG + bytes(2 << 20)))
    path.write_bytes(gzip.compress(data))
    assert str(path) not in dict(find([path]).skipped)
    with opened(f"{path}!/b.log") as file:
        assert file.read() == LOG + bytes(2 << 20)


def test_a_list_of_members_in_a_zip_is_limited(tmp_path: Path) -> None:
    size = 64 << 20
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, size, 0, 0)
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + bytes(size) + end)
    ((_, reason),) = find([tmp_path / "a.zip"]).skipped
    assert reason == "the list of members is too long: unpack the archive"


def test_segments_are_cut_into_splits_within_a_tar(tmp_path: Path, sample: Path) -> None:
    """With the index beside each segment."""
    path = tmp_path / "a.tar"
    path.write_bytes(folder_tar(sample / "data"))
    whole = pa.Table.from_batches(read_batches("records", find([path])))
    parts = pa.Table.from_batches(read_batches("records", find([path]), options={"splitSize": "1k"}))
    assert whole.num_rows > 100
    columns = [name for name in whole.column_names if name != "source"]
    assert (
        parts.select(columns)
        .sort_by([(name, "ascending") for name in ("topic", "partition", "offset")])
        .equals(whole.select(columns).sort_by([(name, "ascending") for name in ("topic", "partition", "offset")]))
    )


def test_the_newest_segment_of_a_partition_may_end_early_in_an_archive_too(tmp_path: Path) -> None:
    """Whatever segments other partitions have."""
    cut = batch_at(0) + batch_at(10)[:50]
    names = [f"data/orders-0/{0:020}.log", f"data/orders-1/{500:020}.log", f"{900:020}.log"]
    (tmp_path / "a.tar").write_bytes(tar(*((name, cut) for name in names)))
    inputs = find([tmp_path / "a.tar"])
    table = pa.Table.from_batches(read_batches("records", inputs, options={"mode": "failfast"}))
    assert sorted(table["offset"].drop_null().to_pylist()) == sorted([*range(10)] * 3)
    names.append(f"data/orders-0/{10:020}.log")
    (tmp_path / "b.tar").write_bytes(tar(*((name, cut) for name in names)))
    with pytest.raises(BrokenInputError, match="incomplete"):
        [*read_batches("records", find([tmp_path / "b.tar"]), options={"mode": "failfast"})]


@pytest.mark.parametrize("broken_first", [True, False])
def test_a_member_that_is_there_twice_is_read_or_skipped_and_not_both(broken_first: bool) -> None:
    made = archives.Archive()
    for is_broken in (broken_first, not broken_first):
        assert made.take("./a//b.log", 5, lambda: io.BytesIO(b"hello"), "is broken" if is_broken else "")
    assert [*made.members] == ([] if not broken_first else ["a/b.log"])
    assert made.skipped == ({} if broken_first else {"a/b.log": "is broken"})


def listed(data: bytes) -> tuple[dict[str, bytes | str], str]:
    """All members of an archive with their bytes, or why they cannot be read, and what is wrong with the list."""
    made = archives._read(cast(BinaryIO, io.BufferedReader(io.BytesIO(data))))
    found: dict[str, bytes | str] = dict(made.skipped)
    for name in made.members:
        try:
            with made.opened(name) as file:
                found[name] = file.read()
                assert len(found[name]) == made.size(name)
        except OSError as error:
            found[name] = str(error.strerror)
    return found, made.problem


def tar_of(*members: tarfile.TarInfo) -> bytes:
    return b"".join(member.tobuf(tarfile.GNU_FORMAT) for member in members) + bytes(1024)


def member_of(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    return member


def zip_of(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as packed:
        for name, data in members:
            packed.writestr(name, data)
    return made.getvalue()


def patched(data: bytes, name: bytes, at: int, value: int) -> bytes:
    """A zip in whose list of members a byte of a member is another. Offsets are from the beginning of its entry."""
    place = data.rfind(name) - 46 + at
    return data[:place] + bytes([value]) + data[place + 1 :]


A_B = (("a", b"first"), ("b", b"second"))
BIG = (("a", b"a" * 400), ("b", b"b" * 600))
SPARSE = "a sparse file in a tar: pack it without --sparse"
PACKED = "unsupported zip compression: compress the members with deflate"


@pytest.mark.parametrize(
    ("data", "members", "problem"),
    [
        (tar(), {}, ""),
        (tar(*A_B), {"a": b"first", "b": b"second"}, ""),
        (tar(("./a//b", b"old"), ("/a/./b", b"new")), {"a/b": b"new"}, ""),
        (tar(*A_B, ("c", b"3")), {"a": b"first", "b": b"second"}, "more than 2 members: unpack the archive"),
        (
            tar_of(*(member_of(str(kind), kind) for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE))),
            {},
            "",
        ),
        (
            tar_of(member_of("a", tarfile.LNKTYPE), member_of("b", tarfile.GNUTYPE_SPARSE)),
            {"b": SPARSE},
            "",
        ),
        (
            tar_of(*(member_of(name, tarfile.GNUTYPE_SPARSE) for name in "abc")),
            {"a": SPARSE, "b": SPARSE},
            "more than 2 members: unpack the archive",
        ),
        (
            gzip.compress(tar(*A_B, ("c", b"3")))[:-4],
            {"a": b"first", "b": b"second"},
            "truncated gzip data",
        ),
        (
            tar(*A_B)[:1024] + b"?" * 512,
            {"a": b"first"},
            "damaged or truncated tar at byte 1024",
        ),
        (tar_of(*[member_of("x", tarfile.XHDTYPE)] * 5000), {}, RecursionError),
        (zip_of(), {}, ""),
        (zip_of(*A_B), {"a": b"first", "b": b"second"}, ""),
        (zip_of(("a/", b""), *A_B, ("c/d/", b"")), {"a": b"first", "b": b"second"}, ""),
        (
            zip_of(*A_B, ("c", b"3")),
            {"a": b"first", "b": b"second"},
            "more than 2 members: unpack the archive",
        ),
        (
            zip_of(*A_B, ("c", b"3"), method=zipfile.ZIP_BZIP2),
            {"a": PACKED, "b": PACKED},
            "more than 2 members: unpack the archive",
        ),
        (patched(zip_of(*A_B), b"b", 8, 1), {"a": b"first", "b": "encrypted"}, ""),
        (patched(zip_of(*A_B), b"b", 10, 9), {"a": b"first", "b": PACKED}, ""),
        (
            patched(zip_of(*A_B), b"b", 6, 99),
            {},
            "damaged zip: zip file version 9.9",
        ),
        (
            b"PK\3\4???????" + zip_of(*A_B)[11:].replace(b"PK\3\4", b"PK??"),
            {
                "a": b"first",
                "b": "damaged zip: Bad magic number for file header",
            },
            "",
        ),
        (
            zip_of(*A_B).replace(b"second", b"sEcond"),
            {"a": b"first", "b": "damaged zip: Bad CRC-32 for file 'b'"},
            "",
        ),
    ],
)
def test_all_members_of_an_archive_with_their_bytes(
    monkeypatch: pytest.MonkeyPatch, data: bytes, members: dict[str, bytes | str], problem: str | type
) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    found, told = listed(data)
    assert found == members
    assert told == problem if isinstance(problem, str) else told.startswith("damaged tar: maximum recursion depth")


def test_a_member_that_would_end_after_its_zip_is_damaged() -> None:
    data = patched(patched(zip_of(*A_B), b"b", 21, 1), b"b", 25, 1)  # 256 bytes more
    assert str(listed(data)[0]["b"]).startswith("damaged zip: ")


@pytest.mark.parametrize(
    ("data", "name", "size", "stops"),
    [
        (gzip.compress(tar(*BIG)), "MAX_BYTES", 10240, dict(BIG)),
        (gzip.compress(tar(*BIG)), "MAX_ZEROS", 0, dict(BIG)),
        (zip_of(*BIG), "MAX_BYTES", 1000, {}),
        (zip_of(*BIG, method=zipfile.ZIP_DEFLATED), "MAX_BYTES", 1000, {}),
    ],
)
def test_the_bytes_of_an_archive_are_limited(
    monkeypatch: pytest.MonkeyPatch, data: bytes, name: str, size: int, stops: dict[str, bytes]
) -> None:
    """Of a tar, what was decompressed before is read. Of a zip, the list says its bytes in advance."""
    monkeypatch.setattr(archives, name, size)
    assert listed(data) == (dict(BIG), "")
    monkeypatch.setattr(archives, name, size - 1)
    limit = archives.MAX_BYTES >> 30
    assert listed(data) == (stops, f"more than {limit if not stops else 0} GiB: unpack the archive")


@pytest.mark.parametrize("data", [tar(*A_B), zip_of(*A_B), zip_of(*A_B, method=zipfile.ZIP_DEFLATED)])
def test_a_member_is_read_from_anywhere_and_not_past_its_end(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "BUFFER", 1)
    made = archives._read(cast(BinaryIO, io.BufferedReader(io.BytesIO(data))))
    with made.opened("a") as one, made.opened("b") as other:  # in turn, from one file
        assert (one.read(2), other.read(2), one.read(), other.read(1)) == (b"fi", b"se", b"rst", b"c")
        assert (other.seek(-2, os.SEEK_END), other.read(), other.tell()) == (4, b"nd", 6)
        assert (other.seek(1), other.read(2), other.seek(1, os.SEEK_CUR), other.read(9)) == (1, b"ec", 4, b"nd")
    with made.opened("a") as again:
        assert (again.seek(5), again.read(9)) == (5, b"")
        assert (again.seek(9), again.read(9)) == (9 if data[:2] != b"PK" else 5, b"")
    for asked in (made.opened, made.size):
        with pytest.raises(FileNotFoundError) as refused:
            asked("c")
        assert refused.value.args == (2, "no such member in the archive")
        assert refused.value.filename == "c"


def test_the_lists_of_a_few_archives_are_kept_while_they_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_KNOWN", 2)
    monkeypatch.setattr(archives, "_known", {})
    read: list[str] = []

    def members(name: str, stamp: str) -> list[str]:
        def open_it() -> BinaryIO:
            read.append(name + stamp)
            return cast(BinaryIO, io.BufferedReader(io.BytesIO(tar((name + stamp, b"")))))

        return [*archives.archive(name, stamp, open_it).members]

    asked = ["a1", "a1", "b1", "a1", "b1", "b2", "a1", "c1", "b2", "a1"]
    assert [members(*one) for one in asked] == [[one] for one in asked]
    assert read == ["a1", "b1", "b2", "c1", "a1"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "full in {} while decompressing: set TMPDIR to a folder with more free space"),
        (errno.EDQUOT, "full in {} while decompressing: set TMPDIR to a folder with more free space"),
        (errno.EFBIG, "full in {} while decompressing: set TMPDIR to a folder with more free space"),
        (errno.EIO, "full"),
    ],
)
def test_only_a_full_disk_is_called_one(monkeypatch: pytest.MonkeyPatch, number: int, said: str) -> None:
    class Disk(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(number, "full")

    monkeypatch.setattr(archives, "TemporaryFile", Disk)
    packed = io.BytesIO(gzip.compress(tar(*A_B)))
    with pytest.raises(OSError) as failed:  # noqa: PT011
        archives._read(cast(BinaryIO, io.BufferedReader(packed)))
    assert (failed.value.errno, failed.value.strerror) == (number, said.format(gettempdir()))
    assert packed.closed


@pytest.mark.parametrize("reason", [(errno.EIO, "no disk"), ("no disk",)])
def test_an_archive_whose_list_cannot_be_read_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: tuple[int | str, ...]
) -> None:
    def fails(*_: object) -> None:
        raise OSError(*reason)

    monkeypatch.setattr("kwire_inspect.storage.places.archive", fails)
    path = tmp_path / "a.tar"
    path.write_bytes(tar(*A_B))
    found = find([path])
    assert (found.skipped, found.unreadable) == (((str(path), "no disk"),), frozenset({str(path)}))


def test_no_more_than_a_limit_is_read_at_a_time() -> None:
    for limited in (archives._Limited, archives._LimitedList):
        file = limited(io.BytesIO(b"0123456789"), 4)
        assert (file.read(4), file.tell(), file.seek(-4, os.SEEK_END), file.read(), file.read()) == (
            *(b"0123", 4, 6),
            *(b"6789", b""),
        )
        for start, size, told in ((0, 5, 5), (5, -1, 5)):
            file.seek(start)
            with pytest.raises(ValueError, match=f"^a header of {told} bytes$"):
                file.read(size)


def test_what_begins_like_an_archive() -> None:
    begins = {b"PK\3\4": True, b"PK\5\6": True, b"PK\1\2": False, b"?" * 257 + b"ustar": True}
    begins |= {b"?" * 256 + b"ustar": False, b"?" * 257 + b"usta": False, b"": False}
    assert {head: archives.is_archive(head) for head in begins} == begins
