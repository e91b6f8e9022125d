"""Which releases Maven has, and the jars of one: with an ``mvn`` that answers from a folder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tools import maven
from tools.maven import MavenError, Module, bring, releases, unpublished

MVN = """#!{python}
import os, re, shutil, sys
from pathlib import Path
home = Path({home!r})
with open(home / "calls", "a") as calls: print(*sys.argv, os.environ["MAVEN_OPTS"], file=calls)
goal = next(one for one in sys.argv if ":" in one)
pom = Path("pom.xml").read_text()
with open(home / "asked", "a") as asked:
    named = [line.strip() for line in pom.splitlines() if "Id>" in line]
    print(" ".join(sys.argv[1:]), *named, "", sep="\\n", file=asked)
if goal == "help:evaluate":
    print("\\x1b[0m" + str(home / "repository"))
if (home / "offline").exists():
    sys.exit("Could not transfer artifact org.apache.kafka:kafka-clients:jar:9.1.0: \\x1b[1mno route")
parts = "groupId artifactId version type outputDirectory".split()
for item in re.findall("<artifactItem>(.*?)</artifactItem>", pom, re.DOTALL):
    group, name, version, kind, folder = (re.search(f"<{{part}}>(.*?)<", item)[1] for part in parts)
    file = home / f"{{name}}-{{version}}.{{kind}}"
    if not file.exists():
        print(f"Could not find artifact {{group}}:{{name}}:{{kind}}:{{version}} in central")
        sys.exit("the build failed")
    Path(folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(file, folder)
"""
LISTED = ("2.1.1", "2.2.0", "10.0.0", "9.1.0", "9.1.0-rc1", "2.2.0.Final")
DEPENDENCIES = (
    ("org.apache.kafka", "kafka-clients", "compile"),
    ("org.apache.kafka", "kafka-tools-api", "runtime"),
    ("org.apache.kafka", "kafka-test-kit", "test"),
    ("org.example", "kafka-else", "compile"),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that ``mvn`` answers from."""
    home = tmp_path / "home"
    metadata = home / "repository" / "org" / "apache" / "kafka" / "kafka-clients" / "maven-metadata-central.xml"
    metadata.parent.mkdir(parents=True)
    versions = "".join(f"<version>{one}</version>" for one in LISTED)
    metadata.write_text(f"<metadata><versioning><versions>{versions}</versions></versioning></metadata>")
    for name in ("kafka-clients-9.1.0", "kafka_2.13-9.1.0", "slf4j-api-1.7.36"):
        (home / f"{name}.jar").write_text(name)
    tags = ("groupId", "artifactId", "scope")
    inner = ("".join(f"<{tag}>{value}</{tag}>" for tag, value in zip(tags, one, strict=True)) for one in DEPENDENCIES)
    whole = "".join(f"<dependency>{one}</dependency>" for one in inner)
    pom = f'<project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies>{whole}</dependencies></project>'
    (home / "kafka_2.13-9.1.0.pom").write_text(pom)
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MVN.format(python=sys.executable, home=str(home)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(maven, "DIGESTS", tmp_path / "digests")
    return home


def test_only_final_releases_with_definitions_count(home: Path) -> None:
    assert releases() == ["2.2.0", "9.1.0", "10.0.0"]


def test_the_modules_of_a_release_are_those_of_its_broker(home: Path) -> None:
    (jars,) = bring(["9.1.0"])
    assert {module: path.read_text() for module, path in jars.modules.items()} == {
        "clients": "kafka-clients-9.1.0",
        "core": "kafka_2.13-9.1.0",
    }
    assert jars.logging.read_text() == "slf4j-api-1.7.36"
    assert jars.missing == ("kafka-tools-api", "kafka-streams")


def test_what_was_brought_is_not_brought_again(home: Path) -> None:
    first = bring(["9.1.0"])
    calls = (home / "calls").read_text()
    assert bring(["9.1.0"]) == first
    assert (home / "calls").read_text() == calls


@pytest.mark.slow
def test_a_jar_must_be_what_it_was_at_first_use(home: Path, tmp_path: Path) -> None:
    """Its classes are run: a registry, or what is between, must not give another one later."""
    bring(["9.1.0"])
    recorded = maven.DIGESTS.read_text()
    names = ["kafka-clients-9.1.0.jar", "kafka_2.13-9.1.0.jar", "slf4j-api-1.7.36.jar"]
    assert [line.split("  ")[1] for line in recorded.splitlines()] == names
    shutil.rmtree(maven.CACHE)
    bring(["9.1.0"])
    shutil.rmtree(maven.CACHE)
    (home / "kafka-clients-9.1.0.jar").write_text("another")
    with pytest.raises(MavenError, match=r"kafka-clients-9\.1\.0\.jar differs from the jar that was used before"):
        bring(["9.1.0"])
    assert list(maven.CACHE.iterdir()) == []
    with pytest.raises(MavenError, match="differs from the jar that was used before"):
        maven.clients(["9.1.0"], tmp_path / "clients")
    assert maven.DIGESTS.read_text() == recorded


def test_the_clients_of_several_releases_are_copied_at_once(home: Path, tmp_path: Path) -> None:
    for name in ("kafka-clients-9.0.0", "kafka-else-9.0.0"):
        (home / f"{name}.jar").write_text(name)
    folder = tmp_path / "clients"
    assert maven.clients(["9.1.0", "9.0.0"], folder) == {
        one: maven.Jars(
            one, folder / one, {"clients": folder / one / f"kafka-clients-{one}.jar"},
            folder / one / "slf4j-api-1.7.36.jar", (),
        )
        for one in ("9.1.0", "9.0.0")
    }  # fmt: skip
    assert len(list(folder.rglob("*.jar"))) == 4
    assert len((home / "calls").read_text().splitlines()) == 1


COPIED = """\
<groupId>kwire</groupId>
<artifactId>releases</artifactId>
<artifactId>maven-dependency-plugin</artifactId>
"""
ITEM = "<groupId>org.apache.kafka</groupId><artifactId>{}</artifactId><version>9.1.0</version><type>{}</type>\n"
LOGGING = "<groupId>org.slf4j</groupId><artifactId>slf4j-api</artifactId><version>1.7.36</version><type>jar</type>\n"
LISTING = """\
<groupId>kwire</groupId>
<artifactId>releases</artifactId>
<groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>[2.2.0,)</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
"""


def test_what_maven_is_asked(home: Path) -> None:
    """It fails where a checksum does not fit. Modules that it lacks are left out one after another."""
    releases()
    bring(["9.1.0"])
    always = "--batch-mode --quiet --strict-checksums"
    modules = ["kafka_2.13", "kafka-clients", "kafka-tools-api", "kafka-streams"]
    jars = [modules, [*modules[:2], modules[3]], modules[:2]]
    assert (home / "asked").read_text().split("\n\n") == [
        f"{always} dependency:tree --update-snapshots\n{LISTING}".rstrip(),
        f"{always} help:evaluate -Dexpression=settings.localRepository -DforceStdout\n{LISTING}".rstrip(),
        f"{always} dependency:copy\n{COPIED}{ITEM.format('kafka_2.13', 'pom')}".rstrip(),
        *(
            f"{always} dependency:copy --update-snapshots\n"
            f"{COPIED}{''.join(ITEM.format(name, 'jar') for name in names)}{LOGGING}".rstrip()
            for names in jars
        ),
        "",
    ]


def test_maven_that_lacks_what_it_was_not_asked_for_is_not_asked_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def mvn(part: str, *_: str) -> str:
        asked.append(part)
        assert len(asked) < 3
        raise MavenError("Could not find artifact org.apache.kafka:kafka-else:jar:9.1.0 in central")

    monkeypatch.setattr(maven, "mvn", mvn)
    with pytest.raises(MavenError, match="kafka-else"):
        maven._copy([Module("kafka-clients", "9.1.0")], home)
    assert len(asked) == 1


def test_ones_own_options_of_maven_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAVEN_OPTS", raising=False)
    releases()
    monkeypatch.setenv("MAVEN_OPTS", "-Dmine")
    releases()
    calls = (home / "calls").read_text().splitlines()
    assert ["-Dmine" in call for call in calls] == [False, False, True, True]
    assert ["-XX:" in call for call in calls] == [True, True, False, False]


def test_a_failure_leaves_nothing_that_looks_complete(home: Path) -> None:
    (home / "offline").touch()
    with pytest.raises(MavenError, match="no route") as caught:
        bring(["9.1.0"])
    assert "\x1b" not in str(caught.value)
    assert list(maven.CACHE.iterdir()) == []


@pytest.mark.parametrize(("release", "scala"), [("2.3.9", "2.12"), ("2.4.0", "2.13"), ("2.4.1", "2.13")])
def test_a_release_without_broker_is_an_error(home: Path, release: str, scala: str) -> None:
    """Kafka 2.4 was the first for Scala 2.13."""
    with pytest.raises(MavenError) as caught:
        bring([release])
    assert f"Could not find artifact org.apache.kafka:kafka_{scala}:pom:{release}" in str(caught.value)


def test_maven_is_asked_for_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(MavenError, match="must be on the path"):
        releases()


OFFLINE = """\
The following artifacts could not be resolved: org.apache.kafka:kafka-streams:jar:4.4.0: Could not transfer artifact
org.apache.kafka:kafka-streams:jar:4.4.0 from/to central (https://repo.example/maven2): connection refused"""
ABSENT = """\
The following artifacts could not be resolved: org.apache.kafka:kafka-tools-api:jar:4.4.0,
org.apache.kafka:kafka-streams:jar:4.4.0: Could not find artifact
org.apache.kafka:kafka-tools-api:jar:4.4.0 in central"""


@pytest.mark.parametrize(
    ("said", "missing"), [(ABSENT, {"kafka-tools-api", "kafka-streams"}), (OFFLINE, set()), ("no space left", set())]
)
def test_modules_that_a_release_lacks(said: str, missing: set[str]) -> None:
    """They are told from those that Maven could not reach."""
    assert unpublished(said) == {Module(name, "4.4.0") for name in missing}


def test_a_release_lacks_only_its_own_modules(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(_: object, folder: Path) -> list[Module]:
        for release in ("9.1.0", "10.0.0"):
            (folder / release).mkdir()
            (folder / release / "slf4j-api-1.7.36.jar").touch()
        return [Module("kafka-streams", "9.1.0")]

    monkeypatch.setattr(maven, "mvn", lambda *_: "")
    monkeypatch.setattr(maven, "_modules", lambda *_: [])
    monkeypatch.setattr(maven, "_copy", copied)
    assert [jars.missing for jars in bring(["9.1.0", "10.0.0"])] == [("kafka-streams",), ()]
