"""Kafka's own jars, with all they need, fetched by Maven coordinates into ``build/jars/RELEASE``.

A release may lack modules: 4.4.0 came without kafka-streams and kafka-tools-api. Then its folder has the others.
``python -m tests.real_kafka.jars 4.1.1`` fetches a release by hand. It takes a java and ``mvn`` on the path.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from tests.real_kafka.releases import BROKERS
from tools.maven import MavenError, mvn, unpublished

JARS = Path(__file__).resolve().parents[2] / "build" / "jars"
ARTIFACTS = ("kafka_2.13", "kafka-streams")
"""The broker brings clients, coordinators, metadata, raft, storage and server-common."""
TOOLS = ("kafka_2.13", "kafka-tools")
"""The console tools: in the broker's jar at first, class by class moved to their own since 3.3."""

SIMPLE = ("org.slf4j", "slf4j-simple", "1.7.36")
LOG4J1 = ("org.slf4j", "slf4j-reload4j", "1.7.36")
LOG4J2 = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")
"""What a broker logs through: standard error, or what its release comes with, 4.0 and later with LOG4J2."""

EXTRA = {
    "2.2.2": (("org.apache.zookeeper", "zookeeper", "3.5.9"),),
    "0.11.0.3": (("javax.xml.bind", "jaxb-api", "2.3.1"),),
}
"""What old releases need on a Java of today: a ZooKeeper that resolves addresses, and what Java itself once had."""

DEPENDENCIES = """\
<dependencies>
{}
  </dependencies>"""
DEPENDENCY = """\
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><exclusions>{}</exclusions>
    </dependency>"""
EXCLUSION = "<exclusion><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId></exclusion>"


def fetch(release: str, logging: tuple[str, str, str] = SIMPLE, artifacts: tuple[str, ...] = ARTIFACTS) -> Path:
    """The folder with the jars of a Kafka release and all they depend on; fetched unless it is there already."""
    parts = [release, *([] if logging == SIMPLE else [logging[1]]), *([] if artifacts == ARTIFACTS else artifacts)]
    folder = JARS / "-".join(parts)
    wanted = _dependencies(release, logging, artifacts)
    fetched_for = folder / "dependencies.xml"
    if fetched_for.is_file() and fetched_for.read_text() == wanted:
        return folder
    JARS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=JARS) as scratch:
        fresh = Path(scratch).resolve() / "fresh"
        try:
            _copy(wanted, fresh)
        except MavenError as failed:
            missing = frozenset(module.name for module in unpublished(str(failed)) if module.release == release)
            if not missing or artifacts[0] in missing:
                raise
            _copy(_dependencies(release, logging, artifacts, missing), fresh)
        (fresh / "dependencies.xml").write_text(wanted)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)  # all or nothing: a folder that exists is complete
    return folder


def classpath(release: str, logging: tuple[str, str, str] = SIMPLE, artifacts: tuple[str, ...] = ARTIFACTS) -> str:
    """What ``java -cp`` wants in order to see all jars of a release."""
    return str(fetch(release, logging, artifacts) / "*")


def _dependencies(
    release: str, logging: tuple[str, str, str], artifacts: tuple[str, ...], missing: frozenset[str] = frozenset()
) -> str:
    there = (("org.apache.kafka", artifact, release) for artifact in artifacts if artifact not in missing)
    exclusions = "".join(map(EXCLUSION.format, sorted(missing)))
    wanted = [
        DEPENDENCY.format(*coordinates, exclusions) for coordinates in (*there, logging, *EXTRA.get(release, ()))
    ]
    return DEPENDENCIES.format("\n".join(wanted))


def _copy(dependencies: str, target: Path) -> None:
    mvn(dependencies, "dependency:copy-dependencies", f"-DoutputDirectory={target}")


if __name__ == "__main__":
    for wanted_release in sys.argv[1:] or BROKERS:
        print(fetch(wanted_release))
