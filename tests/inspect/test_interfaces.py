"""Capturing on interfaces: programs stand in for dumpcap and tcpdump, so that this needs no rights."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.command import main as run
from kwire.connection import CLIENT
from kwire_inspect.capture import Broken
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.live import interfaces, ring
from kwire_inspect.live.interfaces import CaptureError, InterfaceCapture, check_interfaces, command
from kwire_inspect.live.ring import Cutter, NoCaptureError, Ring, statistics
from kwire_inspect.options import OptionError
from kwire_inspect.reasons import DROPPED
from kwire_spark.command.watch_inputs import InterfacesInput, filter_for
from tests.support.capture_files import (
    ACK,
    ALICE,
    BROKER,
    EPOCH,
    Conversation,
    TcpPacket,
    block,
    ip_packet,
    packets,
    write_pcap,
    write_pcapng,
)

LO = socket.if_nameindex()[0][1]
PLENTY = 1 << 30
FAKE = """\
#!{python}
import json, pathlib, signal, sys, time
folder = pathlib.Path({folder!r})
(folder / "arguments").write_text(json.dumps(sys.argv[1:]))
def end(*_):
    print(*{last!r}, sep="\\n", file=sys.stderr, flush=True)
    sys.exit({code})
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, lambda *_: print({asked!r}, file=sys.stderr, flush=True))
print(*{first!r}, sep="\\n", file=sys.stderr, flush=True)
sys.stdout.buffer.write((folder / "capture").read_bytes() if (folder / "capture").exists() else b"")
sys.stdout.buffer.flush()
while {stays}:
    time.sleep(0.05)
