"""The client with a broker of our own: versions, logins, TLS, and a sentence for each thing that goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError, EncodeError, MessageRegistry, Uuid, __version__
from kwire.client import (
    AuthenticationError,
    BrokerError,
    Client,
    Sasl,
    Security,
    SecurityError,
    ask,
    connect,
    tls_context,
)
from kwire.client.client import _is_http
from kwire.client.errors import reason
from kwire.client.opening import open_connection
from kwire.client.replaced import check_replaced, replaced_fields
from kwire.command.broker import as_json
from kwire.connection import NoCommonVersionError
from kwire.frames import frame
from kwire.message import Message
from kwire.releases import BrokerAnswer, Feature, Node
from kwire.schema import Field, struct_class, walk
from kwire.struct import Struct
from kwire_kafka import (
    MODULES,
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetFetchRequest,
    ProduceRequest,
    ProduceResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kwire_kafka.api.api_versions import ApiVersion, FinalizedFeatureKey
from kwire_kafka.api.metadata import MetadataResponseBroker
from kwire_kafka.api.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from kwire_kafka.api.produce import TopicProduceData
from kwire_kafka.releases import RELEASES
from tests.runtime.client.loopback import (
    HOST,
    MECHANISMS,
    HttpServer,
    Loopback,
    Other,
    controllers,
    metadata,
    plain,
    scram,
    standard,
)
from tests.support.certificates import Certificates
from tests.support.effort import examples

METADATA = 3
NEWEST = PROTOCOL["ApiVersionsRequest"].VALID_VERSIONS[-1]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def server_context(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server)
    return context


async def metadata_of(client: Client) -> Any:
    return (await client.call(MetadataRequest(topics=[]))).expect(MetadataResponse)


def talk(port: int, what: Callable[[Client], Any] = metadata_of, *, host: str = HOST, **settings: Any) -> Any:
    """What comes of ``what`` on a connection."""

    async def run() -> Any:
        async with await connect(host, port, PROTOCOL, **{"timeout": 5.0, **settings}) as client:
            return await what(client)

    return asyncio.run(run())


def refusal(port: int, **settings: Any) -> str:
    """Why there is no connection, without the address."""
    with pytest.raises(BrokerError) as caught:
        talk(port, **settings)
    return str(caught.value).removeprefix(f"{settings.get('host', HOST)}:{port}: ")


def test_a_call_takes_the_newest_version_that_both_sides_know() -> None:
    with Loopback({"ApiVersions": lambda request: standard(Metadata=(0, 9))}) as broker:
        assert talk(broker.port).cluster_id == "cluster"
        assert talk(broker.port, lambda client: client.call(MetadataRequest(), 1)).version == 1
    asked = [one for one in broker.asked if one[0] != "ApiVersions"]
    assert asked == [("Metadata", 9), ("Metadata", 1)]


@pytest.mark.parametrize(("listed", "second"), [([(18, 0, 2)], 2), ([], 0)], ids=["since 2.4", "before 2.4"])
def test_trap_06_an_older_broker_is_asked_again(listed: list[tuple[int, int, int]], second: int) -> None:
    keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in listed]

    def answer(request: Any) -> Any:
        return standard() if request.version == second else ApiVersionsResponse(error_code=35, api_keys=keys)

    def in_version_0(request: Any) -> bytes:
        body = answer(request).encode(0 if request.version != second else second)
        return frame(request.correlation_id.to_bytes(4, "big") + body)

    with Loopback({"ApiVersions": in_version_0}) as broker:
        assert talk(broker.port).cluster_id == "cluster"
    assert broker.asked[:2] == [("ApiVersions", NEWEST), ("ApiVersions", second)]


def test_calls_at_once_take_turns() -> None:
    async def many(client: Client) -> Any:
        return await asyncio.gather(*[client.call(MetadataRequest(), version) for version in (1, 5, 9)])

    with Loopback() as broker:
        assert [response.version for response in talk(broker.port, many)] == [1, 5, 9]


def test_a_client_that_is_closed_leaves_at_once() -> None:
    async def closed(port: int) -> bool:
        client = await connect(HOST, port, PROTOCOL)
        assert not broker.left.is_set()
        await client.close()
        await client.close()
        with pytest.raises(BrokerError, match="the connection is closed"):
            await client.call(MetadataRequest())
        return await asyncio.to_thread(broker.left.wait, 5)

    with Loopback() as broker:
        assert asyncio.run(closed(broker.port))


def test_a_call_that_is_given_up_closes_the_connection() -> None:
    async def given_up(client: Client) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.call(MetadataRequest())
        with pytest.raises(BrokerError, match="the connection is closed"):
            await client.call(MetadataRequest())

    with Loopback({"Metadata": lambda request: b"\0"}) as broker:
        talk(broker.port, given_up)


@pytest.mark.parametrize(
    ("answers", "security"),
    [
        ({"ApiVersions": lambda request: b"\xff" * 4}, None),
        ({"ApiVersions": lambda request: frame(bytes(5))}, None),
        ({"ApiVersions": lambda request: ApiVersionsResponse(error_code=42)}, None),
        ({"ApiVersions": lambda request: standard(SaslHandshake=(9, 9))}, Sasl(mechanism="OAUTHBEARER", token="t")),
        ({}, Sasl(mechanism="OAUTHBEARER", token="t")),
    ],
    ids=["no Kafka", "not decodable", "an error", "no common version", "no such mechanism"],
)
def test_a_connection_that_fails_is_closed(answers: Any, security: Sasl | None) -> None:
    async def fail(port: int) -> bool:
        with pytest.raises(BrokerError) as caught:  # which keeps what was on the stack
            await connect(HOST, port, PROTOCOL, security=Security(sasl=security), timeout=5.0)
        return caught is not None and await asyncio.to_thread(broker.left.wait, 5)

    with Loopback(answers, mechanisms={"PLAIN": plain}) as broker:
        assert asyncio.run(fail(broker.port))


def test_requests_without_a_response_are_refused_before_they_are_sent() -> None:
    async def call(client: Client) -> Any:
        with pytest.raises(EncodeError, match="brokers do not answer requests with acks=0"):
            await client.call(ProduceRequest(acks=0))
        return await metadata_of(client)

    with Loopback() as broker:
        assert talk(broker.port, call).cluster_id == "cluster"
    assert "Produce" not in dict(broker.asked)


def test_what_a_broker_says_about_itself() -> None:
    listed = standard(Metadata=(4, 12))
    listed.finalized_features.append(FinalizedFeatureKey(name="other", min_version_level=2, max_version_level=3))
    brokers = [MetadataResponseBroker(node_id=number, host=f"b{number}", port=9090 + number) for number in (3, 2)]
    brokers[1].rack = "a"
    cluster = MetadataResponse(brokers=brokers, cluster_id="c", controller_id=2)
    with Loopback({"ApiVersions": lambda request: listed, "Metadata": lambda request: cluster}) as broker:
        answer = talk(broker.port, ask)
    assert answer == BrokerAnswer(
        name=broker.address,
        apis={api.api_key: range(api.min_version, api.max_version + 1) for api in listed.api_keys},
        features=(
            Feature("metadata.version", (1, 21), (7, 21)),
            Feature("kraft.version", (0, 1), None),
            Feature("other", None, (2, 3)),
        ),
        cluster_id="c",
        controller_id=2,
        nodes=(Node(3, "b3", 9093, None), Node(2, "b2", 9092, "a")),
    )
    assert answer.apis[METADATA] == range(4, 13)


def test_a_broker_is_asked_for_no_topics_and_a_controller_for_controllers() -> None:
    listed, asked = standard(), []

    def heard(request: Any) -> Message:
        asked.append(request.message)
        return metadata(request) if request.name == "Metadata" else controllers(request)

    answers = dict.fromkeys(("Metadata", "DescribeCluster"), heard)
    with Loopback({"ApiVersions": lambda request: listed, **answers}) as broker:
        talk(broker.port, ask)
        listed.api_keys = [api for api in listed.api_keys if api.api_key != METADATA]
        talk(broker.port, ask)
    assert [asked[0].topics, asked[1].endpoint_type] == [[], 2]  # null would be all topics


def test_a_controller_has_no_metadata_and_answers_describe_cluster() -> None:
    listed = standard()
    listed.api_keys = [api for api in listed.api_keys if api.api_key != METADATA]
    with Loopback({"ApiVersions": lambda request: listed}) as broker:
        answer = talk(broker.port, ask)
        assert answer.nodes == (Node(3, "c3", 9093, None),)
        listed.api_keys = [ApiVersion(api_key=18, min_version=0, max_version=4)]
        answer = talk(broker.port, ask)
        assert (answer.nodes, answer.cluster_id, answer.controller_id) == ((), None, None)
        with pytest.raises(NoCommonVersionError, match="the server does not support this API"):
            talk(broker.port)


@pytest.mark.parametrize("bare", [False, True], ids=["SaslAuthenticate", "bare tokens"])
@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        ("PLAIN", {"username": "alice", "password": "alice-secret"}),
        ("SCRAM-SHA-256", {"username": "alice", "password": "alice-secret"}),
        ("SCRAM-SHA-512", {"username": "o=o,o", "password": "odd"}),
        ("OAUTHBEARER", {"token": "abc.def"}),
    ],
)
def test_logins(mechanism: str, settings: dict[str, Any], bare: bool) -> None:
    listed = standard()
    if bare:
        listed.api_keys = [api for api in listed.api_keys if api.api_key != 36]
    with Loopback({"ApiVersions": lambda request: listed}, mechanisms=MECHANISMS, bare=bare) as broker:
        right = Security(sasl=Sasl(mechanism=mechanism, **settings))
        assert talk(broker.port, security=right).cluster_id == "cluster"
        others: dict[str, Any] = dict.fromkeys(settings, "alice")
        wrong = Security(sasl=Sasl(mechanism=mechanism, **others))
        with pytest.raises(AuthenticationError, match="refuses the login" if bare else r"(wrong|invalid) \w+$"):
            talk(broker.port, security=wrong)
    assert ("SaslHandshake", 0 if bare else 1) in broker.asked


@pytest.mark.parametrize(
    ("conversation", "reason"),
    [
        (partial(scram, "sha256", iterations=4095), "4095 SCRAM iterations: 4096 to 1000000 are accepted"),
        (partial(scram, "sha256", iterations=1_000_001), "1000001 SCRAM iterations"),
        (partial(scram, "sha256", iterations=10**12), "not valid for SCRAM"),
        (partial(scram, "sha256", nonce="another"), "not valid for SCRAM"),
        (partial(scram, "sha256", final=b"v=" + b64encode(bytes(32))), "could not prove that it knows the password"),
        (partial(scram, "sha256", final=b"e=other-error"), "could not prove that it knows the password"),
        (lambda: iter([b"", b"\xff\0"]), "not valid for SCRAM"),
        (lambda: iter([b"", b"r=,s=,i="]), "not valid for SCRAM"),
    ],
)
def test_a_server_that_breaks_the_rules_of_scram_is_not_trusted(conversation: Any, reason: str) -> None:
    def started() -> Any:
        made = conversation()
        return made if hasattr(made, "send") else (item for item in made)

    sasl = Sasl(mechanism="SCRAM-SHA-256", username="alice", password="alice-secret")
    with Loopback(mechanisms={"SCRAM-SHA-256": started}) as broker, pytest.raises(AuthenticationError, match=reason):
        talk(broker.port, security=Security(sasl=sasl))


def test_a_server_of_scram_may_add_extensions_to_what_it_says() -> None:
    """As RFC 5802 allows: the client signs them and does not read them."""
    sasl = Sasl(mechanism="SCRAM-SHA-256", username="alice", password="alice-secret")
    with Loopback(mechanisms={"SCRAM-SHA-256": partial(scram, "sha256", more=",x=new")}) as broker:
        assert talk(broker.port, security=Security(sasl=sasl)).cluster_id == "cluster"


def test_a_client_has_a_name_for_the_quotas_and_logs_of_the_broker() -> None:
    seen: list[str | None] = []

    def answer(request: Any) -> Message:
        seen.append(request.header.client_id)
        return metadata(request)

    for settings in ({}, {"client_id": "mine"}, {"client_id": None}):
        with Loopback({"Metadata": answer}) as broker:
            talk(broker.port, **settings)
    assert seen == ["kwire", "mine", None]


def test_a_client_says_what_software_it_is() -> None:
    heard: list[Message] = []

    def answer(request: Any) -> Message:
        heard.append(request.message)
        return standard()

    with Loopback({"ApiVersions": answer}) as broker:
        talk(broker.port)
    said = ApiVersionsRequest(client_software_name="kwire", client_software_version=__version__)
    assert heard == [said]


def test_long_texts_of_a_broker_are_cut() -> None:
    sasl = Sasl(mechanism="OAUTHBEARER", token="abc.def")

    def refusing() -> Any:
        yield
        yield b"no" * 5000
        yield b""

    with Loopback(mechanisms={"OAUTHBEARER": refusing}) as broker:
        assert 900 < len(refusal(broker.port, security=Security(sasl=sasl))) <= 1000
    with Loopback(mechanisms={"M" * 30_000: plain}) as broker:
        assert 900 < len(refusal(broker.port, security=Security(sasl=sasl))) <= 1100


def test_logins_that_cannot_be() -> None:
    scram_user = Security(sasl=Sasl(mechanism="SCRAM-SHA-512", username="alice", password="x"))
    with Loopback(mechanisms={"PLAIN": plain}) as broker:
        assert refusal(broker.port, security=scram_user) == "does not support SCRAM-SHA-512. It supports: PLAIN"
        wrong = Security(sasl=Sasl(mechanism="PLAIN", username="alice", password="x"))
        assert refusal(broker.port, security=wrong) == "refuses the login of 'alice' with PLAIN: wrong password"
        assert refusal(broker.port).startswith("closed the connection instead of answering Metadata. A broker does")
    with Loopback(mechanisms={}) as broker:
        assert refusal(broker.port, security=scram_user).endswith("It supports: none")
    with Loopback(mechanisms={f"M{number}": plain for number in range(21)}) as broker:
        twenty = ", ".join(f"M{number}" for number in range(20))
        assert refusal(broker.port, security=scram_user).endswith(f"It supports: {twenty}")
    without_text = {"SaslAuthenticate": lambda request: SaslAuthenticateResponse(error_code=58)}
    with Loopback(without_text, mechanisms={"PLAIN": plain}) as broker:
        assert refusal(broker.port, security=wrong) == "refuses the login of 'alice' with PLAIN: error 58"
    no_sasl = {"SaslHandshake": lambda request: PROTOCOL["SaslHandshakeResponse"](error_code=34)}  # type: ignore[call-arg]
    with Loopback(no_sasl) as broker:
        assert refusal(broker.port, security=scram_user).startswith("this port does not accept logins")


def test_tls(server_context: ssl.SSLContext, certificates: Certificates) -> None:
    trusting = Security(tls=tls_context(ca=certificates.ca))
    with Loopback(context=server_context) as broker:
        assert talk(broker.port, security=trusting).cluster_id == "cluster"
        untrusting = Security(tls=tls_context())
        assert refusal(broker.port, security=untrusting).startswith("its certificate is not trusted: ")
        other_name = refusal(broker.port, security=trusting, host="localhost")
        assert "Hostname mismatch" in other_name or "connection refused" in other_name  # localhost may be ::1 alone
        lenient = Security(tls=tls_context(ca=certificates.ca, check_hostname=False))
        assert talk(broker.port, security=lenient).cluster_id == "cluster"
        in_plain_text = refusal(broker.port)
        assert in_plain_text.startswith(("this port speaks TLS: use --tls", "closed the connection"))
    with Loopback() as broker:
        assert refusal(broker.port, security=trusting).startswith("does not speak TLS")
    with Other(b"", context=server_context) as broker:
        assert refusal(broker.port, security=trusting).endswith("ApiVersions. A broker before 0.10 does this")


def test_a_certificate_of_the_client(server_context: ssl.SSLContext, certificates: Certificates) -> None:
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_verify_locations(certificates.ca)
    with Loopback(context=server_context) as broker:
        known = Security(tls=tls_context(ca=certificates.ca, certificate=certificates.client))
        assert talk(broker.port, security=known).cluster_id == "cluster"
        unknown = refusal(broker.port, security=Security(tls=tls_context(ca=certificates.ca)))
        assert unknown.startswith(("refuses the TLS connection: ", "does not speak TLS"))


def test_no_broker_at_all() -> None:
    with socket.create_server((HOST, 0)) as listener:
        free = listener.getsockname()[1]
    assert refusal(free) == "connection refused: nothing listens on this port"
    assert refusal(free, host="nowhere.invalid").startswith("unknown host (")
    assert refusal(free, host="a..b") == "not a valid host name"


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (Other(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "an HTTP server, not a Kafka broker"),
        (HttpServer(), "an HTTP server, not a Kafka broker"),
        (
            Other(b"\x15\x03\x03\0\x02\x02\x50"),
            "this port speaks TLS: use --tls, .*, or in Python Security.tls=tls_context.*",
        ),
        (Other(b"220 mail.example ESMTP\r\n"), "does not speak Kafka: a frame of 842149920 bytes, .*"),
        (Other(b"\xff" * 4), "does not speak Kafka: a frame of -1 bytes, .*"),
        (Other(frame(b"abc")), "does not speak Kafka: .* a response of 3 bytes has no correlation id"),
        (Other(frame(b"abcd")), "does not speak Kafka: .* expected the response to 0, got one to 1633837924"),
        (Other(frame(bytes(5))), "does not speak Kafka: ApiVersionsResponse v.*"),
        (
            Other(frame(bytes(4) + b"\0\x2a" + bytes(20))),
            "does not speak Kafka: .*|answers ApiVersions with error 42",
        ),
        (
            Other((17 << 20).to_bytes(4, "big")),
            "answers with a frame of 17825792 bytes, but the limit is 16777216: raise --max-response, .*",
        ),
        (Other(b""), "closed the connection instead of answering ApiVersions. A TLS port .*"),
        (Other(b"\0\0\0\x05ab"), "closed the connection instead of answering ApiVersions. .*"),
        (Other(None), "no answer within 0.3 s"),
    ],
)
def test_what_is_not_kafka_is_named_in_a_sentence(
    server: Loopback, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwire.client.client.HTTP_SECONDS", 1.0)
    with server as broker:
        silent = isinstance(server, HttpServer) or "no answer" in reason
        if not silent:
            monkeypatch.setattr("kwire.client.client._is_http", None)  # it has said what it is
        assert re.fullmatch(reason, refusal(broker.port, timeout=0.3 if silent else 5.0))


ALERT = ssl.SSLError(1, "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:1)")
ALERT.reason = "TLSV1_ALERT_UNKNOWN_CA"
PLAIN_TEXT = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1)")
PLAIN_TEXT.reason = "WRONG_VERSION_NUMBER"
UNNAMED = ssl.SSLError(1, "odd")
UNNAMED.reason = None  # type: ignore[assignment]
UNTRUSTED = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:1)")
UNTRUSTED.verify_message = "self-signed certificate"


@pytest.mark.parametrize(
    ("error", "tls", "text"),
    [
        (UNTRUSTED, True, "its certificate is not trusted: self-signed certificate"),
        (ALERT, True, "refuses the TLS connection: TLSV1_ALERT_UNKNOWN_CA"),
        (PLAIN_TEXT, True, "does not speak TLS: is this a plaintext port?"),
        (ConnectionResetError(104, "reset"), True, "does not speak TLS: is this a plaintext port?"),
        (ConnectionResetError(104, "reset"), False, "closed the connection"),
        (UNNAMED, True, "does not speak TLS: is this a plaintext port?"),
        (UNNAMED, False, "odd"),
        (ConnectionRefusedError(), True, "connection refused: nothing listens on this port"),
        (TimeoutError(), True, "no answer within 1.5 s"),
        (OSError(113, "No route to host"), False, "No route to host"),
        (OSError("70000 is not a valid port"), False, "70000 is not a valid port"),
        (socket.gaierror(-2, "Name or service not known"), False, "unknown host (Name or service not known)"),
        ("a..b".encode, False, "not a valid host name"),
        (DecodeError("a frame of 9 bytes", message_name="frame"), False, "does not speak Kafka: a frame of 9 bytes"),
        (
            DecodeError("too large", message_name="frame", data=(300 << 20).to_bytes(4, "big")),
            False,
            "answers with too large: raise --max-response, or in Python max_response",
        ),
        (
            DecodeError("too large", message_name="frame", data=(1 << 20).to_bytes(4, "big") + b"its start"),
            False,
            "answers with too large: raise --max-response, or in Python max_response",
        ),
        (
            DecodeError("too large", message_name="frame", data=((300 << 20) + 1).to_bytes(4, "big")),
            False,
            "does not speak Kafka: too large",
        ),
        (
            DecodeError("no", message_name="X", version=1, data=b"x"),
            False,
            "does not speak Kafka: X v1, byte 0 of 1: no",
        ),
    ],
)
def test_reasons_are_what_the_user_can_correct(error: Any, tls: bool, text: str) -> None:
    if callable(error):
        with pytest.raises(UnicodeError) as caught:
            error("idna")
        error = caught.value
    assert reason(error, tls=tls, seconds=1.5) == text


def test_a_broker_has_to_add_to_the_nonce_of_scram() -> None:
    """RFC 5802, 5.1: the second message of the conversation extends the nonce of the first."""
    for added, accepted in (("", False), ("x", True)):
        conversation = Sasl(mechanism="SCRAM-SHA-256", username="alice", password="p").conversation()
        opening = next(conversation).decode()
        nonce = opening.partition(",r=")[2]
        challenge = f"r={nonce}{added},s=c2FsdA==,i=4096".encode()
        if accepted:
            assert conversation.send(challenge).startswith(b"c=biws,r=")
        else:
            with pytest.raises(AuthenticationError, match="not valid for SCRAM"):
                conversation.send(challenge)


def test_the_conversations_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7677, 3, with one more attribute after the server's proof, which RFC 5802, 5.1 allows."""
    sizes: list[int] = []

    def token_bytes(size: int) -> bytes:
        sizes.append(size)
        return b64decode("rOprNGfwEbeRWgbNEkqO")

    monkeypatch.setattr("secrets.token_bytes", token_bytes)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    scram = Sasl(mechanism="SCRAM-SHA-256", username="user", password="pencil").conversation()
    assert next(scram) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    answer = scram.send(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert answer == f"c=biws,r={nonce},p={proof}".encode()
    with pytest.raises(StopIteration):
        scram.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=,x=more")
    token = Sasl(mechanism="SCRAM-SHA-512", username="a=b,c", password="x", by_token=True).conversation()
    assert next(token) == b"n,,n=a=3Db=2Cc,r=rOprNGfwEbeRWgbNEkqO,tokenauth=true"
    with pytest.raises(AuthenticationError, match="not valid for SCRAM"):
        token.send(f"r={nonce},s=W22ZaJ0,i=4096".encode())
    assert min(sizes) >= 16


def test_a_token_goes_before_its_file_and_extensions_after_it() -> None:
    login = Sasl(mechanism="OAUTHBEARER", token="t.t", token_file="/no/file", extensions={"a": "1", "b": "2"})
    assert next(login.conversation()) == b"n,,\1auth=Bearer t.t\1a=1\1b=2\1\1"
    for user, password in (("alice", ""), ("", "x")):
        with pytest.raises(SecurityError, match="SASL mechanism PLAIN requires a user name and a password"):
            Sasl(mechanism="PLAIN", username=user, password=password)


def test_nothing_is_left_of_a_name_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    done, told = threading.Event(), []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: [done.wait(30)])

    async def give_up() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(open_connection("slow.example", 9092), 0.05)
        asking = [thread for thread in threading.enumerate() if thread.daemon and "ask" in thread.name]
        done.set()
        for thread in asking:
            await asyncio.to_thread(thread.join, 5)
        assert asking
        await asyncio.sleep(0)

    asyncio.run(give_up())
    assert told == []


