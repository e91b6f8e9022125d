"""The inputs of ``watch``: captures that arrive in a folder, packets on interfaces, or packets in a Kafka topic."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from kwire_inspect.live.interfaces import ANY, InterfaceCapture
from kwire_inspect.options import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ALL = "tcp"
"""Default capture filter."""
PACKETS_AT_ONCE = 200_000
"""Maximum number of records per batch."""
NO_CONNECTOR = (
    "Spark's Kafka connector, spark-sql-kafka-0-10, is missing. Use --connector to specify a folder with its jars "
    "(docs/watch.md explains how to create it)"
)


class WatchInput:
    """Base class of inputs. ``name`` describes the input. The input captures packets inside a ``with`` block over
    ``within()``.
    """

    name = ""

    @property
    def settings(self) -> dict[str, str]:
        """Spark session settings that the input requires."""
        return {}

    def within(self) -> AbstractContextManager[object]:
        return nullcontext()

    def packets(self, spark: SparkSession) -> DataFrame:
        """Return a streaming DataFrame of the packets."""
        raise NotImplementedError

    @property
    def dropped(self) -> int:
        """Known number of packets that were lost before they could be read."""
        return 0

    @property
    def problem(self) -> str:
        """Reason why no more packets will arrive, or an empty string while more can arrive."""
        return ""

    def end(self) -> bool:
        """Stop the input. Return whether packets that have already arrived would be lost unless they are read now."""
        return False


class FolderInput(WatchInput):
    """Captures that other programs write to a folder."""

    def __init__(self, folder: str, settled: int) -> None:
        if not Path(folder).is_dir():
            raise OptionError(f"{folder}: no such folder")
        self._folder, self._settled = folder, settled
        self.name = f"captures in {folder}"

    def packets(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.format("kafka_packets").option("settled", self._settled).load(self._folder)


class InterfacesInput(WatchInput):
    """Packets that dumpcap or tcpdump captures. The capture files are deleted after they are read."""

    def __init__(self, interfaces: Sequence[str], pcap_filter: str, snap_length: int, most: int) -> None:
        """Prepare a capture. ``pcap_filter`` is a libpcap filter.

        An empty filter captures all TCP packets, but is an error on interfaces that carry Spark's own traffic,
        because the capture would generate more traffic.
        """
        if not pcap_filter and (own := [name for name in interfaces if name == ANY or name.startswith("lo")]):
            raise OptionError(
                f"Spark's own traffic is on {own[0]}: specify the broker ports with --ports, or a --filter"
            )
        from kwire_spark.session import private_folder

        self.name = f"packets on {', '.join(interfaces)}"
        folder = Path(mkdtemp(prefix="packets-", dir=private_folder()))
        self._capture = InterfaceCapture(
            interfaces, folder, pcap_filter=pcap_filter or ALL, snap_length=snap_length, most=most
        )

    def within(self) -> InterfaceCapture:
        return self._capture

    def packets(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.format("kafka_packets").options(settled=0, consume=True)
        return reader.load(str(self._capture.folder))

    @property
    def dropped(self) -> int:
        return self._capture.dropped

    @property
    def problem(self) -> str:
        return self._capture.problem

    def end(self) -> bool:
        self._capture.stop()
        return True


class TopicInput(WatchInput):
    """A Kafka topic whose records are packets."""

    def __init__(
        self, topic: str, servers: str | None, config: str | None, link_type: int, connector: str | None
    ) -> None:
        """Prepare to read a topic. ``config`` is the properties file of a Kafka consumer.

        ``connector`` is a folder with Spark's Kafka connector and its dependencies, or ``None`` if Spark already
        includes them.
        """
        from kwire.client import SecurityError, read_properties
        from kwire_inspect.capture.packets import LINKS

        if not servers:
            raise OptionError("--topic needs --bootstrap-server HOST:PORT")
        if link_type not in LINKS:
            raise OptionError(f"unknown --link-type {link_type}, expected one of {', '.join(map(str, LINKS))}")
        try:
            given = read_properties(config) if config else {}
        except (OSError, SecurityError) as error:
            raise OptionError(f"--topic-config {config}: {error}") from None
        self._jars = sorted(Path(connector).glob("*.jar")) if connector else []
        if connector and not self._jars:
            raise OptionError(f"--connector {connector}: this folder contains no jar")
        self._options = {f"kafka.{name}": value for name, value in given.items()} | {
            "kafka.bootstrap.servers": servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(PACKETS_AT_ONCE),
        }
        self._link_type = link_type
        self.name = f"packets in the topic {topic}"

    @property
    def settings(self) -> dict[str, str]:
        return {"spark_jars": ",".join(str(jar.absolute()) for jar in self._jars)} if self._jars else {}

    def packets(self, spark: SparkSession) -> DataFrame:
        from pyspark.errors import AnalysisException

        from kwire_spark.streams import packets_in

        try:
            records = spark.readStream.format("kafka").options(**self._options).load()
        except AnalysisException as error:
            if "kafka" in str(error) and "find" in str(error):
                raise OptionError(NO_CONNECTOR) from None
            raise
        return packets_in(records, self._link_type)


def filter_for(ports: frozenset[int], given: str | None) -> str:
    """Return ``given`` or, if it is empty, a libpcap filter for traffic of ``ports``. Without ports, this filter is
    empty.

    >>> filter_for(frozenset({9092, 9093}), None)
    'tcp port 9092 or tcp port 9093'
    """
    return (given or " or ".join(f"tcp port {port}" for port in sorted(ports))).strip()
