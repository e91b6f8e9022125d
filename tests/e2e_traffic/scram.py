"""SCRAM users, as ``kafka-configs --alter --add-config`` makes them [RFC 5802, KIP-554]."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from kwire.message import Message
from kwire_kafka import AlterUserScramCredentialsRequest
from kwire_kafka.api.alter_user_scram_credentials import ScramCredentialUpsertion

HASHES = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Number in the protocol, and name of the hash."""

ROUNDS = 4096


def add_users(ask: Callable[[Message, int], object], users: Mapping[str, str], mechanisms: Sequence[str]) -> None:
    """Let every user authenticate by every mechanism; ``users`` are passwords by name."""
    for mechanism in mechanisms:  # a request may name a user only once
        upsertions = [_upsertion(name, password, *HASHES[mechanism]) for name, password in users.items()]
        ask(AlterUserScramCredentialsRequest(upsertions=upsertions), 0)


def _upsertion(name: str, password: str, mechanism: int, algorithm: str) -> ScramCredentialUpsertion:
    salt = f"salt of {name}".encode()
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, ROUNDS)
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=ROUNDS, salt=salt, salted_password=salted
    )
