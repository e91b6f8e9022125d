"""What is known of releases without definitions is compared with what their classes say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kwirec.merge.history import ApiFacts
from tools import older_releases
from tools.maven import MavenError, Module
from tools.older_releases import Facts, differences, facts_of, main

JAVAP = {
    "kafka.api.RequestKeys$": """
       9: iconst_0
      10: putfield      #26                 // Field ProduceKey:S
      14: bipush        7
      16: putfield      #28                 // Field ControlledShutdownKey:S
      19: bipush        11
      21: putfield      #28                 // Field JoinGroupKey:S
""",
    "kafka.api.ProducerRequest$": """
      12: iconst_1
      13: invokevirtual #212                // Method scala/Predef$.int2Integer:(I)Ljava/lang/Integer;
      16: invokevirtual #217                // Method java/lang/Integer.shortValue:()S
      19: putfield      #23                 // Field CurrentVersion:S
""",
    "kafka.api.ControlledShutdownRequest$": """
      12: iconst_0
      19: putfield      #23                 // Field CurrentVersion:S
""",
    "kafka.server.KafkaApis": """
  public void handle(kafka.network.RequestChannel$Request);
      22: invokevirtual #216                // Method kafka/api/RequestKeys$.ProduceKey:()S
      46: invokevirtual #222                // Method kafka/api/RequestKeys$.ControlledShutdownKey:()S

  public void other();
      46: invokevirtual #222                // Method kafka/api/RequestKeys$.JoinGroupKey:()S
""",
}


def test_a_broker_of_its_own_code_accepts_what_it_handles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its table names JoinGroup, which no handler answers."""
    monkeypatch.setattr(older_releases, "_javap", lambda broker, name: JAVAP.get(name, ""))
    both = frozenset({0, 1})
    assert facts_of("0.8.2.2", tmp_path) == {0: (both, both), 7: (frozenset({0}), frozenset({0}))}


def test_a_difference_says_what_the_classes_have() -> None:
    only = frozenset({0})
    found: Facts = {0: (frozenset({0, 1, 2}), frozenset({1, 2})), 3: (only, only), 5: (only, frozenset())}
    said = {0: ApiFacts("Produce", "0-1", advertises="1-2"), 3: ApiFacts("Metadata", "0"), 11: ApiFacts("Join", "0")}
    assert list(differences(said, found)) == [
        "API 0 (Produce) accepts 0-2, not 0-1",
        "API 5 accepts 0, not nothing",
        "API 11 (Join) accepts nothing, not 0",
        "API 11 (Join) advertises nothing, not 0",
    ]


