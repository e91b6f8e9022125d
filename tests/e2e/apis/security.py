"""Access rules, SCRAM credentials, delegation tokens."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from kwire_kafka.errors import ErrorCode
from tests.e2e.walk import Walk

TOPIC, LITERAL, MATCH, WRITE, ALLOW = 2, 3, 2, 4, 3
ANY = 1
SCRAM_SHA_256, SCRAM_SHA_512 = 1, 2
ITERATIONS = 4096


def acls(walk: Walk) -> None:
    rule = {
        "resource_type": TOPIC,
        "resource_pattern_type": LITERAL,
        "principal": "User:bob",
        "host": "*",
        "operation": WRITE,
        "permission_type": ALLOW,
    }
    walk.each("CreateAcls", lambda version: {"creations": [{**rule, "resource_name": f"{walk.prefix}{version}"}]})
    anything = {
        "resource_type_filter": TOPIC,
        "pattern_type_filter": MATCH,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }

    def found(version: int, **wanted: Any) -> Any:
        return walk.ask("DescribeAcls", version, **wanted).resources

    for version in walk.versions("DescribeAcls"):
        named: dict[str, Any] = {**anything, "resource_name_filter": f"{walk.prefix}{version}"}
        walk.wait("the rule", partial(found, version, **named))
        (result,) = walk.ask("DeleteAcls", version, filters=[named]).filter_results
        assert [match.principal for match in result.matching_acls] == ["User:bob"]


def credential(user: str, mechanism: int) -> dict[str, Any]:
    """What a broker keeps instead of the password, which is the name with ``-secret`` behind it."""
    algorithm = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}[mechanism]
    return {
        "name": user,
        "mechanism": mechanism,
        "iterations": ITERATIONS,
        "salt": b"salt",
        "salted_password": hashlib.pbkdf2_hmac(algorithm, f"{user}-secret".encode(), b"salt", ITERATIONS),
    }


def scram_credentials(walk: Walk) -> None:
    walk.every("AlterUserScramCredentials", upsertions=[credential("carol", SCRAM_SHA_256)])
    carol = {"users": [{"name": "carol"}], "allow": {ErrorCode.RESOURCE_NOT_FOUND}}

    def infos() -> Any:
        return walk.latest("DescribeUserScramCredentials", **carol).results[0].credential_infos

    found = walk.wait("carol", infos)
    assert [(info.mechanism, info.iterations) for info in found] == [(SCRAM_SHA_256, ITERATIONS)]
    walk.every("AlterUserScramCredentials", deletions=[{"name": "carol", "mechanism": SCRAM_SHA_256}])


def delegation_tokens(walk: Walk) -> None:
    """Only for those who have authenticated otherwise. A token for each turn, which expires in the end."""
    for turn in walk.turns("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"):
        renewers = [{"principal_type": "User", "principal_name": "bob"}]
        token = walk.turn("CreateDelegationToken", turn, renewers=renewers, max_lifetime_ms=-1)
        walk.wait("the token", lambda: walk.latest("DescribeDelegationToken", owners=None).tokens)
        walk.turn("RenewDelegationToken", turn, hmac=token.hmac, renew_period_ms=60000)
        owners = [{"principal_type": "User", "principal_name": "admin"}]
        assert walk.turn("DescribeDelegationToken", turn, owners=owners).tokens
        walk.turn("ExpireDelegationToken", turn, hmac=token.hmac, expiry_time_period_ms=-1)
        walk.wait("its end", lambda: not walk.latest("DescribeDelegationToken", owners=None).tokens)
