"""Reading sources: what counts as a definition file, in which order, and what cannot be read is reported."""

from __future__ import annotations

import os
import socket
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics import codes, diagnostic, reading
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import MAX_BYTES, read_sources
from kwirec.diagnostics.render_text import render_text
from kwirec.diagnostics.source import Source, Span
from tests.support.effort import peak

MESSAGE = '{ "type": "data", "name": "Clock", "validVersions": "0", "fields": [] }'


def read(*paths: Path) -> tuple[list[Source], Report]:
    report = Report()
    return read_sources(paths, report), report


def names(sources: list[Source], root: Path) -> list[str]:
    return [source.name.removeprefix(f"{root.as_posix()}/") for source in sources]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b/Two.json", "b/releases.json", "b/README.md", "a.jsonl", "c/One.json", "layouts.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MESSAGE)
    return tmp_path


def archive(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in files.items():
            written.writestr(name.replace("__", "/") + ".json", text)
    return path


def test_folder_is_read_in_sorted_order_without_its_records(folder: Path) -> None:
    sources, report = read(folder)
    assert names(sources, folder) == ["a.jsonl", "b/Two.json", "c/One.json"]
    assert {source.text for source in sources} == {MESSAGE}
    assert report.diagnostics == []


def test_hidden_files_of_a_folder_are_not_read(folder: Path) -> None:
    """Editors and archivers leave such files beside those that they save."""
    for name in (".One.json", "c/._One.json", "b/.swap.krm"):
        (folder / name).write_text("no definition")
    sources, report = read(folder)
    assert names(sources, folder) == ["a.jsonl", "b/Two.json", "c/One.json"]
    assert report.diagnostics == []


def test_files_without_a_suffix_are_definitions_in_a_folder_of_franz_go_alone(folder: Path) -> None:
    for name in ("b/enums", "b/LICENSE", "c/enums", "c/misc", "c/00_produce"):
        (folder / name).write_text("// Nothing.")
    assert names(read(folder)[0], folder) == [
        "a.jsonl",
        "b/Two.json",
        "c/00_produce",
        "c/One.json",
        "c/enums",
        "c/misc",
    ]


def test_file_is_read_whatever_its_name(folder: Path) -> None:
    sources, _ = read(folder / "b" / "README.md")
    assert names(sources, folder) == ["b/README.md"]


def test_paths_keep_their_order_and_no_file_comes_twice(folder: Path) -> None:
    sources, _ = read(folder / "c", folder, folder / "a.jsonl")
    assert names(sources, folder) == ["c/One.json", "a.jsonl", "b/Two.json"]


@pytest.mark.parametrize("suffix", ["jar", "zip"])
def test_archive_gives_its_definitions_and_no_other_json(tmp_path: Path, suffix: str) -> None:
    path = archive(
        tmp_path / f"kafka-clients-4.1.1.{suffix}",
        common__message__Zone=MESSAGE,
        common__message__Clock=MESSAGE,
        META__manifest='{"version": 1}',
        releases=MESSAGE,
    )
    sources, report = read(path)
    assert names(sources, path) == [
        f"{path.as_posix()}!common/message/Clock.json",
        f"{path.as_posix()}!common/message/Zone.json",
    ]
    assert [source.stem for source in sources] == ["Clock", "Zone"]
    assert report.diagnostics == []


def test_one_member_of_an_archive_is_read_by_its_name(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.jar", common__Zone=MESSAGE, common__Clock=MESSAGE)
    found = read_sources([path], Report(), member="common/Clock.json")
    assert names(found, tmp_path) == ["a.jar!common/Clock.json"]


def test_json_of_an_archive_is_a_definition_if_it_has_versions_or_fields(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.jar", A='{ "validVersions": "none" }', B='{ "fields": [] }', C='{ "field": [] }')
    assert names(read(path)[0], tmp_path) == ["a.jar!A.json", "a.jar!B.json"]


def test_an_archive_may_unpack_to_exactly_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.jar", A=MESSAGE)
    for limit, found in ((len(MESSAGE), 1), (len(MESSAGE) - 1, 0)):
        monkeypatch.setattr("kwirec.diagnostics.reading.MAX_BYTES", limit)
        assert len(read(path)[0]) == found


def test_where_no_definitions_are_is_told_with_advice_for_folders(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, has_advice in ((archive(tmp_path / "a.jar", C="{}"), False), (tmp_path / "empty", True)):
        (found,) = read(path)[1].diagnostics
        assert (found.message, bool(found.helps)) == (f"no definitions in `{path.as_posix()}`", has_advice)


def test_files_that_are_compiled_together_have_a_limit_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ABCD":
        (tmp_path / f"{name}.json").write_text(MESSAGE)
    monkeypatch.setattr(reading, "MAX_BYTES", 2 * len(MESSAGE))
    again = [tmp_path / "A.json"] * 2 + [tmp_path / "B.json"]
    assert [len(found) for found in (read(*again)[0], read(*again)[1].diagnostics)] == [2, 0]  # each counts once
    sources, report = read(tmp_path)
    [refusal] = report.diagnostics
    assert names(sources, tmp_path) == ["A.json", "B.json"]
    assert (refusal.code.number, refusal.primary.span.source.name) == ("K001", (tmp_path / "C.json").as_posix())
    assert refusal.primary.text == "more than 2 MiB of definitions in total: pass fewer files at a time"


def test_a_report_has_a_bounded_number_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostic, "MAX_FINDINGS", 2)
    report, source = Report(), Source("Clock.json", "123")
    for at in range(3):
        report.add(codes.NO_DEFINITIONS, "none", Span(source, at, at + 1))
    assert [one.code.number for one in report.diagnostics] == ["K009", "K009", "K028"]


def test_archive_gives_definitions_in_the_other_notation_whatever_they_say(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "defs.zip", "w") as written:
        written.writestr("Clock.krm", "Clock => data, max version 0\n")
        written.writestr("Clock.txt", MESSAGE)
    assert names(read(tmp_path / "defs.zip")[0], tmp_path) == ["defs.zip!Clock.krm"]


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "Clock.json").write_bytes(b"\xef\xbb\xbf" + MESSAGE.encode())
    [source], report = read(tmp_path)
    assert source.text == MESSAGE
    assert report.diagnostics == []


def test_missing_path(tmp_path: Path) -> None:
    sources, report = read(tmp_path / "gone")
    [found] = report.diagnostics
    assert sources == []
    assert (found.code.number, found.primary.text) == ("K001", "no such file or folder")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_that_is_not_utf8_is_reported_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: bytes, snapshot: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Bad.json").write_bytes(mark + '{ "é":\n  "ab\xff" }'.encode("latin-1").replace(b"\xe9", "é".encode()))
    Path("Good.json").write_text(MESSAGE)
    sources, report = read(Path("Bad.json"), Path("Good.json"))
    assert [source.name for source in sources] == ["Good.json"]
    assert render_text(report.diagnostics) == snapshot(name="not utf-8")


def damaged(path: Path, start: int, size: int = 30) -> Path:
    data = bytearray(path.read_bytes())
    data[start : start + size] = b"\xff" * len(data[start : start + size])
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("start", [0, 14, 60, -22, -60])
def test_damaged_archive_is_reported_not_raised(tmp_path: Path, start: int) -> None:
    whole = archive(tmp_path / "defs.zip", Clock=MESSAGE * 3)
    _, report = read(damaged(whole, start if start >= 0 else whole.stat().st_size + start))
    assert {found.code.number for found in report.diagnostics} == {"K001"}


def test_text_with_the_name_of_an_archive(tmp_path: Path) -> None:
    (tmp_path / "defs.zip").write_text("no archive")
    _, report = read(tmp_path)
    assert [found.code.number for found in report.diagnostics] == ["K001"]


@pytest.mark.parametrize("name", ["Pipe.json", "Pipe.jar", "Device.json", "Socket.json"])
def test_pipes_devices_and_sockets_are_refused_before_they_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    match path.stem:
        case "Pipe":
            os.mkfifo(path)
        case "Device":
            path.symlink_to("/dev/zero")
        case _:
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(os.path.relpath(path))
    (tmp_path / "Clock.json").write_text(MESSAGE)
    for given in (tmp_path, path):
        _, report = read(given)
        [found] = report.diagnostics
        assert (found.code.number, found.primary.text) == ("K001", "not a regular file")


def test_a_link_to_a_definition_is_read(tmp_path: Path) -> None:
    (tmp_path / "defs").mkdir()
    (tmp_path / "Clock.txt").write_text(MESSAGE)
    (tmp_path / "defs" / "Clock.json").symlink_to("../Clock.txt")
    sources, report = read(tmp_path / "defs")
    assert [source.text for source in sources] == [MESSAGE]
    assert report.diagnostics == []


def refused(path: Path) -> str:
    """Why the archive is not read; memory for its contents is not even asked for."""
    found: list[str] = []
    assert peak(lambda: found.extend(finding.primary.text for finding in read(path)[1].diagnostics)) < 1 << 20
    assert len(found) == 1
    return found[0]


def test_an_archive_unpacks_to_a_bounded_size(tmp_path: Path) -> None:
    half = '{"fields":' + " " * (MAX_BYTES // 2)
    bomb = archive(tmp_path / "bomb.zip", A=half, B=half)
    assert bomb.stat().st_size < 100_000
    assert refused(bomb).startswith("the archive has 2 files (at most 65536) with 2097172 bytes of JSON")


def test_an_archive_has_a_bounded_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_MEMBERS", 2)
    assert len(read(archive(tmp_path / "two.zip", A=MESSAGE, B=MESSAGE))[0]) == 2
    assert refused(archive(tmp_path / "three.zip", A=MESSAGE, B=MESSAGE, C=MESSAGE)).startswith("the archive has 3")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_files_of_an_archive_are_packed_as_in_a_jar(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as packed:
        packed.writestr("A.json", MESSAGE)
    assert refused(tmp_path / "a.zip") == "`A.json` is compressed with a method other than deflate"


def test_an_archive_with_a_password_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", A=MESSAGE)
    data = bytearray(path.read_bytes())
    for head, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(head) + flags] |= 1
    path.write_bytes(data)
    assert "is encrypted, password required" in refused(path)


@pytest.mark.slow
def test_no_more_is_unpacked_than_the_archive_announces(tmp_path: Path) -> None:
    size = 1 << 26
    liar = archive(tmp_path / "liar.zip", A=" " * size)
    data = liar.read_bytes()
    assert data.count(size.to_bytes(4, "little")) == 2
    liar.write_bytes(data.replace(size.to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert "CRC" in refused(liar)


def test_files_of_an_archive_do_not_share_their_bytes(tmp_path: Path) -> None:
    """The same bytes for each of many entries: a small archive would hold any amount of text."""
    path = archive(tmp_path / "overlap.zip", A=MESSAGE, B=MESSAGE)
    data = path.read_bytes()
    second = data.rindex(b"PK\x01\x02")
    end = 30 + int.from_bytes(data[18:22], "little")  # of a file without a name, which is as short as can be
    for start, reason in (
        (0, "`B.json` overlaps another file in the archive"),
        (end - 1, "`B.json` overlaps another file in the archive"),
        (end, "Bad magic number for file header"),
    ):
        path.write_bytes(data[: second + 42] + start.to_bytes(4, "little") + data[second + 46 :])
        assert refused(path) == reason