end()
"""
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """``install(name, …)``: a program of that name, the only one on PATH, which writes what the file ``capture`` in
    the returned folder has."""

    def installed(name: str = "dumpcap", **given: Any) -> Path:
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        values = {"first": ["Capturing on 'x'", "File: -"], "last": [], "code": 0, "asked": "", "stays": True} | given
        (folder / name).write_text(FAKE.format(python=sys.executable, folder=str(folder), **values))
        (folder / name).chmod(stat.S_IRWXU)
        monkeypatch.setenv("PATH", str(folder))
        return folder

    return installed


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def capture_in(folder: Path, *conversations: Conversation) -> bytes:
    made = [packet for one in conversations for packet in packets(one)]
    return write_pcap(folder / "capture", made).read_bytes()


def read(folder: Path) -> list[Any]:
    """The packets and problems of all files that are complete, in their order."""
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return [found for path in paths for found in file_packets(str(path))]


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


TALK = Conversation([(CLIENT, n / 100, bytes([n]) * 1000) for n in range(200)])


@pytest.mark.parametrize("sizes", [(1, 1), (1, 40), (1000, 3000), (1 << 20, 1 << 20)])
def test_what_comes_through_a_pipe_is_cut_between_packets(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, int]
) -> None:
    monkeypatch.setattr(ring, "FILE_BYTES", 50_000)
    talk = TALK if sizes[0] > 100 else Conversation(TALK.segments[:5])
    sent, chance = capture_in(tmp_path, talk), random.Random(1)
    cutter, at = Cutter(Ring(files, PLENTY), LO), 0
    while at < len(sent):
        size = chance.randint(*sizes)
        cutter.add(sent[at : at + size])
        cutter.rotate()
        at += size
    cutter.add(b"half a packet")
    cutter.close()
    wanted = [packet.data for packet in file_packets(str(tmp_path / "capture")) if not isinstance(packet, Broken)]
    assert [packet.data for packet in read(files)] == wanted
    assert len(list(files.iterdir())) > 1 or sizes != (1000, 3000)
    assert not [path for path in files.iterdir() if path.name.startswith(".")]


def test_a_file_ends_when_its_time_is_over(tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cutter = Cutter(Ring(files, PLENTY), "br/0")  # a name that is none of a file
    cutter.add(capture_in(tmp_path, TALK))
    cutter.rotate()
    assert [path.name[0] for path in files.iterdir()] == ["."], "nobody reads it yet"
    later = time.monotonic() + 2
    monkeypatch.setattr(time, "monotonic", lambda: later)
    cutter.rotate()
    assert [path.suffix for path in files.iterdir()] == [".pcap"]


def test_packets_without_room_are_dropped_and_counted(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ring, "FILE_SECONDS", 0.0)
    sent = capture_in(tmp_path, TALK)
    count = len(list(file_packets(str(tmp_path / "capture"))))
    cutter = Cutter(Ring(files, ring.FILE_BYTES + len(sent) + 1000), LO)
    for _ in range(3):
        cutter.add(sent if not cutter.begun else sent[24:])
        cutter.rotate()
    assert cutter.dropped == count
    (files / sorted(path.name for path in files.iterdir())[0]).unlink()
    cutter.add(sent[24:])
    cutter.close()
    found = read(files)
    assert len([one for one in found if not isinstance(one, Broken)]) == 2 * count
    assert [(one.reason, one.packets) for one in found if isinstance(one, Broken)] == [(DROPPED, count)]


def test_a_silent_interface_is_captured(tmp_path: Path, files: Path) -> None:
    """The head of a file says so, before any packet comes."""
    cutter, head = Cutter(Ring(files, PLENTY), LO), capture_in(tmp_path, TALK)[:24]
    for number in range(24):
        assert not cutter.begun
        cutter.add(head[number : number + 1])
    assert cutter.begun


class Folder:
    """A folder with the files of two interfaces, at times that are told."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.now, self.path = 100.0, path
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(ring, "FILE_BYTES", 400)
        both = Ring(path, most)
        self.cutters = {"a": Cutter(both, "a"), "b": Cutter(both, "b/1")}
        self.sent = {"a": 0, "b": 10}

    def step(self, what: str) -> str:
        """``a3``: three packets of 100 bytes come; ``a+250``: half a second later; ``a!``: the file may end; ``a?7``:
        the kernel dropped seven; ``a.``: the end; ``-``: the reader takes the first file."""
        cutter = self.cutters.get(what[0], self.cutters["a"])
        if what[0] == "+":
            self.now += int(what[1:]) / 1000
        elif what == "-":
            (self.path / min(path.name for path in self.path.iterdir() if path.name[0] != ".")).unlink()
        elif what[1:] == "!":
            cutter.rotate()
        elif what[1:] == ".":
            cutter.close()
        elif what[1] == "?":
            cutter.dropped_by_kernel(int(what[2:]))
        else:
            cutter.add(b"".join(self._packet(what[0]) for _ in range(int(what[1:]))))
        return f"{what:<5} {self.told()}".rstrip()

    def _packet(self, name: str) -> bytes:
        head = struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) if not self.cutters[name].begun else b""
        head = head if self.sent[name] % 10 == 0 else b""
        one = TcpPacket(EPOCH, ALICE, BROKER, ACK, self.sent[name], 9, bytes(44))
        self.sent[name] += 1
        return head + struct.pack("<IIII", 1, 2, 84, 84) + ip_packet(one)

    def told(self) -> str:
        parts = []
        for path in sorted(self.path.iterdir(), key=lambda path: path.name.removeprefix(".")):
            name = re.sub(r"\d{8}T\d{6}-00000", "", path.name)
            assert path.name.startswith(".") or path.stat().st_size > 24
            found = [] if path.name.startswith(".") else [*file_packets(str(path))]
            numbers = [f"-{one.packets}" if isinstance(one, Broken) else str(one.seq) for one in found]
            parts.append(f"{name}({','.join(numbers)})")
        dropped = {name: cutter.dropped for name, cutter in self.cutters.items() if cutter.dropped}
        return " ".join([*parts, f"dropped: {dropped}" if dropped else ""])


