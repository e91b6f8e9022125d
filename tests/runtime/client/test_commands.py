"""``kwire broker`` and ``kwire call`` with a broker of our own: what they print, and their exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import ssl
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest

from kwire import is_native
from kwire.client import Sasl, Security, parse_address
from kwire.client.files import MAX_FILE
from kwire.command import group
from kwire.command.broker import _text, as_json
from kwire.command.connecting import connecting, security
from kwire.command.options import Options, put_json
from kwire.frames import frame
from kwire.records import Record, encode_batch
from kwire.releases import ApiFit, BrokerAnswer, BrokerFit, Feature, Node
from kwire.trace import RecordsBudget
from kwire_kafka import (
    ApiVersionsResponse,
    CreateDelegationTokenResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    FetchResponse,
    MetadataResponse,
)
from kwire_kafka.api.api_versions import FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_kafka.api.metadata import MetadataResponseBroker, MetadataResponseTopic
from tests.runtime.client.loopback import HOST, MECHANISMS, USERS, HttpServer, Loopback, Other, standard
from tests.support.certificates import Certificates
from tests.support.effort import peak

DESCRIBE_GROUPS = 15
PASSWORD = ("--mechanism", "PLAIN", "--user", "alice")
ELSEWHERE = "broker.example:9092"
ESCAPE = "\x1b]0;owned\x07\u202e\n\r\u2028"


def test_what_a_broker_accepts(run: Any) -> None:
    listed = standard("4.0.1", Fetch=(4, 20), Metadata=(0, 5))
    listed.api_keys = [api for api in listed.api_keys if api.api_key != DESCRIBE_GROUPS]
    levels = FinalizedFeatureKey(name="metadata.version", min_version_level=7, max_version_level=20)
    listed.finalized_features = [levels]
    with Loopback({"ApiVersions": lambda request: listed}) as broker:
        result = run("broker", broker.address)
    assert (result.code, result.err) == (0, "")
    first, *lines = result.out.splitlines()
    assert re.fullmatch(
        rf"{broker.address} fits no known release; the nearest is Kafka .*4\.0\.1.* \(broker\)", first
    )
    assert lines[:6] == [
        "",
        "cluster     cluster, controller 1",
        "nodes       1 at b1:9092, rack a",
        "features    metadata.version at level 20, supported 1-21",
        "            kraft.version not finalized, supported 0-1",
        "",
    ]
    nearest = re.findall(r"\d+\.\d+\.\d+", first.partition("Kafka")[2])
    assert len(nearest) > 1
    assert lines[6] == f"API                           key  versions  against {nearest[-1]}"
    assert [line for line in lines[7:] if re.search("refused|more|lacks|unstable", line)] == [
        "Produce                         0  0-12      refused 0-2",
        "Fetch                           1  4-20      more 18-20",
        "Metadata                        3  0-5       lacks 6-13",
        "DescribeGroups                 15  none      lacks 0-6",
    ]
    assert "ApiVersions                    18  0-4" in lines


def test_the_version_is_printed_and_not_while_a_shell_completes(run: Any) -> None:
    kind = "native" if is_native() else "interpreted"
    assert run("--version") == (0, f"kwire {version('kwire')} ({kind})\n", "")
    with group.make_context("kwire", ["--version"], resilient_parsing=True):
        pass
    assert run("describe", "HeartbeatRequest").out.startswith("HeartbeatRequest: ")


def test_a_command_is_needed(run: Any) -> None:
    result = run()
    assert (result.code, result.out) == (2, "")
    assert "Usage: kwire [OPTIONS] COMMAND [ARGS]..." in result.err


def test_the_answer_as_json_can_be_read_again(run: Any) -> None:
    """Also that of a broker without an API that the release has."""
    for lacks in (None, DESCRIBE_GROUPS):
        listed = standard()
        listed.api_keys = [api for api in listed.api_keys if api.api_key != lacks]
        answers: dict[str, Any] = {"ApiVersions": lambda request, listed=listed: listed}
        with Loopback(answers) as broker:
            result = run("broker", broker.address, "--format", "json")
        assert json.loads(result.out)["exact"] is (lacks is None)
        answer = BrokerAnswer.from_json(json.loads(result.out))
        assert (answer.name, answer.apis[0]) == (broker.address, range(12))
        assert (DESCRIBE_GROUPS in answer.apis) is (lacks is None)


def test_a_controller_may_have_the_id_0(run: Any) -> None:
    with Loopback({"Metadata": lambda request: MetadataResponse(cluster_id="c", controller_id=0)}) as broker:
        assert "cluster     c, controller 0\n" in run("broker", broker.address).out
        assert json.loads(run("broker", broker.address, "--format", "json").out)["controller_id"] == 0


@pytest.mark.slow
def test_no_text_of_the_broker_is_a_command_to_the_terminal(run: Any) -> None:
    hostile = standard()
    hostile.supported_features = [SupportedFeatureKey(name=f"f{n}{ESCAPE}") for n in range(150)]
    hostile.finalized_features = [FinalizedFeatureKey(name=ESCAPE)]
    node = MetadataResponseBroker(node_id=1, host=ESCAPE + "x" * 30_000, port=1, rack=ESCAPE)
    answers = {
        "ApiVersions": lambda request: hostile,
        "Metadata": lambda request: MetadataResponse(brokers=[node], cluster_id=ESCAPE * 20),
    }
    with Loopback(answers) as broker:
        for arguments in (
            ("broker",),
            ("broker", "--format", "json"),
            ("call", "Metadata"),
            ("call", "3", "--trace"),
        ):
            result = run(arguments[0], broker.address, *arguments[1:])
            assert result.code == 0
            assert all(c == "\n" or c.isprintable() for c in result.out)
    assert max(map(len, run_lines(run, answers))) < 1500


def run_lines(run: Any, answers: Any) -> list[str]:
    with Loopback(answers) as broker:
        lines: list[str] = run("broker", broker.address).out.splitlines()
    at = lines.index("            and 51 others")
    assert [line[:18] for line in lines[at - 100 : at]] == [
        f"{'' if number else 'features':<11} f{number}\\u001b"[:18] for number in range(100)
    ]
    assert not [line for line in lines if line.startswith(r"\u000d")]  # what follows the line feed in ESCAPE
    return lines


def test_no_error_of_the_broker_is_a_command_to_the_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_TOKEN", "other")
    with Loopback(mechanisms={ESCAPE: MECHANISMS["PLAIN"]}) as broker:
        result = run("broker", broker.address, "--mechanism", "OAUTHBEARER")
    assert result.code == 3
    assert result.err.count("\n") == 1
    assert result.err.rstrip("\n").isprintable()


def test_a_response_as_json(run: Any) -> None:
    with Loopback() as broker:
        newest = run("call", broker.address, "metadata")
        old = run("call", broker.address, "3", "--version", 1, "--json", '{"topics": [{"name": "t"}]}')
        oldest = run("call", broker.address, "3", "--version", 0, "--json", '{"topics": []}')
    assert (newest.code, old.code) == (0, 0)
    assert json.loads(newest.out)["clusterId"] == "cluster"
    assert json.loads(old.out) == {
        "brokers": [{"nodeId": 1, "host": "b1", "port": 9092, "rack": "a"}],
        "controllerId": 1,
        "topics": [],
    }
    assert json.loads(oldest.out)["brokers"] == [{"nodeId": 1, "host": "b1", "port": 9092}]
    assert broker.asked[1::2] == [("Metadata", 12), ("Metadata", 1), ("Metadata", 0)]


def test_a_response_as_a_tree(run: Any) -> None:
    with Loopback() as broker:
        result = run("call", broker.address, "Metadata", "--version", 12, "--trace")
    assert result.code == 0
    assert re.search(r'^ +\d+ .* cluster_id +compact string +"cluster"$', result.out, re.MULTILINE)
    with Loopback(
        {"Metadata": lambda request: MetadataResponse(topics=[MetadataResponseTopic(error_code=3)])}
    ) as broker:
        noted = run("call", broker.address, "Metadata", "--version", 12, "--trace")
    assert re.search(r" error_code +int16 +3  UNKNOWN_TOPIC_OR_PARTITION$", noted.out, re.MULTILINE)


def test_an_answer_in_an_older_version_is_printed_in_that(run: Any) -> None:
    """Brokers answer versions of ApiVersions that they do not know in version 0."""

    def answer(request: Any) -> Any:
        old = ApiVersionsResponse(error_code=35).encode(0)
        return frame(request.correlation_id.to_bytes(4, "big") + old) if request.version == 2 else standard()

    with Loopback({"ApiVersions": answer}) as broker:
        result = run("call", broker.address, "ApiVersions", "--version", 2)
    assert (result.code, json.loads(result.out)) == (0, {"errorCode": 35, "apiKeys": []})


def test_what_is_left_out_of_a_request_has_its_default(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"topics": [{"name": "t", "configs": [{"name": "a"}]}], "validateOnly": true}')
    asked: list[Any] = []

    def create(request: Any) -> Any:
        asked.append(request.message)
        return CreateTopicsResponse()

    with Loopback({"CreateTopics": create}) as broker:
        assert run("call", broker.address, "CreateTopics", "--json", f"@{file}").code == 0
    (topic,) = asked[0].topics
    assert (topic.name, topic.num_partitions, topic.configs[0].name) == ("t", 0, "a")
    assert asked == [CreateTopicsRequest(topics=[topic], validate_only=True)]


def test_a_request_may_come_from_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.BytesIO(b'{"topics": [{"name": "from-stdin"}]}')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    asked: list[Any] = []

    def answer(request: Any) -> Any:
        asked.append(request.message)
        return MetadataResponse()

    with Loopback({"Metadata": answer}) as broker:
        assert run("call", broker.address, "Metadata", "--version", 1, "--json", "-").code == 0
    assert [topic.name for topic in asked[-1].topics] == ["from-stdin"]


def test_a_message_from_standard_input_has_a_limit(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.command.json_input.MAX_BODY", 1)
    for text, refused in ((b"1", False), (b"{}", True)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert ("more than 0 MiB" in run("encode", "Metadata", "--json", "-").err) is refused


@pytest.mark.parametrize("source", ["argument", "file", "-"])
def test_a_message_in_json_has_a_limited_number_of_values(
    run: Any, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may become a struct of kilobytes. Texts, which records are, may be long."""
    monkeypatch.setattr("kwire.command.json_input.MAX_VALUES", 8)
    for names, refused in ((["a" * 1000] * 2, False), (["a", "a", "a,"], False), (["a"] * 4, True)):
        text = json.dumps({"topics": [{"name": name} for name in names]})
        (tmp_path / "body").write_text(text)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        given = {"argument": text, "file": f"@{tmp_path / 'body'}", "-": "-"}[source]
        result = run("encode", "Metadata", "--version", 1, "--json", given)
        assert (result.code, "the message has more than 8 values" in result.err) == (2 * refused, refused)


