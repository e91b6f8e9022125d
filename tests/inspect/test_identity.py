"""Who a client is: from when on which of its requests say so."""

from __future__ import annotations

import pytest

from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.headers import RequestHeader
from kwire_inspect.connections import request_context
from kwire_kafka import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.support.capture_files import Segment, recorded
from tests.support.connection_pieces import answered, asked, cells, conversation_pieces, pieces, values

BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse()
BEATING = [asked(BEAT, 4, 90), answered(BEATEN, 4, 90)]


def login(mechanism: str, *rounds: tuple[bytes, bytes], error: int = 0) -> list[Segment]:
    segments = [
        asked(SaslHandshakeRequest(mechanism=mechanism), 1, 1),
        answered(SaslHandshakeResponse(mechanisms=[mechanism]), 1, 1),
    ]
    for number, (token, answer) in enumerate(rounds, 2):
        response = SaslAuthenticateResponse(auth_bytes=answer, error_code=error)
        segments += [asked(SaslAuthenticateRequest(auth_bytes=token), 2, number), answered(response, 2, number)]
    return segments


def principals(segments: list[Segment]) -> list[str | None]:
    return values(pieces(segments), "principal", table="exchanges")


def test_software_is_known_from_the_request_on_that_tells_it() -> None:
    told = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
    segments = [*BEATING, asked(told, 3, 1), answered(ApiVersionsResponse(), 3, 1), *BEATING]
    rows = values(pieces(segments), "software_name", "software_version", table="exchanges")
    assert rows == [(None, None), ("lib", "1.2"), ("lib", "1.2")]
    assert values(pieces(segments), "software_name") == [None, None, "lib", "lib", "lib", "lib"]


def test_old_versions_of_api_versions_tell_nothing() -> None:
    segments = [asked(ApiVersionsRequest(), 2, 1), answered(ApiVersionsResponse(), 2, 1), *BEATING]
    assert values(pieces(segments), "software_name", table="exchanges") == [None, None]


NEWER = ApiVersionsRequest.VALID_VERSIONS.stop + 3


def newer_api_versions(name: str, version: str, number: int = 1) -> Segment:
    """An ApiVersions request of a version that no definition has: unknown fields follow the software."""
    software = b"".join(bytes([len(text) + 1]) + text.encode(errors="surrogateescape") for text in (name, version))
    header = RequestHeader(api_key=18, api_version=NEWER, correlation_id=number, client_id="me")
    return CLIENT, 0.0, frame(header.encode(2) + software + b"\x17" + bytes(range(0xE0, 0xF8)) + b"\x00")


def test_a_version_newer_than_known_tells_the_software_and_the_fallback_is_followed() -> None:
    refused = answered(ApiVersionsResponse(error_code=35), 0, 1)
    again = [asked(ApiVersionsRequest(), 2, 2), answered(ApiVersionsResponse(), 2, 2)]
    segments = [newer_api_versions("apache-kafka-java", "9.9.0"), refused, *again, *BEATING]
    columns = "api", "version", "response_version", "error_codes", "software_name", "software_version"
    software = "apache-kafka-java", "9.9.0"
    assert values(pieces(segments), *columns, table="exchanges") == [
        ("ApiVersions", NEWER, 0, [35], *software),
        ("ApiVersions", 2, 2, [], *software),
        ("Heartbeat", 4, 4, [], *software),
    ]


@pytest.mark.parametrize("name", ["", "a b", "-x", "\x1b[2J", "\udcff"])
def test_what_no_broker_would_accept_as_software_is_not_read_from_unknown_versions(name: str) -> None:
    segments = [newer_api_versions(name, "1"), answered(ApiVersionsResponse(error_code=35), 0, 1)]
    assert values(pieces(segments), "software_name", table="exchanges") == [None]


def test_plain() -> None:
    assert principals([*login("PLAIN", (b"\0alice\0hunter2", b"")), *BEATING]) == [None, None, "User:alice"]
    assert principals([*login("PLAIN", (b"alice\0alice\0x", b"")), *BEATING])[-1] == "User:alice"


SCRAM = [(b"n,,n=al=2Cice=3D,r=x", b"r=xy,s=c2FsdA==,i=4096"), (b"c=biws,r=xy,p=cHJvb2Y=", b"v=c2ln")]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_once_both_rounds_are_through(mechanism: str) -> None:
    assert principals([*login(mechanism, *SCRAM), *BEATING]) == [None, None, None, "User:al,ice="]