FOLDERS = {
    "files end by time": (10_000, "a1 a! +999 a! +1 a! a1 b1 +500 b1 b! +500 a! b! a. b."),
    "files end by size": (10_000, "a3 a! a1 a! a4 a! a5 a. b."),
    "a folder that is full": (924, "a5 a! a1 a! a1 +1000 a! a1 - a1 +999 a1 a! +1 a1 a! a? a.".replace(" a? ", " ")),
    "a folder that two share": (924, "a5 a! b2 b! a1 a! b. +1000 a! a1 a. - +5000 b1"),
    "drops of the kernel and of the folder": (924, "a?3 a! a5 a! a2 a?5 a! +1000 a?4 a! - a?5 a1 a! +1000 a! a?9 a."),
    "nothing came": (10_000, "a! +2000 a! a. a."),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_each_step_of_the_files_in_a_folder(
    files: Path, monkeypatch: pytest.MonkeyPatch, name: str, snapshot: SnapshotAssertion
) -> None:
    """Names of files with the numbers of their packets, or of how many were dropped."""
    most, steps = FOLDERS[name]
    folder = Folder(files, monkeypatch, most)
    assert "\n".join(folder.step(step) for step in steps.split()) == snapshot


@pytest.mark.parametrize(("used", "room"), [(0, True), (10, True), (11, False)])
def test_a_folder_has_room_for_one_more_file_within_its_limit(files: Path, used: int, room: bool) -> None:
    (files / "one").write_bytes(bytes(used))
    assert Ring(files, ring.FILE_BYTES + 10).has_room == room


def test_every_dropped_packet_is_told_once(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels count from the beginning of the capture, and are asked again and again."""
    monkeypatch.setattr(ring, "FILE_SECONDS", 0.0)
    cutter = Cutter(Ring(files, PLENTY), LO)
    for total in (3, 5, 5, 6):
        cutter.dropped_by_kernel(total)
        cutter.rotate()
    cutter.close()
    assert [(one.reason, one.packets) for one in read(files)] == [(DROPPED, 3), (DROPPED, 2), (DROPPED, 1)]


def test_packets_of_modified_pcap_have_longer_heads(files: Path) -> None:
    head = struct.pack("<IHHIIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, 1)
    sent = b"".join(struct.pack("<IIII", 1, number, 60, 60) + bytes(8) + bytes(range(60)) for number in range(3))
    cutter = Cutter(Ring(files, PLENTY), LO)
    cutter.add(head + sent + sent[:50])
    cutter.close()
    (file,) = files.iterdir()
    assert file.read_bytes() == head + sent


@pytest.mark.parametrize("data", [b"\n\r\r\n" + bytes(40), b"no capture" * 5])
def test_a_program_has_to_write_pcap(files: Path, data: bytes) -> None:
    with pytest.raises(NoCaptureError, match="does not write pcap"):
        Cutter(Ring(files, PLENTY), LO).add(data)


def test_a_damaged_size_ends_the_capture(tmp_path: Path, files: Path) -> None:
    cutter = Cutter(Ring(files, PLENTY), LO)
    with pytest.raises(NoCaptureError, match="4294967295 bytes"):
        cutter.add(capture_in(tmp_path, TALK)[:24] + b"\xff" * 16)


def test_statistics_in_captures_say_what_was_dropped(tmp_path: Path) -> None:
    """They count from the beginning of the capture, for each interface; ones alone mean that nobody knows."""
    path = write_pcapng(tmp_path / "a.pcapng", packets(TALK))
    one = statistics("a/b", 7)
    first, unknown = (
        block(5, bytes(12) + ring._option(5, value), "<") for value in (bytes([3]) + bytes(7), b"\xff" * 8)
    )
    path.write_bytes(path.read_bytes() + first + first + unknown + one)
    found = [one for one in file_packets(str(path)) if isinstance(one, Broken)]
    assert [(broken.reason, broken.packets, broken.unread) for broken in found] == [(DROPPED, 10, 0)]


def test_statistics_have_the_time_in_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)
    told = statistics(LO, 3)
    at = told.rindex(struct.pack("<HHQ", 5, 8, 3))  # the option isb_ifdrop
    high, low = struct.unpack_from("<II", told, at - 8)
    assert high << 32 | low == 1_700_000_000_123_456


@pytest.mark.parametrize("name", ["-", "-z", "TCP@10.0.0.1", "/etc/passwd", "lo;id", "", "rpcap://10.0.0.1/lo"])
def test_only_names_of_interfaces_are_interfaces(name: str) -> None:
    names = [*(known for _, known in socket.if_nameindex()), "any"]
    with pytest.raises(OptionError) as told:
        check_interfaces([LO, name])
    assert str(told.value) == f"no interface {name}, expected one of {', '.join(names)}"


@pytest.mark.parametrize("program", ["/usr/bin/dumpcap", "/usr/bin/tcpdump"])
@pytest.mark.parametrize("text", ["-w /etc/passwd", "$(id)", "tcp; id"])
def test_a_filter_is_one_argument_and_no_option(program: str, text: str) -> None:
    made = command(program, LO, text, 200)
    assert made.count(text) == 1
    assert made[made.index(text) - 1] == ("-f" if program.endswith("dumpcap") else "--")
    assert text not in command(program, LO, "", 200)


def test_what_programs_are_told() -> None:
    assert command("/a/dumpcap", "x", "tcp", 200) == [
        *("/a/dumpcap", "-i", "x", "-s", "200", "-w", "-", "-q", "-P", "-B", "32", "-f", "tcp")
    ]
    assert command("/a/tcpdump", "x", "tcp", 200) == [
        *("/a/tcpdump", "-i", "x", "-s", "200", "-w", "-", "-n", "-U", "-B", "32768", "--", "tcp")
    ]


def test_a_filter_follows_from_ports() -> None:
    assert filter_for(frozenset({9092, 9093}), None) == "tcp port 9092 or tcp port 9093"
    assert filter_for(frozenset({9092}), " udp port 4789 ") == "udp port 4789"
    assert filter_for(frozenset(), None) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", interfaces.PROGRAMS)
def test_packets_arrive_while_the_program_runs_and_what_it_dropped_is_told(
    install: Install, files: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    told = {
        "dumpcap": ["Packets captured: 14", f"Packets received/dropped on interface '{LO}': 14/3 (pcap:3/0) (80%)"],
        "tcpdump": ["14 packets captured", "14 packets received by filter", "3 packets dropped by kernel"],
    }
    monkeypatch.setattr(interfaces, "ASKED_EVERY", 0.4)
    asked = "tcpdump: 9 packets captured, 9 packets received by filter, 2 packets dropped by kernel"
    folder = install(name, last=told[name], asked=asked)
    capture_in(folder, TALK)
    with InterfaceCapture([LO], files, pcap_filter="tcp", most=PLENTY) as capture:
        until(lambda: len([one for one in read(files) if not isinstance(one, Broken)]) == len(packets(TALK)))
        if name == "tcpdump":
            until(lambda: capture.dropped == 2)
        assert capture.problem == ""
    assert capture.dropped == 3
    assert capture.problem == "", "it was stopped"
    found = read(files)
    assert sum(one.packets for one in found if isinstance(one, Broken)) == 3
    assert len([one for one in found if not isinstance(one, Broken)]) == len(packets(TALK))


def test_an_interrupt_of_the_terminal_is_for_this_process_alone(install: Install, files: Path) -> None:
    """A program that had it too would end before it was stopped, and take packets with it."""
    capture_in(install(), TALK)
    with InterfaceCapture([LO, interfaces.ANY], files, most=PLENTY) as capture:
        groups = {os.getpgid(one._process.pid) for one in capture._captures if one._process}
        assert len(groups) == 2
        assert os.getpgrp() not in groups
        assert os.getsid(0) not in {os.getsid(group) for group in groups}, "it has no terminal"


def test_what_several_interfaces_dropped_is_added_up(install: Install, files: Path) -> None:
    install("tcpdump")
    capture = InterfaceCapture([LO, interfaces.ANY, LO], files, most=PLENTY)
    for number, one in enumerate(capture._captures, 1):
        one._cutter.dropped_by_kernel(number)
    assert capture.dropped == 1 + 2


REFUSALS = {
    "no right": (
        ["dumpcap: You do not have permission to capture on device."],
        "is not permitted to capture on {}: You do not have permission to capture on device.\n"
        "Grant the permission to this program only: sudo setcap cap_net_raw=ep {}/dumpcap",
    ),
    "no filter": (['dumpcap: Invalid capture filter "x".'], 'cannot capture on {}: Invalid capture filter "x".'),
    "anything": (["Packets: 1 \rdumpcap: The moon is full.", "Really."], "cannot capture on {}: The moon is full."),
    "nothing": (["Packets: 1 \rPackets: 2"], "cannot capture on {}: it did not start within 20 seconds"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_program_that_does_not_capture_says_why(install: Install, files: Path, name: str) -> None:
    said, expected = REFUSALS[name]
    folder = install(first=["Capturing on 'x'", *said], stays=False, code=1)
    kind = OptionError if "filter" in name else CaptureError
    with pytest.raises(kind) as told, InterfaceCapture([LO], files, most=PLENTY):
        pass
    assert (type(told.value), str(told.value)) == (kind, f"dumpcap {expected.format(LO, folder)}")


def test_no_program_goes_on_if_one_does_not_begin(
    install: Install, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.setattr(interfaces, "STARTING", 0.1)
    capture = InterfaceCapture([LO, interfaces.ANY], files, most=PLENTY)
    with pytest.raises(CaptureError, match=r": it did not start within 0\.1 seconds$"), capture:
        pass
    assert all(one._process is not None and one._process.poll() is not None for one in capture._captures)


def test_a_program_that_dies_says_why(install: Install, files: Path) -> None:
    folder = install(last=["dumpcap: The network adapter is no longer running"], stays=False, code=2)
    capture_in(folder, TALK)
    with InterfaceCapture([LO], files, most=PLENTY) as capture:
        until(lambda: capture.problem)
        told = f"dumpcap on {LO} ended with exit code 2: The network adapter is no longer running"
        assert capture.problem == told


def test_files_that_cannot_be_written_end_the_capture(
    install: Install, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_in(install(), TALK)
    full = property(lambda self: exec("raise OSError(28, 'No space left on device')"))
    monkeypatch.setattr(Ring, "has_room", full)
    with InterfaceCapture([LO], files, most=PLENTY) as capture:
        until(lambda: capture.problem)
    assert capture.problem == f"cannot continue the capture on {LO}: [Errno 28] No space left on device"


def test_the_end_of_a_file_that_cannot_be_written_is_told(
    install: Install, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture_in(install(), TALK)
    with InterfaceCapture([LO], files, most=PLENTY) as capture:
        monkeypatch.setattr(Cutter, "close", lambda self: exec("raise OSError(28, 'No space left on device')"))
    assert capture.problem == f"cannot continue the capture on {LO}: [Errno 28] No space left on device"


def test_a_program_that_cannot_be_run(install: Install, files: Path) -> None:
    """The other interface has none yet that would have to be stopped."""
    path = install() / "dumpcap"
    path.write_text("#!/none\n")
    told = f"{path} cannot be run: No such file or directory"
    with pytest.raises(CaptureError, match=f"^{re.escape(told)}$"), InterfaceCapture([LO, "any"], files, most=PLENTY):
        pass


def test_a_program_that_does_not_end_is_killed(
    install: Install, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install()
    (folder / "dumpcap").write_text(
        (folder / "dumpcap").read_text().replace("SIGTERM, end", "SIGTERM, signal.SIG_IGN")
    )
    capture_in(folder, TALK)
    monkeypatch.setattr(interfaces, "STOPPING", 0.1)
    with InterfaceCapture([LO], files, most=PLENTY) as capture:
        process = capture._captures[0]._process
    assert process is not None
    assert process.wait(60) == -signal.SIGKILL


def test_nothing_is_installed(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    monkeypatch.setenv("PATH", str(files))
    with pytest.raises(CaptureError, match="neither dumpcap nor tcpdump is installed"):
        InterfaceCapture([LO], files, most=PLENTY)


@pytest.mark.parametrize(
    ("names", "own"), [(["lo"], "lo"), (["lo0"], "lo0"), (["any"], "any"), (["en0", "any"], "any")]
)
def test_what_spark_sends_itself_is_not_captured_unasked(names: list[str], own: str) -> None:
    """It would grow by what it captures."""
    with pytest.raises(OptionError, match=f"Spark's own traffic is on {own}: specify the broker ports"):
        InterfacesInput(names, "", 100, PLENTY)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--interface", "none"], "no interface none"),
        (["--interface", LO], "Spark's own traffic is on"),
        (["--interface", LO, "--ports", "9092", "--once"], "--once cannot be used with --interface"),
        (["--interface", LO, "--ports", "9092", "--master", "spark://a:1"], "omit --master"),
        (["--interface", LO, "--ports", "9092", "--for", "soon"], "must be a duration, such as 90s"),
        (["--interface", LO, "--ports", "9092", "--disk", "much"], "must be a size"),
        ([".", "--interface", LO], "specify exactly one of"),
        ([], "specify exactly one of"),
    ],
)
def test_wrong_usage(install: Install, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    install()
    assert run(["watch", *arguments]) == 2
    assert told in capsys.readouterr().err