@pytest.mark.parametrize("command", [("broker",), ("call",)], ids=" ".join)
def test_a_large_response_needs_an_option(run: Any, command: tuple[str, ...]) -> None:
    """One of the largest that are read takes as JSON up to 200 times its size."""
    large = MetadataResponse(cluster_id="x" * 30_000, brokers=[MetadataResponseBroker(host="h" * 30_000)] * 100)
    more = ("Metadata",) if command == ("call",) else ()
    with Loopback({"Metadata": lambda request: large}) as broker:
        refused = run(*command, broker.address, *more)
        assert refused.code == 3
        assert "the limit is 2097152: raise --max-response" in refused.err
        assert run(*command, broker.address, *more, "--max-response", 4).code == 0


@pytest.mark.long
def test_json_is_printed_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    value = [{"host": "b1", "port": 9092}] * 200_000
    with Path(os.devnull).open("w") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert peak(lambda: put_json(value)) < 1 << 20


def test_secrets_are_hidden_unless_they_are_asked_for(run: Any) -> None:
    answers = {"CreateDelegationToken": lambda request: CreateDelegationTokenResponse(token_id="id", hmac=b"hmac!")}
    with Loopback(answers) as broker:
        call = ("call", broker.address, "CreateDelegationToken", "--version", 2)
        assert json.loads(run(*call).out)["hmac"] == ""
        assert json.loads(run(*call, "--secrets", "show").out)["hmac"] == "aG1hYyE="
        assert b"hmac!".hex() not in run(*call, "--trace").out
        assert b"hmac!".hex() in run(*call, "--trace", "--secrets", "show").out


