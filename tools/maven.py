"""Fetches the list of Kafka's releases and the jars of selected releases, without dependencies, from Maven.

Java and ``mvn`` must be on the path. The modules of a release are the dependencies in the POM of its broker. Modules
that were not published are not an error. :class:`Jars` lists them.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.merge.history import release_key
from kwirec.versions import RELEASE
from tools import ROOT

CACHE = ROOT / "build" / "releases"
DIGESTS = ROOT / "tests" / "data" / "kafka_jars.sha256"
"""File with the digests of jars, in the format of ``sha256sum``. A jar with a recorded digest must not change."""
FIRST = "2.2.0"
"""The first release with definitions of all APIs."""
SCALA_213 = (2, 4)
"""The first release line whose broker is named after Scala 2.13. Earlier brokers are named after Scala 2.12."""

KAFKA = "org.apache.kafka"
BESIDE_THE_BROKER = ("kafka-streams",)
"""Modules with definitions that are not dependencies of the broker."""
LOGGING = ("org.slf4j", "slf4j-api", "1.7.36")
"""The logging library that Kafka's classes need when they are loaded."""
MISSING = "missing.txt"
_JAR = re.compile(rf"{re.escape(KAFKA)}:([\w.-]+):jar:([\w.]+)(?=[,: ])")

QUICK = {"MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""JVM options for Maven, which runs too briefly for optimized compilation to pay off."""

PROJECT = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>kwire</groupId>
  <artifactId>releases</artifactId>
  <version>1</version>
  {}
</project>
"""
DEPENDENCY = """\
<dependencies><dependency>
    <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
    <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
  </dependency></dependencies>"""
COPY = """\
<build><plugins><plugin>
    <artifactId>maven-dependency-plugin</artifactId>
    <configuration><artifactItems>
{}
    </artifactItems></configuration>
  </plugin></plugins></build>"""
ITEM = """\
      <artifactItem>
        <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><type>{}</type>
        <outputDirectory>{}</outputDirectory>
      </artifactItem>"""


class MavenError(Exception):
    """Maven failed. The message of the error is Maven's output."""


@dataclass(frozen=True)
class Module:
    """A Kafka module in a release."""

    name: str
    release: str


@dataclass(frozen=True)
class Jars:
    """The jars of a release, by module, such as ``clients`` or ``core`` (the broker).

    ``missing`` lists the modules that are not on Maven.
    """

    release: str
    folder: Path
    modules: dict[str, Path]
    logging: Path
    missing: tuple[str, ...]


def releases() -> list[str]:
    """Return the final releases on Maven since 2.2.0, oldest first."""
    pom = DEPENDENCY.format(KAFKA, "kafka-clients", f"[{FIRST},)")
    mvn(pom, "dependency:tree", "--update-snapshots")  # downloads the list of all releases
    repository = mvn(pom, "help:evaluate", "-Dexpression=settings.localRepository", "-DforceStdout").strip()
    lists = Path(repository, *KAFKA.split("."), "kafka-clients").glob("maven-metadata-*.xml")
    versions = {node.text or "" for file in lists for node in ET.parse(file).iter("version")}
    final = (version for version in versions if RELEASE.fullmatch(version))
    return sorted((one for one in final if release_key(one) >= release_key(FIRST)), key=release_key)


def bring(wanted: Sequence[str]) -> list[Jars]:
    """Return the jars of these releases. If they are not cached, fetch them in two runs of Maven."""
    if absent := [release for release in wanted if not (CACHE / release).is_dir()]:
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            fresh = Path(scratch).resolve()
            brokers = [Module(_broker(release), release) for release in absent]
            mvn(_copying(brokers, "pom", fresh), "dependency:copy")
            modules = [module for broker in brokers for module in _modules(broker, fresh)]
            missing = _copy(modules, fresh)
            check_digests(fresh)
            for release in absent:
                names = [module.name for module in missing if module.release == release]
                (fresh / release / MISSING).write_text("".join(f"{name}\n" for name in names))
                (fresh / release).rename(CACHE / release)  # atomic, so that every folder in the cache is complete
    return [_jars(release) for release in wanted]


def clients(versions: Sequence[str], folder: Path) -> dict[str, Jars]:
    """Copy the client jars of these versions from Maven into ``folder`` in one run, and return them by version."""
    copy([Module("kafka-clients", version) for version in versions], folder)
    check_digests(folder)
    found = {}
    for version in versions:
        there = folder / version
        jars = {"clients": there / f"kafka-clients-{version}.jar"}
        found[version] = Jars(version, there, jars, there / f"slf4j-api-{LOGGING[2]}.jar", ())
    return found


def copy(modules: Sequence[Module], folder: Path) -> None:
    """Copy the jars of these modules into ``folder``, with a subfolder per release."""
    mvn(_copying(modules, "jar", folder), "dependency:copy")


def check_digests(folder: Path) -> None:
    """Record the digests of new jars. Raise :class:`MavenError` if the digest of a known jar has changed."""
    lines = DIGESTS.read_text().splitlines() if DIGESTS.exists() else []
    known = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted(folder.rglob("*.jar"))}
    for name, digest in found.items():
        if known.setdefault(name, digest) != digest:
            raise MavenError(
                f"{name} differs from the jar that was used before, according to its digest in {DIGESTS.name}"
            )
    DIGESTS.write_text("".join(f"{known[name]}  {name}\n" for name in sorted(known)))


