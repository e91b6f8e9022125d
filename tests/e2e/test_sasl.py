"""SASL PLAIN and SCRAM, in both ways to carry tokens, and what only the authenticated may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.apis import security
from tests.e2e.brokers import ALL, each_of
from tests.e2e.client import Client, Closed
from tests.e2e.sasl import HASHES, Refused, login
from tests.e2e.tally import Tally
from tests.e2e.walk import SOFTWARE, Walk
from tests.real_kafka.broker import USERS, Broker

MECHANISMS = ("PLAIN", *HASHES)
NUMBERS = (security.SCRAM_SHA_256, security.SCRAM_SHA_512)
UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 33, 58

broker = each_of(*ALL)
Connect = Callable[[], Client]


@pytest.fixture
def connect(broker: Broker, tally: Tally) -> Iterator[Connect]:
    """``connect()``: another connection to the listener that wants to know who asks."""
    clients: list[Client] = []

    def connect() -> Client:
        clients.append(Client(broker.sasl_address, broker.name, tally))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def scram_user(walk: Walk) -> str:
    """A user with a password for each SCRAM mechanism, made as administrators make them."""
    for number in NUMBERS:
        walk.latest("AlterUserScramCredentials", upsertions=[security.credential("dave", number)])
    walk.wait("dave", lambda: len(credentials(walk, "dave")) == len(NUMBERS))
    return "dave"


def credentials(walk: Walk, user: str) -> list[object]:
    results = walk.latest("DescribeUserScramCredentials", users=None).results
    return [info for result in results if result.user == user for info in result.credential_infos]


def password(user: str) -> str:
    return USERS.get(user, f"{user}-secret")


@pytest.mark.parametrize(("handshake", "version"), [(0, 0), (1, 0), (1, 1), (1, 2)])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_trap_09_users_are_let_in(
    mechanism: str, handshake: int, version: int, connect: Connect, broker: Broker, scram_user: str
) -> None:
    user = "admin" if mechanism == "PLAIN" else scram_user
    client = connect()
    login(client, mechanism, user, password(user), handshake=handshake, version=version)
    assert Walk(broker, client).latest("ApiVersions", **SOFTWARE).api_keys


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused(mechanism: str, connect: Connect, scram_user: str) -> None:
    user = "admin" if mechanism == "PLAIN" else scram_user
    with pytest.raises(Refused) as refused:
        login(connect(), mechanism, user, "wrong")
    assert refused.value.args[0] == AUTHENTICATION_FAILED
    with pytest.raises((Closed, ConnectionError)):
        login(connect(), mechanism, user, "wrong", handshake=0)


def test_an_unknown_mechanism_is_answered_with_the_known_ones(connect: Connect) -> None:
    with pytest.raises(Refused) as refused:
        login(connect(), "SCRAM-SHA-1024", "admin", "secret")
    code, known = refused.value.args
    assert code == UNSUPPORTED_MECHANISM
    assert set(known) == set(MECHANISMS)


def test_trap_09_a_session_is_renewed_in_the_middle_of_a_connection(connect: Connect, broker: Broker) -> None:
    client = connect()
    assert 0 < login(client, "PLAIN", "admin", password("admin")) <= 3_600_000
    walk = Walk(broker, client)
    assert login(client, "PLAIN", "admin", password("admin")) > 0
    assert walk.latest("ApiVersions", **SOFTWARE).api_keys


def test_delegation_tokens(connect: Connect, broker: Broker) -> None:
    client = connect()
    login(client, "PLAIN", "admin", password("admin"))
    security.delegation_tokens(Walk(broker, client))