def test_records_in_a_tree_are_read_within_one_limit(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = encode_batch([Record(b"k", b"v")], codec=1)
    topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=packed)] * 2)
    with Loopback({"Fetch": lambda request: FetchResponse(responses=[topic])}) as broker:
        call = ("call", broker.address, "Fetch", "--version", 12, "--trace")
        assert run(*call).out.count("key 'k', value 'v'") == 2
        size = len(encode_batch([Record(b"k", b"v")])) - 61  # of one batch without its header
        monkeypatch.setattr("kwire.command.call.RecordsBudget", lambda: RecordsBudget(size=size))
        assert run(*call).out.count("key 'k', value 'v'") == 1


@pytest.mark.parametrize("trace", [(), ("--trace",)], ids=["json", "tree"])
def test_a_response_that_cannot_be_decoded(run: Any, trace: tuple[str, ...]) -> None:
    with Loopback({"Metadata": lambda request: frame(request.data[4:8] + b"\0" * 5 + b"\x7f")}) as broker:
        result = run("call", broker.address, "Metadata", *trace)
    assert result.code == 1
    assert ("^^" in result.out) if trace else (result.err.count("\n") == 1 and "MetadataResponse v12" in result.err)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("Metadata", "--version", "99"), "unknown version 99 of MetadataRequest, valid versions are 0 to"),
        (("Metadata", "--json", "[" * 100_000), "recursion"),
        (("Metadata", "--json", "[]"), "expected an object"),
        (("Metadata", "--json", '{"x": 1}'), "unknown field 'x'"),
        (("Metadata", "--json", "@/no/file"), "No such file"),
        (("Produce", "--version", "3"), "brokers do not answer requests with acks=0"),
        (("Metadata", "--config", "/no/file"), "No such file"),
        (("Metadata", "--password-file", "/no"), "a login requires --mechanism"),
        (
            ("Metadata", "--mechanism", "PLAIN", "--user", "alice"),
            "the login requires a password: use --password-file",
        ),
        (("Metadata", "--mechanism", "PLAIN", "--password-file", "/no"), "requires a user name and a password"),
        (("Metadata", "--mechanism", "OAUTHBEARER"), "requires a token"),
        (("Metadata", "--ca", "/no/ca.pem"), "/no/ca.pem cannot be read"),
        (("Metadata", "--protocol", "json"), "json is not a generated package"),
        (("Metadata", "--json", "@/dev/zero"), "/dev/zero"),
        (("Metadata", "--config", "/dev/zero"), "not a regular file: '/dev/zero'"),
        (("Metadata", "--ca", "/dev/zero"), "/dev/zero cannot be read: not a regular file"),
        (("Metadata", *PASSWORD, "--password-file", "/dev/zero"), "not a regular file: '/dev/zero'"),
    ],
)
def test_wrong_usage(run: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], reason: str) -> None:
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: PTH123, SIM115 - not a terminal
    with Loopback() as broker:
        result = run("call", broker.address, *arguments)
    assert result.code == 2
    usage, *_, error = result.err.strip().splitlines()
    assert usage == "Usage: kwire call [OPTIONS] ADDRESS API"
    assert reason in error


