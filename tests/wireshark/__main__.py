"""``make dissector-check``: compares the dissector with kwire on all recorded traffic, and measures it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from kwire_kafka import PROTOCOL
from tests.support.capture_files import write_pcap
from tests.wireshark import recorded
from tests.wireshark.comparison import Outcome, compare, whole_requests
from tests.wireshark.dissection import script
from tests.wireshark.oracle import frames_of

NEWEST = recorded.DATA / "traffic" / "4.4.0" / "traffic.pcap.gz"
CLIENTS = ("java-share", "1")
"""Programs of 4.4.0 in that capture: a client, and the broker itself."""


def main(lua: Path) -> int:
    total = Outcome()
    with TemporaryDirectory() as folder:
        for name, capture in recorded.all_captures(Path(folder)):
            outcome = compare(capture, lua, PROTOCOL)
            print(f"{name:50} {outcome.frames:6} frames, {len(outcome.differences)} differ", flush=True)
            total += outcome
        print(f"{total.frames} frames with {total.fields} fields, {total.errors} of them broken")
        print("\n".join(total.differences[:20]))
        _whole(lua, Path(folder))
        _speed(lua, Path(folder))
    return bool(total.differences)


def _whole(lua: Path, folder: Path) -> None:
    _, ports = frames_of(NEWEST, PROTOCOL)
    newest = recorded.conversations(folder / "newest.pcap", recorded.newest_requests())
    for what, capture, clients in (("recorded of 4.4.0", NEWEST, CLIENTS), ("newest of each API", newest, ["me"])):
        for name, options in (("kwire", script(lua, "kwire", {*ports, 9092})), ("kafka", _own({*ports, 9092}))):
            whole, count = whole_requests(capture, options, name, clients)
            print(f"requests {what}: {name} reads {whole} of {count} to the last byte")


def _own(ports: set[int]) -> list[str]:
    """Return the options for Wireshark's own dissector."""
    return [option for port in sorted(ports) for option in ("-d", f"tcp.port=={port},kafka")]


def _speed(lua: Path, folder: Path) -> None:
    empty = write_pcap(folder / "empty.pcap", [])
    load = ["-X", f"lua_script:{lua}"]
    print(f"{lua.stat().st_size} bytes, loaded in {_seconds(empty, load) - _seconds(empty, []):.3f} s of CPU")
    captures = [(path, *frames_of(path, PROTOCOL)) for path in recorded.CAPTURES]
    count = sum(len(side) for _, found, _ in captures for side in found.values())
    for printing in ([], ["-V"]):
        for name in ("kwire", "kafka", "TCP alone"):
            seconds = 0.0
            for path, _, ports in captures:
                options = {"kwire": script(lua, "kwire", ports), "kafka": _own(ports)}
                options["TCP alone"] = ["--disable-protocol", "kafka"]
                seconds += _seconds(path, [*options[name], *printing]) - _seconds(empty, options[name])
            print(f"{name} {' '.join(printing)}: {1e6 * seconds / count:.0f} microseconds a frame, of {count} frames")


def _seconds(capture: Path, options: list[str]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(3):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(["tshark", *options, "-r", capture], check=True, capture_output=True)
        after = getrusage(RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
