"""What a dissector in ``tshark`` reads in the frames of a capture, in the form of ``oracle``."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element, XMLPullParser

from tests.wireshark.oracle import HIDDEN, SHOWN, Frame, Side, printable

_MESSAGE = re.compile(r"\w+ v\d+")
_TAG = re.compile(r"tag: \d+(, unknown)?, (\d+) bytes?")
_UNREADABLE = "cannot decompress zstd"
_GENERATED = ("request_in", "response_in", "time", "api_key", "api_version")


def script(lua: Path, name: str, ports: Iterable[int], *, secrets: bool = False) -> list[str]:
    """Return the options for a dissector and the ports of servers."""
    listed = ",".join(map(str, sorted(ports)))
    return ["-X", f"lua_script:{lua}", "-o", f"{name}.ports:{listed}", "-o", f"{name}.secrets:{secrets}".lower()]


def dissected(path: Path, options: list[str], name: str) -> dict[Side, list[Frame]]:
    """Return the frames that the protocol ``name`` has in a capture, by their side of a connection."""
    found: dict[Side, list[Frame]] = defaultdict(list)
    for packet in _packets(path, options, name):
        source, target = (int(_field(packet, f"tcp.{end}").get("show", "")) for end in ("srcport", "dstport"))
        found[source, target] += [_Walk(name, proto).frame for proto in _protos(packet, name)]
    return found


def trees(path: Path, options: list[str], name: str) -> Iterator[tuple[Element, bool]]:
    """Yield the tree of each frame of the protocol ``name``, and whether its packet has something malformed."""
    for packet in _packets(path, options, name):
        malformed = any(one.get("name") == "_ws.malformed" for one in packet.iter("proto"))
        for proto in _protos(packet, name):
            yield proto, malformed


def _packets(path: Path, options: list[str], name: str) -> Iterator[Element]:
    arguments = ["tshark", *options, "-r", str(path), "-T", "pdml", "-J", f"tcp {name}"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        parser: XMLPullParser[Element] = XMLPullParser()
        for line in process.stdout:  # in which tshark leaves characters that XML does not allow
            parser.feed(printable(line.decode("utf-8", "replace")))
            for _, element in cast("Iterable[tuple[str, Element]]", parser.read_events()):
                if element.tag == "packet":
                    yield element
                    element.clear()
        problems = process.stderr.read().decode()
    assert process.returncode == 0, problems
    assert "Lua" not in problems, problems


def _protos(packet: Element, name: str) -> list[Element]:
    return [proto for proto in packet.iterfind("proto") if proto.get("name") == name]


def _field(packet: Element, name: str) -> Element:
    return next(field for field in packet.iter("field") if field.get("name") == name)


def _end(field: Element) -> int:
    return int(field.get("pos", "")) + int(field.get("size", ""))


class _Walk:
    """One frame: its tree as lines."""

    def __init__(self, name: str, proto: Element) -> None:
        self.prefix = f"{name}."
        self.base = int(proto.get("pos", ""))
        self.frame = Frame([])
        self.within = 0
        self.old = False
        self.ends = True  # whether each element of an array ends with its last field
        for field in proto:
            self.field(field, "")
        assert self.ends or self.frame.error, proto.attrib

    def add(self, path: str, field: Element, value: str) -> None:
        at = -1 if self.within else int(field.get("pos", "")) - self.base
        self.frame.lines.append((path, at, value))

    def children(self, field: Element, path: str) -> None:
        for child in field.iterfind("field"):
            self.field(child, path)

    def field(self, field: Element, path: str) -> None:
        name = (field.get("name") or "").removeprefix(self.prefix)
        label, _, text = field.get("showname", field.get("show", "")).partition(":")
        label = "tagged fields" if label == "unknown_tag" else label
        text, place = text.strip(), f"{path}.{label.removesuffix(' [truncated]')}".lstrip(".")
        if name == "_ws.expert":
            if _UNREADABLE not in field.attrib["showname"]:
                self.frame.error = _field(field, "_ws.expert.message").get("show", "")
        elif name in _GENERATED and not path and field.get("size") == "0":
            return
        elif _MESSAGE.fullmatch(label) and not text:
            self.add(place, field, "")
            self.children(field, path)
        elif name == "tags":
            self.add(f"{path}.tagged fields".lstrip("."), field, field.get("show", ""))
            self.children(field, path)
        elif name == "tag":
            found = _TAG.fullmatch(f"{label}: {text}")
            assert found, field.attrib
            if not found[1]:
                self.add(f"{path}.tagged fields".lstrip("."), field, found[2])
        elif name == "unknown_tag":
            self.add(f"{path}.tagged fields".lstrip("."), field, field.get("value", ""))
        elif text.endswith("hidden>") or text == "[hidden]":
            self.add(place, field, HIDDEN)
        elif text.endswith(("element", "elements")) or (text == "null" and len(field)):
            self.array(field, place, text)
        elif name.startswith("_ws.lua"):
            if not label.endswith(("not read", "trailing byte", "trailing bytes")) and not (
                self.old and label == "key"
            ):
                known = {"present": ""} | ({text: HIDDEN} if text.endswith(("byte", "bytes")) else {})
                self.add(place, field, known.get(text, text))
            self.children(field, place)
        else:
            self.value(field, name, path, place)

    def array(self, field: Element, place: str, text: str) -> None:
        self.add(place, field, "null" if text == "null" else text.split()[0])
        for index, child in enumerate(field[1:]):
            label = child.get("showname", "").partition(":")[0]
            if label.startswith("["):
                self.ends &= _end(child) == max(map(_end, child), default=_end(child))
                self.add(f"{place}{label}", child, "")
                self.children(child, f"{place}{label}")
            else:
                self.scalar(child, f"{place}[{index}]")

    def value(self, field: Element, name: str, path: str, place: str) -> None:
        if name == "batch.compressed":
            if not self.old:
                self.add(place, field, field.get("value", ""))
            self.within += 1
            self.children(field, path)
            self.within -= 1
        elif name == "batch" and self.within:
            for child in field:
                if child.get("name") == f"{self.prefix}record":
                    self.field(child, path)
        elif name == "batch":
            self.add(place, field, "")
            self.old = "message v" in field.get("showname", "")
            before = len(self.frame.lines)
            self.children(field, place)
            if self.frame.error:  # the trace of such a batch has no records
                lines = self.frame.lines[before:]
                self.frame.lines[before:] = [line for line in lines if not line[0].startswith(f"{place}.record[")]
                self.frame.error = ""
        elif name == "record":
            self.record(field, place)
        elif len(field) and field.get("value"):
            self.scalar(field, place)
            self.children(field, place)  # of records
        elif not field.get("value") and field.get("show") == "":
            self.add(place, field, "")
            self.children(field, place)
        else:
            self.scalar(field, place)

    def scalar(self, field: Element, place: str, longest: int | None = None) -> None:
        show, value = field.get("show", ""), field.get("value", "")
        is_bytes = value and show.replace(":", "")[:40] == value[:40]
        self.add(place, field, (value if is_bytes else show)[:longest])

    def record(self, field: Element, place: str) -> None:
        self.add(place, field, "")
        before, self.within = self.within, 1
        for child in field:
            name = (child.get("name") or "").removeprefix(f"{self.prefix}record.")
            label, _, text = child.get("showname", "").partition(": ")
            if name.startswith("_ws.lua"):
                self.add(f"{place}.{label.replace(' ', '.')}", child, text)
            elif name != "headers" and (name != "timestamp" or text != "-1"):
                self.scalar(child, f"{place}.{name}", SHOWN // (10 if name == "header.value" else 1))
        self.within = before