def test_a_version_is_checked_before_a_connection_is_made(run: Any, connections: list[str]) -> None:
    assert run("call", "127.0.0.1:1", "Metadata", "--version", "99").code == 2
    assert connections == []


def test_a_token_that_is_none_is_wrong_usage(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("two words")
    with Loopback(mechanisms=MECHANISMS) as server:
        result = run("broker", server.address, "--mechanism", "OAUTHBEARER", "--token-file", file)
    assert result.code == 2
    assert "the OAUTHBEARER token is empty or contains invalid characters" in result.err


@pytest.mark.parametrize("option", ["--config", "--password-file", "--ca"])
def test_files_have_a_limit(run: Any, tmp_path: Path, option: str) -> None:
    file = tmp_path / "large"
    with file.open("wb") as made:
        made.truncate(MAX_FILE + 1)  # without room on the disk
    with Loopback() as broker:
        result = run("broker", broker.address, *PASSWORD, option, file)
    assert result.code == 2
    assert "more than 4 MiB" in result.err


def test_a_password_may_come_from_a_pipe(run: Any) -> None:
    """As from ``--password-file <(pass show kafka)``."""
    reading, writing = os.pipe()
    os.write(writing, USERS["alice"].encode())
    os.close(writing)
    try:
        with Loopback(mechanisms=MECHANISMS) as broker:
            assert run("broker", broker.address, *PASSWORD, "--password-file", f"/dev/fd/{reading}").code == 0
    finally:
        os.close(reading)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts to which a connection was begun; each goes to nobody."""
    hosts: list[str] = []

    async def open_connection(host: str, *others: object) -> None:
        hosts.append(host)
        raise ConnectionRefusedError

    monkeypatch.setattr("kwire.client.client.open_connection", open_connection)
    return hosts


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (PASSWORD, "PLAIN would send the password"),
        (("--mechanism", "OAUTHBEARER"), "OAUTHBEARER would send the token"),
    ],
)
def test_no_login_in_clear_text_unless_asked_for(
    run: Any, monkeypatch: pytest.MonkeyPatch, connections: list[str], options: tuple[str, ...], what: str
) -> None:
    monkeypatch.setenv("KWIRE_PASSWORD", "s3cret")
    monkeypatch.setenv("KWIRE_TOKEN", "s3cret")
    refused = run("broker", ELSEWHERE, *options)
    assert (refused.code, connections) == (2, [])
    assert (
        f"{what} to broker.example in clear text: use TLS or SCRAM, or allow it with --plaintext-login" in refused.err
    )
    for allowed in (["--plaintext-login"], ["--tls"]):
        told = run("broker", ELSEWHERE, *options, *allowed)
        assert (told.code, told.err.count("\n"), connections.pop()) == (3, 1, "broker.example")
    assert "s3cret" not in refused.err
    assert "warning" not in refused.err


def test_scram_shows_no_password_so_it_is_not_refused(
    run: Any, monkeypatch: pytest.MonkeyPatch, connections: list[str]
) -> None:
    monkeypatch.setenv("KWIRE_PASSWORD", "s3cret")
    assert run("broker", ELSEWHERE, "--mechanism", "SCRAM-SHA-256", "--user", "alice").code == 3
    assert connections == ["broker.example"]


def test_a_file_that_asks_for_clear_text_is_obeyed_with_a_warning(
    run: Any, tmp_path: Path, connections: list[str]
) -> None:
    config = tmp_path / "client.properties"
    login = "sasl.mechanism=PLAIN\nsasl.jaas.config=x.PlainLoginModule required username=alice password=s3cret;\n"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\n{login}")
    result = run("broker", ELSEWHERE, "--config", config)
    warning = f"the password is sent to broker.example in clear text, as security.protocol in {config} allows"
    assert (result.code, result.err.splitlines()[0]) == (3, f"kwire: warning: {warning}")
    assert run("broker", ELSEWHERE, "--config", config, "--plaintext-login").err.count("\n") == 1
    config.write_text(f"security.protocol=SASL_SSL\n{login}")
    assert run("broker", ELSEWHERE, "--config", config).err.count("\n") == 1
    assert len(connections) == 3


@pytest.mark.slow
def test_logins_by_options(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, wrong = tmp_path / "password", tmp_path / "wrong"
    secret.write_text(f"{USERS['alice']}\n")
    wrong.write_text("wrong")
    token = tmp_path / "token"
    token.write_text("abc.def")
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=x.PlainLoginModule required username=alice password=alice-secret;\n"
    )
    with Loopback(mechanisms=MECHANISMS) as broker:
        user = ("broker", broker.address, "--mechanism", "SCRAM-SHA-256", "--user", "alice")
        assert run(*user, "--password-file", secret).code == 0
        assert run("broker", broker.address, "--mechanism", "OAUTHBEARER", "--token-file", token).code == 0
        assert run("broker", broker.address, "--config", config).code == 0
        refused = run(*user, "--password-file", wrong)
        monkeypatch.setenv("KWIRE_PASSWORD", USERS["alice"])
        assert run(*user).code == 0
    assert (refused.code, refused.out) == (3, "")
    refusal = f"kwire: {broker.address}: refuses the login of 'alice' with SCRAM-SHA-256: invalid credentials\n"
    assert refused.err == refusal


@pytest.mark.slow
def test_tls_by_options(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certificates(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=made.ca)
    context.load_cert_chain(made.server)
    context.verify_mode = ssl.CERT_REQUIRED
    monkeypatch.setenv("KWIRE_KEY_PASSWORD", "key-secret")
    config = tmp_path / "client.properties"
    config.write_text(
        f"security.protocol=SSL\nssl.truststore.location={made.ca}\nssl.keystore.location={made.client}"
    )
    with Loopback(context=context) as broker:
        known = ("--ca", made.ca, "--cert", made.client, "--key", made.encrypted_key)
        monkeypatch.setenv("KWIRE_KEY_PASSWORD", "key-secret")
        assert run("broker", broker.address, *known).code == 0
        assert run("broker", broker.address, "--config", config).code == 0
        untrusted = run("broker", broker.address, "--tls")
    assert (untrusted.code, untrusted.err.count("\n")) == (3, 1)


@click.command
@connecting
def connection(**values: Any) -> Options:
    return Options(**values)


def options(*arguments: object) -> Options:
    """The options of a connection."""
    found: Options = connection.main([ELSEWHERE, *map(str, arguments)], standalone_mode=False)
    return found


@pytest.mark.parametrize("name", group.list_commands(click.Context(group)))
def test_every_option_is_explained(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command
    assert [option.name for option in command.params if isinstance(option, click.Option) and not option.help] == []


@pytest.mark.parametrize(
    ("option", "unit", "right", "wrong"),
    [
        ("timeout", 1, ["0.001", "10", "3600"], ["0", "-1", "3601", "inf", "nan", "x"]),
        ("max_response", 1 << 20, ["1", "16", "300"], ["0", "-1", "301", "1.5"]),
    ],
)
def test_numbers_have_limits(option: str, unit: int, right: list[str], wrong: list[str]) -> None:
    name = f"--{option.replace('_', '-')}"
    assert [getattr(options(name, text), option) for text in right] == [float(text) * unit for text in right]
    for text in wrong:
        with pytest.raises(click.BadParameter, match=f"above 0 and at most {right[-1]}, got '{text}'"):
            options(f"{name}={text}")


def test_without_options_there_are_limits_and_no_login() -> None:
    found = options()
    assert (found.timeout, found.max_response, security(found)) == (10.0, 2 << 20, Security())


@pytest.mark.long
def test_limits_are_those_of_the_options(run: Any) -> None:
    long = MetadataResponse(cluster_id="c", topics=[MetadataResponseTopic(name="x" * 30_000)] * 50)
    with Loopback({"Metadata": lambda request: long}) as broker:
        assert run("call", broker.address, "Metadata").code == 0
        assert "the limit is 1048576" in run("call", broker.address, "Metadata", "--max-response", 1).err
    with Other(None) as silent:
        assert "no answer within 0.2 s" in run("call", silent.address, "Metadata", "--timeout", 0.2).err


@pytest.mark.parametrize(
    ("written", "password"), [("a\n", "a"), ("a\r\n", "a"), (" a b ", " a b "), ("a", "a"), ("\na\n\n", "\na")]
)
def test_a_password_is_all_but_the_end_of_the_line(tmp_path: Path, written: str, password: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(written.encode())
    login = security(options(*PASSWORD, "--password-file", file)).sasl
    assert login == Sasl(mechanism="PLAIN", username="alice", password=password)


def test_a_password_is_asked_for_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KWIRE_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("kwire.command.connecting.getpass", lambda prompt: f"answer to {prompt!r}")
    login = security(options("--mechanism", "PLAIN", "--user", "al\x1bice")).sasl
    assert login
    assert login.password == r"answer to 'password for al\\u001bice: '"


def test_options_go_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token, config = tmp_path / "token", tmp_path / "client.properties"
    monkeypatch.setenv("KWIRE_PASSWORD", "secret")
    config.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n")
    found = security(options("--config", config, "--token-file", token))
    assert found == Security(sasl=Sasl(mechanism="OAUTHBEARER", token_file=str(token)), plaintext_login=True)
    found = security(options("--config", config, "--token-file", token, *PASSWORD))
    assert found.sasl == Sasl(mechanism="PLAIN", username="alice", password="secret")
    token.write_text("of-the-file")
    found = security(options("--password-file", token, *PASSWORD))
    assert found.sasl == Sasl(mechanism="PLAIN", username="alice", password="of-the-file")
    monkeypatch.setenv("KWIRE_TOKEN", "t")
    found = security(options("--mechanism", "OAUTHBEARER", "--token-file", token))
    assert found.sasl == Sasl(mechanism="OAUTHBEARER", token="t", token_file=str(token))
    assert security(options("--plaintext-login")) == Security(plaintext_login=True)


def test_certificates_mean_tls(tmp_path: Path) -> None:
    made = Certificates(tmp_path)
    for chosen in (["--tls"], ["--ca", made.ca], ["--cert", made.client]):
        assert security(options(*chosen)).tls is not None


def test_an_interrupted_command_has_the_exit_code_of_a_shell(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kwire.client.client.open_connection", interrupted)
    assert run("broker", ELSEWHERE) == (130, "", "")


@pytest.mark.slow
def test_what_goes_wrong_is_one_line_and_exit_code_3(run: Any) -> None:
    with socket.create_server((HOST, 0)) as listener:
        closed = listener.getsockname()[1]
    results = [run("broker", f"{HOST}:{closed}"), run("call", "nowhere.invalid:9092", "Metadata")]
    for server in (HttpServer(), Other(b"HTTP/1.1 400\r\n"), Other(b"\x15\x03\x03\0\x02\x02\x50"), Other(b"")):
        with server as other:
            results.append(run("broker", other.address, "--timeout", "0.5"))
    with Loopback() as plain:
        results.append(run("broker", plain.address, "--tls"))
        results.append(run("call", plain.address, "91"))  # an API that it does not have
    with Loopback(mechanisms=MECHANISMS) as wants_login:
        results.append(run("broker", wants_login.address))
    for result in results:
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith("kwire: ")
        assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [("b", ("b", 9092)), ("b.example:1", ("b.example", 1)), ("[::1]:9093", ("::1", 9093)), ("[::1]", ("::1", 9092))],
)
def test_addresses(text: str, found: tuple[str, int]) -> None:
    assert parse_address(text) == found


@pytest.mark.parametrize("text", ["", ":9092", "b:", "b:0", "b:65536", "b:009092", "b:x", "::1", "a:1,b:2"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT"):
        parse_address(text)


FIT = BrokerFit(
    ("1.0", "1.1"),
    "broker",
    False,
    (
        ApiFit(0, "Produce", range(3, 12), (range(3), range(12, 14)), (), (), ()),
        ApiFit(1, "Fetch", range(4, 5), (), (range(4, 5),), (range(5, 7),), (range(1), range(2, 4))),
        ApiFit(1000, "OffsetForLeaderEpoch", range(0), (range(1),), (), (), ()),
    ),
)
ANSWER = BrokerAnswer(
    name="b\n:1",
    apis={0: range(3, 12), 1: range(4, 5)},
    features=(
        Feature("both", (1, 3), (2, 4)),
        Feature("supported", (0, 1), None),
        Feature("finalized", None, (5, 6)),
    ),
    cluster_id="",
    controller_id=None,
    nodes=(Node(1, "h", 9092, None), Node(20, "::1", 1, "r\x1b"), Node(-1, "i", 2, "")),
)


def test_all_that_is_printed_of_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list(_text(ANSWER, FIT))
    for most, more in ((3, []), (2, ["            and 1 other"])):
        monkeypatch.setattr("kwire.command.broker.MAX_LINES", most)
        nodes, features = lines[3 : 3 + most] + more, lines[6 : 6 + most] + more
        assert list(_text(ANSWER, FIT)) == [*lines[:3], *nodes, *features, *lines[9:]]
    assert lines == [
        r"b\u000a:1 fits no known release; the nearest is Kafka 1.0, 1.1 (broker)",
        "",
        "cluster     , controller None",
        "nodes       1 at h:9092",
        r"            20 at [::1]:1, rack r\u001b",
        "            -1 at i:2",
        "features    both at level 4, supported 1-3",
        "            supported not finalized, supported 0-1",
        "            finalized at level 6, unsupported",
        "",
        "API                    key  versions  against 1.1",
        "Produce                  0  3-11      lacks 0-2, 12-13",
        "Fetch                    1  4         more 4; unstable 5-6; refused 0, 2-3",
        "OffsetForLeaderEpoch  1000  none      lacks 0",
    ]
    long = BrokerAnswer(name="b:1", apis={}, nodes=(Node(1, "h" * 300, 9092, None),))
    assert list(_text(long, FIT))[2] == f"nodes       1 at {'h' * 194}…"
    one = BrokerFit(("1.0",), "", True, FIT.apis[:1])
    assert list(_text(BrokerAnswer(name="b:1", apis={}), one)) == [
        "b:1 fits Kafka 1.0",
        "",
        "",
        "API      key  versions  against 1.0",
        "Produce    0  3-11      lacks 0-2, 12-13",
    ]


def test_all_of_a_broker_as_json() -> None:
    rows = [
        (0, "Produce", 3, 11, "0-2, 12-13", "", "", ""),
        (1, "Fetch", 4, 4, "", "4", "5-6", "0, 2-3"),
        (1000, "OffsetForLeaderEpoch", None, None, "0", "", "", ""),
    ]
    names = ("api_key", "name", "min_version", "max_version", "lacks", "more", "unstable", "refused")
    assert as_json(ANSWER, FIT) == {
        "broker": "b\n:1",
        "releases": ("1.0", "1.1"),
        "exact": False,
        "listener": "broker",
        "cluster_id": "",
        "controller_id": None,
        "nodes": [
            {"id": 1, "host": "h", "port": 9092, "rack": None},
            {"id": 20, "host": "::1", "port": 1, "rack": "r\x1b"},
            {"id": -1, "host": "i", "port": 2, "rack": ""},
        ],
        "features": [
            {"name": "both", "supported": (1, 3), "finalized": (2, 4)},
            {"name": "supported", "supported": (0, 1), "finalized": None},
            {"name": "finalized", "supported": None, "finalized": (5, 6)},
        ],
        "apis": [dict(zip(names, row, strict=True)) for row in rows],
    }