def test_a_name_that_takes_long_to_resolve_outlasts_no_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    done, asked, waited = threading.Event(), [], []

    def resolve(*given: object, **named: object) -> list[Any]:
        asked.append(given)
        waited.append(done.wait(30))
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        assert refusal(9092, host="slow.example", timeout=0.1) == "no answer within 0.1 s"
        assert (len(asked), waited) == (1, [])  # nobody was there to be tried as a server of HTTP
    finally:
        done.set()


def test_no_socket_is_left_open_by_a_connection_that_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    async def wait(loop: object, end: socket.socket, address: object) -> None:
        tried.append(end)
        await asyncio.sleep(30)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", wait)
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(open_connection(HOST, 9092), 0.05))
    assert [end.fileno() for end in tried] == [-1]


@pytest.mark.parametrize("port", [-1, 0, 1 << 16, 1 << 70])
def test_what_is_no_port_is_refused(port: int) -> None:
    """The system takes the rest of a division by 65536 for the port."""
    with pytest.raises(BrokerError, match=f"{port} is not a valid port"):
        talk(port)


def test_whatever_happens_while_a_name_is_resolved_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("not a host")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(TypeError, match="not a host"):
        talk(1, timeout=5)


def test_connecting_does_not_hold_up_the_loop() -> None:
    """A loop in debug mode refuses sockets that wait."""

    async def connect(port: int) -> None:
        _, writer = await open_connection(HOST, port)
        assert writer.get_extra_info("socket").gettimeout() == 0
        writer.close()

    with Loopback() as broker:
        asyncio.run(connect(broker.port), debug=True)


