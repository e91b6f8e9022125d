"""What ``watch`` is given, by all of its options, and what each input asks of Spark and of the capture."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, call

import pytest
from pyspark.errors import AnalysisException

from kwire.command import main as run
from kwire_inspect.options import OptionError
from kwire_spark.command import watch, watch_inputs
from kwire_spark.command.watch import interruption
from kwire_spark.command.watch_inputs import (
    NO_CONNECTOR,
    FolderInput,
    InterfacesInput,
    TopicInput,
    WatchInput,
    filter_for,
)


class GivenError(Exception):
    """Ends the command after it has made its input."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The inputs that the command makes, with their arguments."""
    given: list[Any] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KWIRE_DEBUG", "1")
    for name in ("FolderInput", "InterfacesInput", "TopicInput"):

        def make(*arguments: Any, name: str = name) -> None:
            given.append((name, *arguments))
            raise GivenError

        monkeypatch.setattr(watch, name, make)
    return given


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["captures"], ("FolderInput", "captures", 5)),
        (["captures", "--settled", "0"], ("FolderInput", "captures", 0)),
        (["-i", "a", "--ports", "9092"], ("InterfacesInput", ("a",), "tcp port 9092", 262_144, 1 << 30)),
        (
            ["-i", "a", "--interface", "b", "--filter", " port 7 ", "--snap-length", "64", "--disk", "5m"],
            ("InterfacesInput", ("a", "b"), "port 7", 64, 5 << 20),
        ),
        (["-i", "a", "--master", "local[2]", "--for", "1s"], ("InterfacesInput", ("a",), "", 262_144, 1 << 30)),
        (["--topic", "t"], ("TopicInput", "t", None, None, 1, None)),
        (
            ["--topic", "t", "--bootstrap-server", "b:1", "--topic-config", "c", "--link-type", "113"],
            ("TopicInput", "t", "b:1", "c", 113, None),
        ),
        (["--topic", "t", "--connector", "jars", "--once"], ("TopicInput", "t", None, None, 1, "jars")),
    ],
)
def test_what_is_watched(made: list[Any], arguments: list[str], expected: tuple[Any, ...]) -> None:
    with pytest.raises(GivenError):
        run(["watch", *arguments])
    assert made == [expected]


