"""Recorded connections played over loopback, captured by the real programs: needs the right to capture."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from kwire.connection import CLIENT
from kwire_inspect.capture import Broken
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.live import interfaces
from kwire_inspect.live.interfaces import CaptureError, InterfaceCapture
from tests.e2e_live.commands import LONGEST, command, requests, run
from tests.real_kafka.broker import HOST, end, free_ports
from tests.support.capture_files import Conversation, merged, packets, recorded, write_pcap

RECORDING = "kafka-python-as-of-0.10-on-3.9.1"
PLENTY = 1 << 30


def play(talk: Conversation, port: int) -> None:
    """Say what was said, between two sockets."""
    with (
        socket.create_server((HOST, port)) as listener,
        socket.create_connection((HOST, port)) as client,
        listener.accept()[0] as server,
    ):
        for direction, _, data in talk.segments:
            sender, receiver = (client, server) if direction == CLIENT else (server, client)
            thread = threading.Thread(target=sender.sendall, args=(data,))
            thread.start()
            heard = 0
            while heard < len(data):
                heard += len(receiver.recv(1 << 20))
            thread.join()
        client.shutdown(socket.SHUT_WR)
        server.recv(1)


def said(folder: Path) -> Counter[bytes]:
    """What the packets in the files of a folder carry."""
    found = [one for path in sorted(folder.iterdir()) for one in file_packets(str(path))]
    return Counter(one.data for one in found if not isinstance(one, Broken) and one.data)


@pytest.mark.parametrize("program", interfaces.PROGRAMS)
@pytest.mark.parametrize("names", [["lo"], ["any"]])
def test_each_program_captures_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, names: list[str]
) -> None:
    monkeypatch.setattr(interfaces, "PROGRAMS", (program,))
    (port,) = free_ports(1)
    with InterfaceCapture(names, tmp_path, pcap_filter=f"tcp port {port}", most=PLENTY) as capture:
        for talk in recorded(RECORDING):
            play(talk, port)
        time.sleep(1.5)
    assert (capture.problem, capture.dropped) == ("", 0)
    heard = b"".join(said(tmp_path))
    assert all(data[:40] in heard for talk in recorded(RECORDING) for _, _, data in talk.segments)


@pytest.mark.parametrize("program", interfaces.PROGRAMS)
def test_a_program_that_is_killed_is_missed_and_one_without_rights_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(interfaces, "PROGRAMS", (program,))
    with InterfaceCapture(["lo"], tmp_path, pcap_filter="tcp port 1", most=PLENTY) as capture:
        process = capture._captures[0]._process
        assert process is not None
        process.kill()
        process.wait()
        assert f"{program} on lo ended with exit code -9" in capture.problem
    if os.geteuid() == 0 and shutil.which("setpriv"):
        found = shutil.which(program)
        unable = ["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", str(found)]
        monkeypatch.setattr(interfaces, "command", lambda *given: [*unable, *made(*given)[1:]])
        with (
            pytest.raises(CaptureError, match="sudo setcap cap_net_raw=ep"),
            InterfaceCapture(["lo"], tmp_path, most=1),
        ):
            pass


made = interfaces.command


@pytest.mark.parametrize("ending", ["for", "signal"])
def test_watch_counts_what_is_said_on_interfaces_once(tmp_path: Path, ending: str) -> None:
    """On two interfaces that see the same packets, which are read although they come just before the end."""
    told = heard(tmp_path, ending)
    assert told.count("refused by 4.4.0 ") == 1, told
    assert requests(tmp_path / "out") == in_a_file(tmp_path)
    assert "packets on lo, any" in (tmp_path / "out" / "readiness.html").read_text()
    assert 'kwire_clients{target="4.4.0",verdict="refused"} 1\n' in (tmp_path / "out" / "kwire.prom").read_text()


def test_watch_of_interfaces_goes_on_when_it_is_started_again(tmp_path: Path) -> None:
    """With the same DIR: what was counted stays, and what is said now is added to it."""
    whole = in_a_file(tmp_path)
    for times, ending in enumerate(("signal", "for"), 1):
        told = heard(tmp_path, ending)
        assert requests(tmp_path / "out") == Counter({key: times * count for key, count in whole.items()}), told


def heard(folder: Path, ending: str) -> str:
    """What ``watch`` with the DIR ``out`` prints while the recording is played."""
    (port,) = free_ports(1)
    out = folder / "out"
    chosen = ["--interface", "lo", "--interface", "any", "--ports", str(port), "--target", "4.4.0", "--out", str(out)]
    chosen += ["--for", "20s"] if ending == "for" else []
    with (folder / "said").open("wb") as output:
        process = subprocess.Popen(command("watch", *chosen), stdout=output, stderr=output)
        try:
            wait_for_capture(process.pid, 2)
            for talk in recorded(RECORDING):
                play(talk, port)
            if ending == "signal":
                while not (out / "_clients.checkpoint" / "offsets").exists():
                    assert process.poll() is None
                    time.sleep(0.2)
                process.send_signal(signal.SIGINT)
            assert process.wait(LONGEST) == 0, (folder / "said").read_text()
        finally:
            end(process)
    assert not children(process.pid)
    return (folder / "said").read_text()


def in_a_file(folder: Path) -> Counter[tuple[object, ...]]:
    """The requests of the recording."""
    path = write_pcap(folder / "whole.pcap", merged(packets(one) for one in recorded(RECORDING)))
    run("clients", str(path), "--engine", "local", "--out", str(folder / "whole"))
    return requests(folder / "whole")


def wait_for_capture(pid: int, programs: int) -> None:
    """Until so many programs that the process started capture."""
    deadline = time.monotonic() + LONGEST
    while sum("dumpcap" in name or "tcpdump" in name for name in children(pid)) < programs:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(2)


def children(pid: int) -> list[str]:
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "comm="], capture_output=True, text=True, check=False)
    return found.stdout.split()