def test_the_addresses_of_a_host_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as listener:
        closed = listener.getsockname()
    with Loopback() as broker:
        ends = [closed, (HOST, broker.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", end) for end in ends]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: found)
        real, made = socket.socket, []

        def kept(*given: Any, **named: Any) -> socket.socket:
            made.append(real(*given, **named))
            return made[-1]

        monkeypatch.setattr(socket, "socket", kept)
        assert talk(broker.port, host="broker.example").cluster_id == "cluster"
        assert made[0].fileno() == -1  # closed, and not left to the collector
        found.pop()
        assert refusal(broker.port, host="broker.example") == "connection refused: nothing listens on this port"
        found.pop()
        assert refusal(broker.port, host="broker.example") == "broker.example has no address"


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (
            lambda request: None,
            BrokerError,
            "B: closed the connection instead of answering Metadata. A broker does this if it does not support the "
            "version or requires a login",
        ),
        (lambda request: b"\0", BrokerError, "B: Metadata: no answer within 0.5 s"),
        (
            lambda request: b"\x7f\0\0\0",
            BrokerError,
            "B: Metadata: does not speak Kafka: a frame of 2130706432 bytes, but the limit is 16777216",
        ),
        (
            lambda request: frame(request.data[4:8] + b"\0"),
            DecodeError,
            "MetadataResponse v12, field throttle_time_ms, byte 5 of 5: int32 needs 4 bytes, 0 left",
        ),
        (
            lambda request: frame(request.data[4:8]),
            DecodeError,
            "ResponseHeader v1, field tagged fields, byte 4 of 4: the number of tagged fields needs 1 byte, 0 left",
        ),
        (
            lambda request: frame(bytes(4)),
            BrokerError,
            "B: Metadata: does not speak Kafka: ResponseHeader, byte 0 of 4: expected the response to 1, "
            "got one to 0",
        ),
        (
            lambda request: frame(b""),
            BrokerError,
            "B: Metadata: does not speak Kafka: ResponseHeader, byte 0 of 0: a response of 0 bytes has no "
            "correlation id",
        ),
    ],
)
def test_a_bad_answer_to_a_call(answer: Any, error: type[Exception], told: str) -> None:
    """The connection is closed, unless it was an answer to the call that cannot be decoded."""
    after = "B: the connection is closed" if error is BrokerError else told

    async def twice(client: Client) -> list[str]:
        reasons = []
        for _ in range(2):
            with pytest.raises(error) as caught:
                await client.call(MetadataRequest())
            reasons.append(str(caught.value).replace(client.address, "B"))
        return reasons

    with Loopback({"Metadata": answer}) as broker:
        assert talk(broker.port, twice, timeout=0.5) == [told, after]


