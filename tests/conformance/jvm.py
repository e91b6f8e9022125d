"""The Java side: Kafka's own generated classes of one release, asked over a pipe, a line at a time."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from tests.real_kafka.jars import classpath, fetch
from tools.classes import packages, qualified, relocated

SOURCES = Path(__file__).with_name("java")
BUILD = Path(__file__).resolve().parents[2] / "build" / "conformance"


class Refused(Exception):
    """Java threw: ``stage`` is make, read, write, json or other; ``reason`` is what it said."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"Java cannot {stage}: {reason}")
        self.stage = stage
        self.reason = reason


@dataclass(frozen=True)
class Written:
    """What Java wrote, Kafka's JSON form of the value, and how many bytes it had not read."""

    data: bytes
    json: str
    rest: int = 0


class Jvm:
    """A running ``java/Conformance.java`` on the jars of a release. Use it in a ``with`` statement."""

    def __init__(self, release: str) -> None:
        self.release = release
        path = f"{_compiled(release)}:{classpath(release)}"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"]
        self._process = subprocess.Popen(
            [_tool("java"), *options, "-cp", path, "Conformance"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Jvm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.communicate()  # the end of its input is the end of it

    def classes(self) -> dict[str, range]:
        """The generated classes, with the versions that each supports."""
        found = {}
        for line in self._ask("list"):
            name, lowest, highest = line.split(" ")
            found[name] = range(int(lowest), int(highest) + 1)
        return found

    def headers(self) -> list[tuple[int, int, int, int]]:
        """Api key, version, and the versions of the headers of request and response."""
        rows = (tuple(map(int, line.split(" "))) for line in self._ask("headers"))
        return [(key, version, request, response) for key, version, request, response in rows]

    def errors(self) -> list[tuple[int, str, bool]]:
        """Error code, name, and whether it is worth to try again."""
        rows = (line.split(" ") for line in self._ask("errors"))
        return [(int(code), name, retriable == "true") for code, name, retriable in rows]

    def numbers(self, module: str, name: str) -> dict[int, str]:
        """The constants of an enum of a module, such as ``clients``, by their numbers."""
        found = packages(fetch(self.release) / f"kafka-{module}-{self.release}.jar")
        rows = (line.split(" ") for line in self._ask("numbers", qualified(found, name)))
        return {int(number): constant for number, constant in rows}

    def make(self, name: str, version: int, shape: str, seed: int) -> Written:
        """An instance that Java makes: ``shape`` is default, full, null, tags or random."""
        data, json = self._ask("make", name, version, shape, seed)
        return Written(bytes.fromhex(data), json)

    def read(self, name: str, version: int, data: bytes, write: int | None = None) -> Written:
        """What Java makes of ``data``, written again in ``write`` or the same version."""
        written, json, rest = self._ask("read", name, version, data.hex(), version if write is None else write)
        return Written(bytes.fromhex(written), json, int(rest))

    def kinds(self) -> frozenset[str]:
        """The kinds of record batches that the release knows."""
        return frozenset(self._ask("kinds"))

    def build(self, magic: int, codec: str, kind: str, seed: int) -> Written:
        """Record batches that Java builds, and what it reads in them."""
        data, json = self._ask("build", magic, codec, kind, seed)
        return Written(bytes.fromhex(data), json)

    def records(self, data: bytes) -> str:
        """What Java reads in record batches, as JSON."""
        (json,) = self._ask("records", data.hex())
        return json

    def _ask(self, *words: object) -> list[str]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().decode()
        if not line.endswith("\n"):
            raise RuntimeError(f"the JVM ended after {' '.join(map(str, words))[:200]}")
        verdict, *answer = line[:-1].split("\t")
        if verdict != "ok":
            raise Refused(*answer)
        return answer


def _compiled(release: str) -> Path:
    """The folder of our classes, compiled against the jars of ``release``."""
    folder = BUILD / release
    written = {source.name: source.read_text() for source in sorted(SOURCES.glob("*.java"))}
    sources = folder / "sources"
    stamp = folder / ".compiled"
    digest = sha256("".join(written.values()).encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        sources.mkdir(parents=True)
        found = packages(fetch(release) / f"kafka-clients-{release}.jar")
        for name, text in written.items():
            (sources / name).write_text(relocated(text, found))
        options = ["-Xlint:all,-classfile,-processing", "-Werror", "-d", str(folder), "-cp", classpath(release)]
        subprocess.run([_tool("javac"), *options, *map(str, sorted(sources.iterdir()))], check=True)
        stamp.write_text(digest)
    return folder


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"conformance needs {name} (a JDK of version 17 or newer) on the path")
    return found