def test_clients_tell_what_a_broker_advertises_if_it_has_the_api_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The broker reads more versions than its clients do, with code of its own."""
    (tmp_path / "kafka-clients-0.10.0.1.jar").touch()
    handled = JAVAP["kafka.server.KafkaApis"].replace(
        "kafka/api/RequestKeys$.ProduceKey:()S", "ApiKeys.API_VERSIONS:"
    )
    own = JAVAP | {"kafka.server.KafkaApis": handled}
    monkeypatch.setattr(older_releases, "_javap", lambda broker, name: own.get(name, ""))
    said = ["7 CONTROLLED_SHUTDOWN 1 1", "18 API_VERSIONS 0 0"]
    monkeypatch.setattr(older_releases, "_run", lambda *command: "\n".join(said))
    only, both = frozenset({1}), frozenset({0, 1})
    assert facts_of("0.10.0.1", tmp_path) == {7: (both, only), 18: (frozenset({0}), frozenset({0}))}
    own["kafka.server.KafkaApis"] = JAVAP["kafka.server.KafkaApis"]
    said[1:] = ["0 PRODUCE 2 2"]
    every = frozenset({0, 1, 2})
    assert facts_of("0.10.0.1", tmp_path) == {0: (every, every), 7: (both, both)}
    said[0] = "7 CONTROLLED_SHUTDOWN 1 0,1"
    with pytest.raises(ValueError, match=r"CONTROLLED_SHUTDOWN has requests \[1\] and responses \[0, 1\]"):
        facts_of("0.10.0.1", tmp_path)


def test_the_exit_code_says_whether_releases_differ(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("copy", "check_digests"):
        monkeypatch.setattr(older_releases, name, lambda *_: None)
    found = frozenset({0})
    said = {line: {3: ApiFacts("Metadata", "0")} for line in ("0.8.0", "2.1")}
    history = type("", (), {"releases": said})
    monkeypatch.setattr(older_releases, "read_history", lambda union: history)
    for name, lines in (
        ("WITHOUT_CLIENTS", {"0.8.0": "0.8.0"}),
        ("FIRST_OF_LINE", {}),
        ("LAST_OF_LINE", {"2.1": "2.1.1"}),
    ):
        monkeypatch.setattr(older_releases, name, lines)
    monkeypatch.setattr(older_releases, "facts_of", lambda release, folder: {3: (found, found)})
    assert main() == 0
    said["2.1"] = {3: ApiFacts("Metadata", "0-1")}
    assert main() == 1
    monkeypatch.setattr(older_releases, "copy", lambda *_: (_ for _ in ()).throw(MavenError("no route")))
    assert main() == 2
    assert capsys.readouterr() == (
        "2 releases compared with their classes, 0 differences\n"
        "2.1.1: API 3 (Metadata) accepts 0, not 0-1\n"
        "2.1.1: API 3 (Metadata) advertises 0, not 0-1\n"
        "2 releases compared with their classes, 2 differences\n",
        "no route\n",
    )


def test_classes_are_asked_with_the_tools_of_a_jdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The class path of the clients has what they log with; a broker without a class has no code of it."""
    for name in ("kafka-clients-2.0.1.jar", "kafka_2.11-2.0.1.jar", "slf4j-api-1.7.36.jar"):
        (tmp_path / name).touch()
    for name, answer in (
        (
            "java",
            "printf '7 CONTROLLED_SHUTDOWN 0,2 0,2\\n0 PRODUCE  \\n3 METADATA 0,1 0,1\\n18 API_VERSIONS 0 0\\n'",
        ),
        ("javap", "[ $5 = kafka.server.KafkaApis ] && cat $(dirname $0)/handled || echo 'Error' >&2"),
    ):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {name} $* >> {tmp_path}/asked\n{answer}\n")
        program.chmod(0o755)
    handled = "".join(
        f"   // Field ApiKeys.{name}:L\n" for name in ("CONTROLLED_SHUTDOWN", "PRODUCE", "API_VERSIONS")
    )
    (tmp_path / "bin" / "handled").write_text(f"  public void handle(R);\n{handled}\n\n  ApiKeys.METADATA:\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    none, one, two = frozenset[int](), frozenset({0}), frozenset({0, 2})
    assert facts_of("2.0.1", tmp_path) == {0: (none, none), 7: (two, two), 18: (one, one)}
    asked = (
        (tmp_path / "asked").read_text().replace(f"{tmp_path}/", "").replace(str(older_releases.PROGRAM), "P.java")
    )
    assert asked.splitlines() == [
        "java -cp kafka-clients-2.0.1.jar:slf4j-api-1.7.36.jar P.java",
        "javap -p -c -cp kafka_2.11-2.0.1.jar kafka.api.RequestKeys$",
        "javap -p -c -cp kafka_2.11-2.0.1.jar kafka.api.ControlledShutdownRequest$",
        "javap -p -c -cp kafka_2.11-2.0.1.jar kafka.server.KafkaApis",
    ]
    for said, problem in (
        ("echo 7 X 0", "the program printed '7 X 0'"),
        ("printf 'x%0199d' 0", f"the program printed 'x{'0' * 99}'$"),
        ("echo sad >&2; exit 1", "java failed: sad"),
    ):
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\n{said}\n")
        with pytest.raises(ValueError, match=problem):
            facts_of("2.0.1", tmp_path)


def test_releases_and_their_modules_are_those_of_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[Module] = []
    folders: list[Path] = []

    def copy(modules: list[Module], folder: Path) -> None:
        copied.extend(modules)
        folders.append(folder)

    monkeypatch.setattr(older_releases, "copy", copy)
    monkeypatch.setattr(older_releases, "check_digests", folders.append)

    def facts(release: str, folder: Path) -> Facts:
        assert folders == [folder.parent] * 2
        assert folder.name == release
        asked.append(release)
        return {}

    monkeypatch.setattr(older_releases, "facts_of", facts)
    monkeypatch.setattr(older_releases, "LAST_OF_LINE", {"0.8.2": "0.8.2.2", "2.1": "2.1.1"})
    monkeypatch.setattr(older_releases, "FIRST_OF_LINE", {"0.8.2": "0.8.2.0", "2.1": "2.1.0"})
    history = type("", (), {"releases": {line: {} for line in ("0.8.0", "0.8.1", "0.8.2", "2.1")}})
    monkeypatch.setattr(older_releases, "read_history", lambda union: history)
    asked: list[str] = []
    assert main() == 0
    own = ["0.8.0", "0.8.1.1"]
    others = ["0.8.2.0", "2.1.0", "0.8.2.2", "2.1.1"]
    assert asked == own + others
    expected = [*(("kafka_2.10", one) for one in own), *(("kafka_2.11", one) for one in others)]
    assert copied == [Module(*one) for one in (*expected, *(("kafka-clients", one) for one in others))]