def test_a_connection_that_the_broker_closed_stays_closed() -> None:
    async def twice(client: Client) -> None:
        for problem in ("closed the connection instead of answering Metadata", "the connection is closed"):
            with pytest.raises(BrokerError, match=problem):
                await client.call(MetadataRequest())

    with Loopback({"Metadata": lambda request: None}) as broker:
        talk(broker.port, twice)


def test_the_time_to_connect_is_that_of_all_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire.client.client._is_http", None)  # it has said that it is none

    def late(request: Any) -> Message:
        time.sleep(0.15)
        return standard() if request.name == "ApiVersions" else SaslHandshakeResponse(error_code=34)

    login = Security(sasl=Sasl(mechanism="PLAIN", username="alice", password="x"))
    with Loopback(dict.fromkeys(("ApiVersions", "SaslHandshake"), late)) as broker:
        assert refusal(broker.port, security=login, timeout=0.25) == "no answer within 0.25 s"


def test_an_error_instead_of_versions_is_one_of_the_connection() -> None:
    with Loopback({"ApiVersions": lambda request: ApiVersionsResponse(error_code=42)}) as broker:
        assert refusal(broker.port) == "answers ApiVersions with error 42"
    assert broker.asked == [("ApiVersions", NEWEST)]


def test_the_address_of_a_broker_can_be_read_again() -> None:
    with pytest.raises(BrokerError, match=r"^\[::1\]:1: "):
        talk(1, host="::1")


