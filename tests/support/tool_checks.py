"""Tables of internal topics beside what Kafka's own tools printed about the same broker; its logs beside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.tool_prints import described, dumped

Rows = list[dict[str, Any]]
Table = Callable[[str], Rows]
"""Gives the rows of a function of ``kwire_inspect.tables.groups``, by its name."""

NONE = "-"


def check_offsets(folder: Path, table: Table) -> None:
    """``kafka-consumer-groups --describe --offsets``: offsets, and which member has the partition."""
    holders = {
        (row["group"], name, partition): (row["member_id"], row["client_host"], row["client_id"])
        for row in table("members")
        for name, partition in _assigned(row["assignment"], table)
    }
    ours = {
        (row["group"], row["topic"], row["partition"]): (
            row["offset"],
            *holders.get((row["group"], row["topic"], row["partition"]), (NONE, NONE, NONE)),
        )
        for row in table("committed_offsets")
    }
    printed = described(folder / "offsets.txt")
    assert ours == {
        (row["GROUP"], row["TOPIC"], int(row["PARTITION"])): (
            int(row["CURRENT-OFFSET"]),
            row["CONSUMER-ID"],
            row["HOST"],
            row["CLIENT-ID"],
        )
        for row in printed
    }
    assert len(ours) == 8


def check_members(folder: Path, table: Table) -> None:
    """``--members --verbose``: identity, epochs, current and target assignment."""
    ours = {
        row["member_id"]: (
            row["group"],
            row["instance_id"] or "",
            row["client_host"],
            row["client_id"],
            NONE if row["type"] == "classic" else str(row["epoch"]),
            _shown(row["assignment"], table),
            _shown(row["target"], table) or NONE,
        )
        for row in table("members")
    }
    assert ours == {
        row["CONSUMER-ID"]: (
            row["GROUP"],
            row.get("GROUP-INSTANCE-ID", ""),
            row["HOST"],
            row["CLIENT-ID"],
            row["CURRENT-EPOCH"],
            row["CURRENT-ASSIGNMENT"],
            row["TARGET-ASSIGNMENT"],
        )
        for row in described(folder / "members.txt")
    }
    assert {row[0] for row in ours.values()} == {"classic", "modern"}


def check_groups(folder: Path, table: Table) -> None:
    """``--state``. The strategy of a KIP-848 group is the broker's default, which is in no record."""
    ours = {
        row["group"]: (row["state"], row["members"], row["protocol"] or NONE if row["type"] == "classic" else None)
        for row in table("groups")
    }
    modern = {row["group"] for row in table("groups") if row["type"] != "classic"}
    assert ours == {
        row["GROUP"]: (
            row["STATE"],
            int(row["#MEMBERS"]),
            None if row["GROUP"] in modern else row["ASSIGNMENT-STRATEGY"],
        )
        for row in described(folder / "state.txt")
    }


def check_transactions(folder: Path, table: Table) -> None:
    """``kafka-dump-log --transaction-log-decoder``: the last record of each transactional id."""
    states = {
        0: "Empty",
        1: "Ongoing",
        2: "PrepareCommit",
        3: "PrepareAbort",
        4: "CompleteCommit",
        5: "CompleteAbort",
    }
    printed = {
        key["data"]["transactionalId"]: value["data"]
        for _, key, value in dumped(folder / "__transaction_state.txt")
        if key
    }
    assert {
        row["transactional_id"]: (row["state"], row["producer_id"], row["producer_epoch"], row["version"])
        for row in table("transactions")
    } == {
        name: (
            states[value["transactionStatus"]],
            value["producerId"],
            value["producerEpoch"],
            value.get("clientTransactionVersion", 0),
        )
        for name, value in printed.items()
    }
    assert set(printed) == {"tx-commit", "tx-abort"}


def check_cluster(folder: Path, table: Table) -> None:
    """``kafka-dump-log --cluster-metadata-decoder``: nothing but additions in this log, so that all of them stay."""
    records = [(value["type"], value["data"]) for _, _, value in dumped(folder / "__cluster_metadata.txt") if value]
    of = {name: [data for kind, data in records if kind == name] for name, _ in records}
    assert {(row["topic"], row["topic_id"]) for row in table("topics")} == {
        (data["name"], data["topicId"]) for data in of["TOPIC_RECORD"]
    }
    assert {(row["topic_id"], row["partition"], *row["replicas"]) for row in table("topics")} == {
        (data["topicId"], data["partitionId"], *data["replicas"]) for data in of["PARTITION_RECORD"]
    }
    assert {(row["feature"], row["level"]) for row in table("features")} == {
        (data["name"], data["featureLevel"]) for data in of["FEATURE_LEVEL_RECORD"] if data["featureLevel"]
    }
    assert {(row["resource"], row["name"], row["value"]) for row in table("configs")} == {
        (data["resourceName"], data["name"], data["value"]) for data in of["CONFIG_RECORD"]
    }
    assert {row["broker_id"]: row["fenced"] for row in table("brokers")} == {1: False}


CHECKS = (check_offsets, check_members, check_groups, check_transactions, check_cluster)


def _assigned(found: Rows | None, table: Table) -> list[tuple[str, int]]:
    names = {row["topic_id"]: row["topic"] for row in table("topics")}
    return [
        (each["topic"] or names[each["topic_id"]], partition)
        for each in found or ()
        for partition in each["partitions"]
    ]


def _shown(found: Rows | None, table: Table) -> str:
    """As the tool shows an assignment: ``orders:0,1,2``."""
    by_topic: dict[str, list[str]] = {}
    for name, partition in sorted(_assigned(found, table)):
        by_topic.setdefault(name, []).append(str(partition))
    return ";".join(f"{name}:{','.join(partitions)}" for name, partitions in by_topic.items())