def _jars(release: str) -> Jars:
    folder = CACHE / release
    [logging] = folder.glob("slf4j-api-*.jar")
    jars = {_module(path.name, release): path for path in sorted(folder.glob(f"*-{release}.jar"))}
    return Jars(release, folder, jars, logging, tuple((folder / MISSING).read_text().split()))


def _module(jar: str, release: str) -> str:
    name = jar.removesuffix(f"-{release}.jar")
    return "core" if name.startswith("kafka_") else name.removeprefix("kafka-")


def _broker(release: str) -> str:
    return "kafka_2.13" if release_key(release)[:2] >= SCALA_213 else "kafka_2.12"


def _modules(broker: Module, folder: Path) -> Iterator[Module]:
    """Yield the broker, the Kafka modules in its POM in ``folder``, and :data:`BESIDE_THE_BROKER`."""
    names = [broker.name]
    pom = ET.parse(folder / broker.release / f"{broker.name}-{broker.release}.pom")
    for node in pom.iterfind("{*}dependencies/{*}dependency"):
        group, name, scope = (node.findtext(f"{{*}}{part}", "") for part in ("groupId", "artifactId", "scope"))
        if group == KAFKA and scope != "test":
            names.append(name)
    return (Module(name, broker.release) for name in dict.fromkeys([*names, *BESIDE_THE_BROKER]))


def _copy(modules: Sequence[Module], folder: Path) -> list[Module]:
    """Copy the jars from Maven into ``folder``, with a subfolder per release, and return the unpublished modules."""
    missing: list[Module] = []
    while True:
        left = [module for module in modules if module not in missing]
        try:
            mvn(_copying(left, "jar", folder), "dependency:copy", "--update-snapshots")
            return missing
        except MavenError as problem:
            if not (named := unpublished(str(problem)).intersection(left)):
                raise
            missing += (module for module in left if module in named)


def _copying(modules: Iterable[Module], kind: str, folder: Path) -> str:
    """Return the part of a POM that copies these modules, and the logging library if ``kind`` is ``jar``."""
    items = [ITEM.format(KAFKA, one.name, one.release, kind, folder / one.release) for one in modules]
    if kind == "jar":
        items += [
            ITEM.format(*LOGGING, kind, folder / release) for release in dict.fromkeys(m.release for m in modules)
        ]
    return COPY.format("\n".join(items))


def unpublished(said: str) -> frozenset[Module]:
    """Return the Kafka modules that Maven reports as missing. Exclude modules whose download failed."""
    if "Could not find artifact" not in said and "was not found in" not in said:
        return frozenset()
    return frozenset(Module(*found) for found in _JAR.findall(said))


def mvn(part: str, goal: str, *options: str) -> str:
    """Return Maven's output for a project with this part of a POM. Raise :class:`MavenError` if Maven fails."""
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(PROJECT.format(part))
        command = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", goal, *options]
        try:
            done = subprocess.run(
                command,
                cwd=project,
                env=QUICK | os.environ,
                capture_output=True,
                text=True,
                timeout=1800,
                check=False,
            )
        except FileNotFoundError:
            raise MavenError("mvn (Maven) and java must be on the path") from None
    if done.returncode:
        raise MavenError(_plain(done.stdout + done.stderr))
    return _plain(done.stdout)


def _plain(text: str) -> str:
    """Return ``text`` without the colour codes that some Maven versions print even to a pipe."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)