def test_a_broker_without_a_common_version() -> None:
    newer = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, min_version=90, max_version=99)])
    answer = frame(bytes(4) + newer.encode(0))
    with Loopback({"ApiVersions": lambda request: answer}) as broker:
        assert refusal(broker.port).startswith(
            "ApiVersionsRequest: the server supports versions 90 to 99, the client 0 to"
        )
    listed = standard()
    listed.api_keys = [api for api in listed.api_keys if api.api_key != 17]
    sasl = Security(sasl=Sasl(mechanism="PLAIN", username="alice", password="x"))
    with Loopback({"ApiVersions": lambda request: listed}) as broker:
        assert refusal(broker.port, security=sasl) == "SaslHandshakeRequest: the server does not support this API"


SHARE = st.floats(0, 1, exclude_max=True)
DAMAGE = st.tuples(st.lists(st.tuples(SHARE, st.integers(0, 255)), max_size=3), st.just(1.0) | SHARE)
"""Bytes to change, by their place in the message, and the part that is sent."""


@pytest.mark.slow
@examples(0.3)
@given(st.tuples(DAMAGE, DAMAGE))
def test_no_answer_leads_to_another_error(damages: Any) -> None:
    def damaged(request: Any, message: Any, header: bytes, damage: Any) -> bytes:
        body = bytearray(message.encode(request.version))
        for share, value in damage[0]:
            body[int(share * len(body))] = value
        return frame(request.data[4:8] + header + bytes(body[: int(damage[1] * len(body))]))

    answers = {
        "ApiVersions": lambda request: damaged(request, standard(), b"", damages[0]),
        "Metadata": lambda request: damaged(request, metadata(request), b"\0", damages[1]),
    }
    with Loopback(answers) as broker:
        try:
            answer = talk(broker.port, ask)
        except (BrokerError, DecodeError):
            return
    assert json.loads(json.dumps(as_json(answer, RELEASES.fit(answer))))["broker"] == broker.address