ONE_INPUT = "specify exactly one of FOLDER, --interface and --topic"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ONE_INPUT),
        (["captures", "--topic", "t"], ONE_INPUT),
        (["captures", "-i", "a"], ONE_INPUT),
        (["-i", "a", "--topic", "t"], ONE_INPUT),
        (["-i", "a", "--master", "spark://b:7077"], "--interface captures on this machine: omit --master"),
        (["-i", "a", "--once"], "--once cannot be used with --interface: use --for to set how long to capture"),
        (["captures", "--owners", "o.csv"], "--owners needs --target"),
        (["captures", "--for", "10"], "the option --for must be a duration, such as 90s, 10m or 1h, not '10'"),
        (["-i", "a", "--disk", "0"], "the option --disk must be a size of at least one byte"),
        (["captures", "--key-log", "missing"], "the key log missing cannot be read"),
        (["captures", "--protocol", "kwire_none"], "the option protocol must name a package that kwirec generated"),
        (["captures", "--out", "s3://a:b@c/d"], "an address with a password"),
        (["captures", "--target", "4.1", "--table-format", "csv"], "--target needs a local Parquet table"),
    ],
)
def test_what_cannot_be_watched_is_told_before_spark_starts(
    made: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.delenv("KWIRE_DEBUG")
    monkeypatch.setattr("kwire_spark.session.spark_session", lambda *_, **__: pytest.fail("started"))
    assert run(["watch", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert not made or "--disk" in arguments


@pytest.mark.parametrize(
    ("ports", "given", "expected"),
    [
        ({9093, 9092, 19092}, None, "tcp port 9092 or tcp port 9093 or tcp port 19092"),
        ({9092}, None, "tcp port 9092"),
        ({9092}, " host a ", "host a"),
        ({9092}, "", "tcp port 9092"),
        (set(), "udp", "udp"),
        (set(), None, ""),
    ],
)
def test_the_filter_of_a_capture(ports: set[int], given: str | None, expected: str) -> None:
    assert filter_for(frozenset(ports), given) == expected


def test_an_input_that_is_only_read_has_nothing_to_stop() -> None:
    given = WatchInput()
    with given.within():
        assert (given.name, given.settings, given.dropped, given.problem, given.end()) == ("", {}, 0, "", False)
    with pytest.raises(NotImplementedError):
        given.packets(MagicMock())


@pytest.fixture
def capture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Stands in for the program that captures."""
    made = MagicMock()
    made.return_value.dropped, made.return_value.problem = 7, "it has ended"
    monkeypatch.setattr(watch_inputs, "InterfaceCapture", made)
    monkeypatch.setattr("kwire_spark.session.private_folder", lambda: tmp_path)
    return made


def test_interfaces_are_captured_to_files_that_are_removed_after_they_were_read(capture: Any, tmp_path: Path) -> None:
    given = InterfacesInput(["eth0", "eth1"], "tcp port 9092", 64, 5 << 20)
    (interfaces, folder), options = capture.call_args
    assert (interfaces, options) == (
        ["eth0", "eth1"],
        {"pcap_filter": "tcp port 9092", "snap_length": 64, "most": 5 << 20},
    )
    assert (folder.parent, folder.is_dir(), folder.name[:8]) == (tmp_path, True, "packets-")
    running: Any = capture.return_value
    running.folder = folder
    same: Any = given.within()
    assert same is running
    assert (given.name, given.settings, given.dropped, given.problem) == (
        *("packets on eth0, eth1", {}),
        *(7, "it has ended"),
    )
    spark = MagicMock()
    packets = given.packets(spark)
    spark.readStream.format.assert_called_once_with("kafka_packets")
    options = spark.readStream.format().options.call_args.kwargs
    assert {name: str(value).lower() for name, value in options.items()} == {"settled": "0", "consume": "true"}
    assert packets is spark.readStream.format().options().load(str(folder))
    assert not running.stop.called
    assert given.end() is True
    running.stop.assert_called_once_with()


@pytest.mark.parametrize("own", ["any", "lo", "lo0"])
def test_spark_does_not_capture_its_own_traffic(capture: Any, own: str) -> None:
    with pytest.raises(OptionError) as raised:
        InterfacesInput(["eth0", own, "lo"], "", 64, 1)
    assert str(raised.value).startswith(f"Spark's own traffic is on {own}: specify the broker ports with --ports, or")
    assert not capture.called
    InterfacesInput([own], "tcp port 9092", 64, 1)
    InterfacesInput(["eth0"], "", 64, 1)
    assert [one.kwargs["pcap_filter"] for one in capture.call_args_list] == ["tcp port 9092", "tcp"]


def test_a_folder_that_is_none_cannot_be_watched(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "none"):
        with pytest.raises(OptionError, match=f"{name}: no such folder$"):
            FolderInput(str(tmp_path / name), 5)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((None, None, 1, None), "--topic needs --bootstrap-server HOST:PORT"),
        (("", None, 1, None), "--topic needs --bootstrap-server HOST:PORT"),
        (("b:1", None, 7, None), r"unknown --link-type 7, expected one of 0, 1, "),
        (("b:1", "none", 1, None), "--topic-config none: .*No such file"),
        (("b:1", None, 1, "."), "--connector .: this folder contains no jar"),
    ],
)
def test_a_topic_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[Any, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=f"^{told}"):
        TopicInput("packets", *arguments)


@pytest.mark.parametrize("settled", [0, 5, 60])
def test_spark_is_told_how_long_a_file_must_not_have_changed(tmp_path: Path, settled: int) -> None:
    spark = MagicMock()
    source = spark.readStream.format.return_value
    FolderInput(str(tmp_path), settled).packets(spark)
    spark.readStream.format.assert_called_once_with("kafka_packets")
    assert source.mock_calls == [call.option("settled", settled), call.option().load(str(tmp_path))]


@pytest.mark.parametrize(
    ("config", "more"),
    [
        (None, {}),
        ("", {}),
        (
            "bootstrap.servers=other:9\nsecurity.protocol=SSL\nclient.id=watch\nsubscribe=none\n",
            {"kafka.security.protocol": "SSL", "kafka.client.id": "watch", "kafka.subscribe": "none"},
        ),
    ],
)
def test_a_topic_is_read_from_the_brokers_named_with_the_settings_of_the_file(
    tmp_path: Path, config: str | None, more: dict[str, str]
) -> None:
    """Whatever brokers the file names: those of the command count."""
    spark, path = MagicMock(), tmp_path / "consumer.properties"
    path.write_text(config or "")
    TopicInput("packets", "b:1,c:2", None if config is None else str(path), 1, None).packets(spark)
    spark.readStream.format.assert_called_once_with("kafka")
    assert spark.readStream.format().options.call_args.kwargs == {
        "kafka.bootstrap.servers": "b:1,c:2",
        "subscribe": "packets",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "200000",
        **more,
    }


@pytest.mark.parametrize("link_type", [1, 101, 113])
def test_packets_of_a_topic_are_of_the_link_that_is_named(monkeypatch: pytest.MonkeyPatch, link_type: int) -> None:
    read, spark = MagicMock(), MagicMock()
    monkeypatch.setattr("kwire_spark.streams.packets_in", read)
    assert TopicInput("packets", "b:1", None, link_type, None).packets(spark) is read.return_value
    read.assert_called_once_with(spark.readStream.format().options().load(), link_type)


def test_jars_of_the_connector_are_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jar", "a.jar", "a.txt"):
        (tmp_path / name).touch()
    assert TopicInput("packets", "b:1", None, 1, ".").settings == {"spark_jars": f"{tmp_path}/a.jar,{tmp_path}/b.jar"}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Failed to find data source: kafka.", NO_CONNECTOR),
        ("cannot find class", "cannot find class"),
        ("kafka is gone", "kafka is gone"),
    ],
)
def test_without_the_connector_it_is_said_how_to_name_it(message: str, told: str) -> None:
    spark = MagicMock()
    spark.readStream.format().options().load.side_effect = AnalysisException(message)
    with pytest.raises((OptionError, AnalysisException)) as raised:
        TopicInput("packets", "b:1", None, 1, None).packets(spark)
    assert str(raised.value) == told
    assert isinstance(raised.value, OptionError) == (told == NO_CONNECTOR)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_is_handled_as_before(first: signal.Signals) -> None:
    handled: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: handled.append(number)) for number in numbers]
    try:
        for signals in ([], [first], [first, *numbers]):
            handled.clear()
            with interruption() as interrupted:
                assert not interrupted.is_set()
                for number in signals:
                    signal.raise_signal(number)
                    assert interrupted.is_set()
                assert handled == signals[1:]
            for number in numbers:
                signal.raise_signal(number)
            assert handled == [*signals[1:], *numbers]
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@pytest.mark.parametrize("given", [["--once"], ["--for", "5s"], []])
def test_sigint_is_not_left_to_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str]
) -> None:
    """Spark installs a handler of its own when it starts: both signals end the command all the same."""
    spark, handlers = MagicMock(), list[bool]()
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def start(*_: Any, **__: Any) -> Any:
        signal.signal(signal.SIGINT, lambda *_: pytest.fail("Spark's own handler"))
        return spark

    def look(*_: Any, **__: Any) -> Any:
        handlers.append(signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGTERM))
        return spark.query

    spark.query.trigger().start.return_value = SimpleNamespace(
        isActive=False, recentProgress=[], status={}, stop=spark.stop, exception=lambda: None
    )
    monkeypatch.setattr("kwire_spark.session.spark_session", start)
    monkeypatch.setattr("kwire_spark.streams.connections.follow", spark.follow)
    monkeypatch.setattr("kwire_spark.streams.keeping.keep_clients", look)
    out = tmp_path / "[red]out[/x]"
    assert run(["watch", str(tmp_path), *given, "--out", str(out)]) == 0
    assert handlers == [True]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    spark.stop.assert_called_once_with()
    told = capsys.readouterr().err
    assert f"Read 0 packets in 0 batches into the table {out}/clients" in told.replace("\n", "")
    trigger = {"availableNow": True} if given == ["--once"] else {"processingTime": "1.0 seconds"}
    assert spark.query.trigger.call_args == call(**trigger)
