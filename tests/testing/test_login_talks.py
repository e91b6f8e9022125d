"""Whole logins by SASL: what each token is answered, and what a connection may ask before and after."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.client import AuthenticationError, Sasl, Security
from kwire_kafka import MetadataRequest
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.talking import ask, talk
from tests.testing.transcripts import Speaker, transcript

USERS = {"alice": "secret", "b,o=2Cb": "pässword"}


async def begin(a: Speaker, mechanism: str) -> None:
    """Open a connection and choose a mechanism."""
    await a.open()
    a.page.lines.append("")
    await a("SaslHandshake", 1, mechanism=mechanism)


def test_a_connection_logs_in_once(snapshot: SnapshotAssertion) -> None:
    """In order: a mechanism, its tokens, and then requests of all kinds."""

    async def run(a: Speaker) -> None:
        good = {"auth_bytes": b"\0alice\0secret"}
        await a("SaslHandshake", 0, mechanism="GSSAPI")
        await a.open()
        await a("SaslAuthenticate", 2, **good)
        await a("SaslHandshake", 1, mechanism="plain")
        await a("ApiVersions", 0)
        a.page.lines.pop()
        await a("ListGroups", 4)
        for api in ("ListGroups", "Metadata", "FindCoordinator"):  # nor in their first versions
            await a(api, 0)
        await begin(a, "PLAIN")
        await a("SaslHandshake", 1, mechanism="SCRAM-SHA-256")
        await a("Metadata", 1)
        await begin(a, "PLAIN")
        await a("SaslAuthenticate", 0, **good)
        await a("SaslAuthenticate", 0, **good)
        await a("SaslHandshake", 1, mechanism="PLAIN")
        await a("ListGroups", 4)
        await begin(a, "PLAIN")
        await a("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wrong")
        await a("SaslAuthenticate", 2, **good)
        await a("ListGroups", 4)
        with a.page.broker.fail("SaslHandshake", ErrorCode.UNSUPPORTED_SASL_MECHANISM):
            await begin(a, "PLAIN")
        await begin(a, "PLAIN")
        with a.page.broker.fail("SaslAuthenticate", ErrorCode.SASL_AUTHENTICATION_FAILED):
            await a("SaslAuthenticate", 2, **good)
        await a("SaslAuthenticate", 2, **good)

    assert transcript(FakeBroker("3.9", users=USERS), run) == snapshot


def test_without_users_nobody_logs_in(snapshot: SnapshotAssertion) -> None:
    async def run(a: Speaker) -> None:
        for version in (0, 1):
            await a("SaslHandshake", version, mechanism="PLAIN")
        await a("SaslAuthenticate", 2, auth_bytes=b"\0\0")
        await a("ListGroups", 4)

    assert transcript(FakeBroker("3.9"), run) == snapshot


@pytest.mark.parametrize(
    ("token", "known"),
    [
        (b"\0alice\0secret", True),
        (b"somebody\0alice\0secret", True),
        ("\0b,o=2Cb\0pässword".encode(), True),
        (b"\0alice\0secret2", False),
        (b"\0alice\0", False),
        (b"\0bob\0secret", False),
        (b"\0nobody\0", False),
        (b"\0\0", False),
        (b"alice\0secret", False),
        (b"\0alice\0secret\0", False),
        (b"\0alice\0\xff", False),
        (b"", False),
    ],
)
def test_tokens_of_plain(token: bytes, known: bool) -> None:
    async def run(a: Speaker) -> None:
        await begin(a, "PLAIN")
        await a("SaslAuthenticate", 2, auth_bytes=token)

    failed = " error_code=SASL_AUTHENTICATION_FAILED error_message='The credentials were refused during SASL'…"
    found = transcript(FakeBroker("3.9", users=USERS), run)[-1]
    assert found == "a SaslAuthenticate 2:" + ("" if known else failed)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(
    ("user", "password", "change", "refused"),
    [
        ("alice", "secret", lambda step, token: token, 0),
        ("b,o=2Cb", "pässword", lambda step, token: token, 0),
        ("alice", "Secret", lambda step, token: token, 2),
        ("bob", "secret", lambda step, token: token, 1),
        ("alice", "secret", lambda step, token: token.replace(b"n,,", b"n,a=alice,"), 0),
        ("alice", "secret", lambda step, token: token.replace(b"n,,", b"y,,"), 1),
        ("alice", "secret", lambda step, token: token.replace(b",r=", b",s="), 1),
        ("alice", "secret", lambda step, token: token + b",x=ext" if step == 1 else token, 2),
        ("alice", "secret", lambda step, token: token.replace(b",r=", b",r=x") if step == 2 else token, 2),
        ("alice", "secret", lambda step, token: token.replace(b"c=", b"c=x") if step == 2 else token, 2),
        ("alice", "secret", lambda step, token: token[:-5] if step == 2 else token, 2),
        ("alice", "secret", lambda step, token: token[: token.index(b",p=") + 7] if step == 2 else token, 2),
        ("alice", "secret", lambda step, token: b"\xff", 1),
        ("alice", "secret", lambda step, token: b"" if step == 2 else token, 2),
    ],
)
def test_tokens_of_scram(mechanism: str, user: str, password: str, change: Any, refused: int) -> None:
    """``change`` spoils a token of the client, and ``refused`` is the step at which the login ends."""

    async def run(a: Speaker) -> None:
        challenges = []
        for _ in range(2):
            await begin(a, mechanism)
            conversation, step = Sasl(mechanism=mechanism, username=user, password=password).conversation(), 1
            token = next(conversation)
            while True:
                answer = await a("SaslAuthenticate", 2, auth_bytes=change(step, token))
                if answer.error_code:
                    error = ErrorCode.SASL_AUTHENTICATION_FAILED
                    assert (answer.error_code, answer.error_message) == (error, error.description)
                    assert answer.auth_bytes == b""
                    break
                challenges.append(answer.auth_bytes)
                try:
                    token, step = conversation.send(answer.auth_bytes), step + 1  # checks the server's signature
                except StopIteration:
                    step = 0
                    break
            assert step == refused
            after = await a("ListGroups", 4)
            assert (after is None) is bool(refused)
        assert len({*challenges}) == len(challenges)
        for challenge in challenges[:: 1 if refused == 2 else 2]:
            nonce, salt, iterations = challenge.decode().split(",")
            assert (len(b64decode(salt[2:])), iterations) == (16, "i=4096")
            assert len(nonce) > len("r=") + 24

    transcript(FakeBroker("3.9", users=USERS), run)


@pytest.mark.parametrize(
    ("mechanism", "password"),
    [("PLAIN", "secret"), ("SCRAM-SHA-512", "secret"), ("PLAIN", "x"), ("SCRAM-SHA-256", "x")],
)
def test_bare_tokens(mechanism: str, password: str) -> None:
    """Before 1.0 tokens have no header; what follows the last one is a request again."""

    def login() -> Any:
        security = Security(sasl=Sasl(mechanism=mechanism, username="alice", password=password))

        async def run(client: Any) -> list[int]:
            return [len((await ask(client, MetadataRequest())).brokers) for _ in range(2)]

        return talk(FakeBroker("0.10.2", users=USERS), run, security=security)

    if password == "secret":
        assert login() == [1, 1]
    else:
        with pytest.raises(AuthenticationError, match="refuses the login"):
            login()