def test_a_response_in_a_version_that_nobody_knows_is_named() -> None:
    """As in a protocol whose response has fewer versions than its request."""
    requests = {3: "MetadataRequest", 18: "ApiVersionsRequest"}
    responses = {3: "HeartbeatResponse", 18: "ApiVersionsResponse"}
    odd = MessageRegistry("kwire_kafka", MODULES, {}, requests, responses, {})

    async def asked(port: int) -> None:
        async with await connect(HOST, port, odd) as client:
            with pytest.raises(BrokerError, match=r"^127.0.0.1:\d+: answers MetadataRequest in an unknown version$"):
                await client.call(MetadataRequest(topics=[]))

    with Loopback() as broker:
        asyncio.run(asked(broker.port))


@pytest.mark.parametrize(
    ("reply", "http"), [(b"HTTP/1.0 ", True), (b"HTTP/1.0", False), (b"", False), (b"220 mail.example", False)]
)
def test_a_silent_port_is_one_of_http_if_it_answers_a_whole_line_so(reply: bytes, http: bool) -> None:
    with Other(reply) as server:
        assert asyncio.run(_is_http(HOST, server.port)) is http


def test_a_limit_of_responses() -> None:
    def large(request: Any) -> Any:
        response: Any = metadata(request)
        response.cluster_id = "x" * 10_000
        return response

    with Loopback({"Metadata": large}) as broker:
        assert len(talk(broker.port).cluster_id) == 10_000
        with pytest.raises(BrokerError, match="the limit is 9000"):
            talk(broker.port, max_response=9000)