def test_who_logs_in_again_keeps_the_name_meanwhile() -> None:
    segments = login("PLAIN", (b"\0alice\0x", b""))
    assert principals([*segments, *segments, *BEATING]) == [None, None, *["User:alice"] * 3]


def test_another_handshake_begins_another_login() -> None:
    """Whoever was named before it was never accepted."""
    unanswered = login("PLAIN", (b"\0alice\0x", b""))[:-1]
    assert principals([*unanswered, *login("PLAIN", (b"\0bob\0x", b"")), *BEATING])[-1] == "User:bob"
    assert principals([*unanswered, *login("GSSAPI", (b"\x60", b"")), *BEATING])[-1] is None


def test_who_logged_in_keeps_the_name_when_it_tells_its_software() -> None:
    told = asked(ApiVersionsRequest(client_software_name="lib", client_software_version="1"), 3, 8)
    segments = [*login("PLAIN", (b"\0alice\0x", b"")), told, answered(ApiVersionsResponse(), 3, 8), *BEATING]
    assert (
        values(pieces(segments), "software_name", "principal", table="exchanges")[-2:] == [("lib", "User:alice")] * 2
    )


def test_escapes_in_a_name_are_read_once() -> None:
    rounds = [(b"n,,n=a=3D2Cb,r=x", SCRAM[0][1]), SCRAM[1]]
    assert principals([*login("SCRAM-SHA-256", *rounds), *BEATING])[-1] == "User:a=2Cb"


def test_who_is_refused_is_nobody() -> None:
    assert principals([*login("PLAIN", (b"\0alice\0wrong", b""), error=58), *BEATING])[-1] is None


@pytest.mark.parametrize(
    ("mechanism", "token"),
    [
        ("OAUTHBEARER", b"n,,\x01auth=Bearer x\x01\x01"),
        ("GSSAPI", b"\x60\x03\x06\x01\x02"),
        ("PLAIN", b"alice"),
        ("PLAIN", b"\0\0"),
        ("SCRAM-SHA-256", b"n,,n=tokenid,r=x,tokenauth=true"),
        ("SCRAM-SHA-256", b"n,,m=extension,n=bob,r=x"),
        ("SCRAM-SHA-256", b""),
    ],
)
def test_what_does_not_tell_a_name(mechanism: str, token: bytes) -> None:
    assert principals([*login(mechanism, (token, b"v=x")), *BEATING])[-1] is None


def test_a_response_that_was_not_seen_does_not_matter_if_the_client_goes_on() -> None:
    segments = login("PLAIN", (b"\0alice\0x", b""))[:-1]
    assert principals([*segments, *BEATING])[-1] == "User:alice"


def test_bare_tokens() -> None:
    segments = [
        asked(SaslHandshakeRequest(mechanism="PLAIN"), 0, 1),
        answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 1),
        (CLIENT, 0.0, frame(b"\0alice\0hunter2")),
        (SERVER, 0.0, frame(b"")),
        *BEATING,
    ]
    rows = cells(pieces(segments), "kind", "principal", "raw")
    assert [row["kind"] for row in rows] == ["request", "response", *["sasl_token"] * 2, "request", "response"]
    assert [row["principal"] for row in rows] == [None] * 4 + ["User:alice"] * 2
    assert not any(b"hunter2" in (row["raw"] or b"") for row in rows)


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("kafka-python-as-of-0.10-on-3.9.1-with-PLAIN", "User:admin"),
        ("librdkafka-on-4.1.1-with-SCRAM-SHA-256", "User:admin"),
        ("librdkafka-on-4.1.1", None),
    ],
)
def test_recorded_clients(name: str, user: str | None) -> None:
    rows = values(conversation_pieces(recorded(name)), "api", "principal", table="exchanges")
    known = {principal for api, principal in rows if api not in ("ApiVersions", "SaslHandshake", "SaslAuthenticate")}
    assert known == {user}


def test_a_token_of_plain_has_three_parts() -> None:
    """A password has no zero, so what has one is something else."""
    tokens = (b"\0me\0secret", b"\0me\0sec\0ret", b"me\0secret")
    assert [request_context._user("PLAIN", token) for token in tokens] == ["User:me", None, None]