def test_the_example_in_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "broker.md").read_text()
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    with Loopback() as broker:
        asyncio.run(names["main"](HOST, broker.port))
    assert capsys.readouterr().out == "cluster range(0, 13)\n"


def test_secrets_are_not_shown() -> None:
    sasl = Sasl(mechanism="PLAIN", username="alice", password="hidden", extensions={"x": "hidden"})
    assert "alice" in repr(sasl)
    assert "hidden" not in repr(Security(sasl=sasl))
    assert "hidden" not in repr(Sasl(mechanism="OAUTHBEARER", token="hidden"))


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
@pytest.mark.parametrize(
    "host",
    ["broker.example", "192.0.2.1", "localhost.example", "not-localhost", "127.0.0.1.example", "0.0.0.0"],
)
def test_no_connection_for_a_login_in_clear_text(host: str, mechanism: str) -> None:
    sasl = Sasl(mechanism=mechanism, username="alice", password="hidden", token="hidden")
    with pytest.raises(SecurityError, match=f"^{mechanism} would send the .* to {host} in clear text") as refused:
        asyncio.run(connect(host, 9092, PROTOCOL, security=Security(sasl=sasl)))
    assert "hidden" not in str(refused.value)
    assert Security(sasl=sasl, tls=tls_context()).exposed(host) == ""
    Security(sasl=sasl, plaintext_login=True).check(host)


@pytest.mark.parametrize("host", ["localhost", "Localhost.", "127.0.0.1", "127.1.2.3", "::1"])
def test_a_login_on_this_machine_is_on_no_wire(host: str) -> None:
    Security(sasl=Sasl(mechanism="PLAIN", username="alice", password="hidden")).check(host)


def test_a_token_is_read_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    security = Security(sasl=Sasl(mechanism="OAUTHBEARER", token_file=file))
    with Loopback(mechanisms=MECHANISMS) as broker:
        file.write_text("abc.def\n")
        assert talk(broker.port, security=security).cluster_id == "cluster"
        file.write_text("old")
        assert refusal(broker.port, security=security) == "refuses the login with OAUTHBEARER: invalid token"
        for text in ("", "two words", "a\1b"):
            file.write_text(text)
            with pytest.raises(ValueError, match="the OAUTHBEARER token is empty or contains invalid characters"):
                talk(broker.port, security=security)
        file.write_bytes(b"\xff")
        with pytest.raises(ValueError, match=r"the token file cannot be read: .*utf-8"):
            talk(broker.port, security=security)
        file.unlink()
        with pytest.raises(ValueError, match=r"the token file cannot be read: .*No such file"):
            talk(broker.port, security=security)


def test_a_call_refuses_a_topic_by_name_in_a_version_that_has_ids() -> None:
    by_name = ProduceRequest(topic_data=[TopicProduceData(name="t")], acks=1)

    by_both = ProduceRequest(topic_data=[TopicProduceData(topic_id=Uuid(b"\1" * 16)), *by_name.topic_data], acks=1)

    async def refused(client: Client, request: ProduceRequest = by_name) -> str:
        with pytest.raises(EncodeError) as caught:
            await client.call(request, 13)
        return str(caught.value)

    with Loopback({"ApiVersions": lambda request: standard("4.1.1"), "Produce": produced}) as broker:
        reason = "version 13 drops this field: set topic_id instead"
        assert talk(broker.port, refused) == f"ProduceRequest v13, field topic_data[0].name: {reason}"
        assert f"field topic_data[1].name: {reason}" in talk(broker.port, partial(refused, request=by_both))
        assert talk(broker.port, lambda client: client.call(by_name, 12)).version == 12
        by_name.topic_data[0].topic_id = Uuid(b"\1" * 16)
        assert talk(broker.port, lambda client: client.call(by_name)).version == 13


def produced(request: Any) -> Message:
    return ProduceResponse()


def test_the_fields_that_versions_of_requests_replace() -> None:
    """What the rule finds: read it when definitions change."""
    found = set()
    for name in PROTOCOL:
        cls: Any = PROTOCOL[name]
        inner = [struct_class(owner, field) for _, owner, field in walk(cls)]
        owners: list[Any] = [cls, *filter(None, inner)]
        for owner in owners if name.endswith("Request") else []:
            for field, _, others in replaced_fields(owner, cls.VALID_VERSIONS[-1]):
                news = ", ".join(one.name for one in others)
                found.add(f"{name} {field.versions.stop}: {owner.__name__}.{field.name} → {news}")
    assert sorted(found) == [
        "AlterPartitionRequest 2: AlterPartitionRequestTopicData.topic_name → topic_id",
        "DeleteTopicsRequest 6: DeleteTopicsRequest.topic_names → topics",
        "EndQuorumEpochRequest 1: EndQuorumEpochRequestPartitionData.preferred_successors → preferred_candidates",
        "FetchRequest 13: FetchTopic.topic → topic_id",
        "FetchRequest 13: ForgottenTopic.topic → topic_id",
        "OffsetCommitRequest 10: OffsetCommitRequestTopic.name → topic_id",
        "OffsetFetchRequest 10: OffsetFetchRequestTopics.name → topic_id",
        "ProduceRequest 13: TopicProduceData.name → topic_id",
        "TxnOffsetCommitRequest 6: TxnOffsetCommitRequestTopic.name → topic_id",
        "UpdateMetadataRequest 1: UpdateMetadataBroker.v0_host → endpoints",
        "UpdateMetadataRequest 1: UpdateMetadataBroker.v0_port → endpoints",
    ]


def test_an_array_that_is_null_has_no_value_that_is_dropped() -> None:
    group = OffsetFetchRequestGroup(topics=None)
    check_replaced(OffsetFetchRequest(groups=[group]), 10)
    group.topics = [OffsetFetchRequestTopics(name="t")]
    with pytest.raises(EncodeError, match=r"field groups\[0\].topics\[0\].name: version 10 drops"):
        check_replaced(OffsetFetchRequest(groups=[group]), 10)


class Inner(Struct):
    """``old`` was replaced by two fields in version 2."""

    FIELDS = (
        Field("old", "Old", "string", range(2), ignorable=True),
        Field("one", "One", "int32", range(2, 3)),
        Field("two", "Two", "int32", range(2, 3)),
    )

    def __init__(self, old: str = "", one: int = 0, two: int = 0) -> None:
        self.old, self.one, self.two = old, one, two


class Middle(Struct):
    FIELDS = (Field("inner", "Inner", "Inner", range(3), nullable=range(3)),)

    def __init__(self, inner: Inner | None = None) -> None:
        self.inner = inner


class Outer(Message):
    FIELDS = (Field("items", "Items", "[]Middle", range(3)),)
    VALID_VERSIONS = range(3)

    def __init__(self, *items: Middle) -> None:
        self.items = [*items]


@pytest.mark.parametrize(
    ("items", "version", "place"),
    [
        ([Inner("x")], 1, None),
        ([Inner("x")], 2, 0),
        ([Inner(), Inner("x")], 2, 1),
        ([Inner("x", 1, 0)], 2, None),
        ([Inner("x", 0, 1), Inner("x")], 2, 1),
        ([None, Inner("x")], 2, 1),
    ],
)
def test_one_of_several_new_fields_is_enough_at_any_depth(
    items: list[Inner | None], version: int, place: int | None
) -> None:
    message = Outer(*map(Middle, items))
    if place is None:
        check_replaced(message, version)
    else:
        with pytest.raises(EncodeError) as caught:
            check_replaced(message, version)
        reason = "version 2 drops this field: set one or two instead"
        assert str(caught.value) == f"Outer v2, field items[{place}].inner.old: {reason}"


def test_a_call_may_have_a_timeout_of_its_own() -> None:
    answered = threading.Event()

    def late(request: Any) -> Message:
        answered.wait(5)
        return metadata(request)

    async def impatient(client: Client) -> None:
        with pytest.raises(BrokerError, match=r"Metadata: no answer within 0\.01 s"):
            await client.call(MetadataRequest(), timeout=0.01)
        answered.set()

    async def at_once(client: Client) -> None:
        with pytest.raises(BrokerError, match=r"Metadata: no answer within 0 s"):
            await client.call(MetadataRequest(), timeout=0)

    with Loopback({"Metadata": late}) as broker:
        talk(broker.port, impatient)
        talk(broker.port, at_once)
        assert talk(broker.port, lambda client: client.call(MetadataRequest(), timeout=9), timeout=5.0).version == 12
