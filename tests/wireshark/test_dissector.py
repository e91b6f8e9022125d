"""The dissector for Wireshark, run by ``tshark``, beside ``kwire.trace``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from syrupy.assertion import SnapshotAssertion

from clockwork_wire import PROTOCOL as CLOCKWORK
from kwire import secrets
from kwire.compression import Codec
from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.headers import ResponseHeader
from kwire.message import Message
from kwire.protocol import MessageRegistry
from kwire.records import Record, encode_batch, encode_message_set
from kwire.records.checksums import crc32c
from kwire.schema import walk
from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL
from kwire_kafka.api.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kwire_kafka.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire_kafka.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kwire_kafka.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kwire_kafka.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kwire_kafka.api.sasl_authenticate import SaslAuthenticateRequest
from kwire_kafka.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwirec.naming import python_name
from tests.conformance.vectors import RELEASES
from tests.properties.values import FIXED, RandomSource, make
from tests.support.capture_files import Conversation, Segment, disturbed, packets, recorded, write_pcap
from tests.support.connection_pieces import answered, asked
from tests.support.tls_talks import Tls, certificate
from tests.wireshark import recorded as traffic
from tests.wireshark.comparison import compare
from tests.wireshark.dissection import script

pytestmark = pytest.mark.slow
BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse()


def printed(capture: Path, lua: Path, *options: str, name: str = "kwire", secrets: bool = False) -> list[str]:
    """Return the lines that ``tshark`` prints."""
    command = ["tshark", *script(lua, name, [9092], secrets=secrets), "-r", str(capture), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_recorded_connections(tmp_path: Path, kwire_lua: Path) -> None:
    """Of new and old clients, with all codecs, message sets, logins with bare tokens, transactions."""
    names = ("aiokafka-on-4.1.1", "librdkafka-as-of-0.9-on-3.9.1", "kafka-python-as-of-0.10-on-3.9.1-with-PLAIN")
    found = [list(one.segments) for name in names for one in recorded(name)]
    outcome = compare(traffic.conversations(tmp_path / "all.pcap", found), kwire_lua, PROTOCOL)
    assert outcome.differences == []
    assert (outcome.frames, outcome.errors) == (215 + 60 + 50, 0)


def test_secrets_and_broken_messages(tmp_path: Path, kwire_lua: Path) -> None:
    """All messages with secrets, and every tenth that bytes were changed in or cut from, with the same errors."""
    release = RELEASES[-1]
    with_secrets = [one for one in traffic.java_messages(release) if name_of(one) in secrets.SECRETS]
    broken = traffic.broken_messages(release)[::10]
    outcome = compare(traffic.conversations(tmp_path / "a.pcap", with_secrets + broken), kwire_lua, PROTOCOL)
    assert outcome.differences == []
    assert len(with_secrets) == len([name for name in secrets.SECRETS if name.endswith(("Request", "Response"))])
    assert outcome.errors > 50
    lua = kwire_lua.read_text()
    assert {secrets._SENSITIVE, secrets._HARMLESS} == set(re.findall(r"\[=\[(.*?)\]=\]", lua))


def name_of(segments: list[Segment]) -> str:
    """Return the name of the message that a connection is about."""
    api_key = int.from_bytes(segments[0][2][4:6], "big")
    return f"{PROTOCOL.api_name(api_key)}{'Request' if segments[-1][0] == CLIENT else 'Response'}"


CONFIG, METADATA = b'{"properties": {}}', (b"\1\4\0", b"\1\x0b\0")
RECORDS = {
    (b"connector-a", CONFIG): True,
    (b"task-a-0", CONFIG): True,
    (b"session-key", b'{"key": "c2VjcmV0"}'): True,
    (b"session-keys", b"x"): False,
    (b"connector-a", None): False,
    (b"task-a-0", b"x"): False,
    (b"commit-a", CONFIG): False,
    (b"a", METADATA[0]): True,
    (None, METADATA[1] + b"x"): True,
    (b"connector-a", METADATA[0]): False,
    (b"a", METADATA[0][:2]): False,
}
"""Keys and values of records, and whether both are hidden: those of Connect and of metadata that have secrets."""


def test_secrets_that_are_shown(tmp_path: Path, kwire_lua: Path) -> None:
    message = SaslAuthenticateRequest(auth_bytes=b"\0me\0secret")
    records = [Record(key, value, (), 1) for key, value in RECORDS]
    batches = (encode_batch(records, codec=codec) for codec in (Codec.NONE, Codec.GZIP))
    sent = [asked(message, 2, 1), *((CLIENT, 0.0, produced(batch)) for batch in batches)]
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation(sent)))
    names = ("sasl_authenticate.auth_bytes", "record.key", "record.value")
    fields = ("-Y", "kwire", "-T", "fields", "-E", "aggregator=|", *(f"-ekwire.{name}" for name in names))
    for reveals in (False, True):
        rows = [one for one, hidden in RECORDS.items() if reveals or not hidden]
        keys, values = ([one.hex() for one in column if one is not None] for column in zip(*rows, strict=True))
        assert printed(path, kwire_lua, *fields, secrets=reveals) == [
            f"{message.auth_bytes.hex() if reveals else ''}\t\t",
            *[f"\t{'|'.join(keys)}\t{'|'.join(values)}"] * 2,
        ]


def test_tls(tmp_path: Path, kwire_lua: Path) -> None:
    tls = Tls.make(certificate(tmp_path), keys := tmp_path / "keys.log")
    talk = tls.through(Conversation([asked(HeartbeatRequest(group_id="g" * 20_000), 4, 1), answered(BEATEN, 4, 1)]))
    path = write_pcap(tmp_path / "a.pcap", packets(talk))
    fields = ("-Y", "kwire", "-T", "fields", "-e", "kwire.heartbeat.group_id", "-e", "kwire.api_key")
    found = printed(path, kwire_lua, "-o", f"tls.keylog_file:{keys}", *fields)
    assert found == ["g" * 20_000 + "\t12", "\t12"]


def test_any_small_protocol(tmp_path: Path, clockwork_lua: Path) -> None:
    """Random and extreme messages of a protocol of one's own, whole and cut off anywhere."""
    path = traffic.conversations(tmp_path / "clock.pcap", clocks(Random(29)))
    outcome = compare(path, clockwork_lua, CLOCKWORK, "clockwork")
    assert outcome.differences == []
    assert outcome.frames == 2 * 2 * len(CLOCKWORK["ClockRequest"].VALID_VERSIONS) * (len(FIXED) + 20)
    assert outcome.errors > 200
    titles = printed(path, clockwork_lua, "-Y", "clockwork", "-T", "fields", "-e", "clockwork", name="clockwork")
    assert all(title.startswith('Clock ]]"') for title in titles)


def clocks(random: Random) -> list[list[Segment]]:
    segments: list[Segment] = []
    request, response = CLOCKWORK["ClockRequest"], CLOCKWORK["ClockResponse"]
    for version in request.VALID_VERSIONS:
        for source in [*FIXED.values(), *[RandomSource(random) for _ in range(20)]]:
            for whole in (True, False):
                number = len(segments)
                sent = cut(make(request, version, source), version, random, whole)
                segments.append((CLIENT, 0.0, traffic.request(CLOCKWORK, "ClockRequest", version, number, sent)))
                header = ResponseHeader(correlation_id=number).encode(response.header_version(version))
                back = cut(make(response, version, source), version, random, whole)
                segments.append((SERVER, 0.0, frame(header + back)))
    return [segments]


def cut(message: Message, version: int, random: Random, whole: bool) -> bytes:
    data = message.encode(version)
    return data if whole else data[: random.randrange(len(data))] + random.randbytes(random.choice((0, 0, 3)))


def test_segments_in_disorder(tmp_path: Path, kwire_lua: Path) -> None:
    """Frames in many packets, some of them twice or late, read in one pass and in two."""
    [one] = recorded("the-broker-on-4.1.1")[:1]
    path = write_pcap(tmp_path / "a.pcap", disturbed(packets(one, size=7), seed=1, duplication=0.05))
    outcome = compare(path, kwire_lua, PROTOCOL)
    assert outcome.differences == []
    assert outcome.frames > 3
    fields = ("-Y", "kwire", "-T", "fields", "-e", "kwire.request_in", "-e", "kwire.response_in")
    once, twice = (printed(path, kwire_lua, *passes, *fields) for passes in ((), ("-2",)))
    answers = [line.partition("\t")[0] for line in twice]
    assert answers == [line.partition("\t")[0] for line in once]
    requests = [line.rpartition("\t")[2] for line in twice]
    assert sum(map(bool, answers)) == sum(map(bool, requests)) == outcome.frames // 2


VARINTS = ("8080808008", "ffffffff07", "ffffffff0f", "808080808001", "8180808010", "feffffff07")
"""Of 32 bits and around: -2147483648, the largest, -1, one of six bytes, one of 33 bits, and the largest tag."""
TAGS = (
    *(f"{one}" for one in VARINTS),
    *(f"01{one}00" for one in VARINTS),
    *(f"0105{one}" for one in VARINTS),
    *("00", "0100", "010500", "0105", "0205000500", "02050006010a", "0205010a0400", "010502aa", "0000"),
)
"""Tagged fields: numbers, tags and sizes at the limits, tags that do not ascend, and sizes that are too large."""
TEXTS = (
    *("c080", "c1bf", "c280", "dfbf", "dfc0", "e09f80", "e0a080", "e0bfbf", "e18080", "ecbfbf", "ed9fbf", "eda080"),
    *("ee8080", "efbfbf", "f08fbfbf", "f0908080", "f3bfbfbf", "f48fbfbf", "f4908080", "f5808080", "80", "e282", "c2"),
    *("e28280", "e282c0", "e28228", "f1808028", "6162c3a9", "00", "61" * 32766, "61" * 32767, "61" * 32768),
)
"""Strings at the borders of UTF-8 and of lengths."""


def test_limits_of_varints_tags_and_texts(tmp_path: Path, kwire_lua: Path) -> None:
    whole = asked(BEAT, 4, 1)[2][4:]
    head, group, rest = whole.partition(b"\2g")
    bodies = [head + group + rest[:-1] + bytes.fromhex(tags) for tags in TAGS]
    bodies += [head + bytes.fromhex(length) + rest for length in ("00", *VARINTS, "05", "1b", "1c")]
    texts = map(bytes.fromhex, TEXTS)
    bodies += [asked(BEAT, 3, 1)[2][4:-4] + len(text).to_bytes(2, "big") + text + b"\xff\xff" for text in texts]
    uuids = [
        bytes(16),
        b"\xff" * 16,
        bytes(range(16)),
        bytes(range(240, 256)),
        bytes.fromhex("040000001000000040fc000003f00004"),
    ]
    topics = [DeleteTopicState(name=None, topic_id=Uuid(one)) for one in uuids]
    sent: list[list[Segment]] = [[asked(DeleteTopicsRequest(topics=topics), 6, 1)]]
    sent += [[(CLIENT, 0.0, frame(body))] for body in bodies]
    names = ("retention.ms", "ssl.key.password", "password", "x", f"{'x' * 251}.max", f"{'x' * 252}.max")
    configs = [AlterableConfig(name=name, value="1") for name in names]
    altered = AlterConfigsRequest(resources=[AlterConfigsResource(resource_name="t", configs=configs)])
    outcome = compare(
        traffic.conversations(tmp_path / "a.pcap", [*sent, [asked(altered, 2, 1)]]), kwire_lua, PROTOCOL
    )
    assert outcome.differences == []
    assert (outcome.frames, outcome.errors) == (71, 46)


def test_limits_of_varints_in_records(tmp_path: Path, kwire_lua: Path) -> None:
    """Timestamps of 64 bits, and offsets and lengths of 32 bits, each as long as it may be and longer."""
    long = [*VARINTS, "8080808000", "8180808000", "feffffff0f", "80808080808080808001"]
    long += ["ffffffffffffffffff01", "feffffffffffffffff01", "8080808080808080808000", "ffffffffffffffffff7f"]
    found: list[list[Segment]] = []
    for place in range(6):
        for varint in long:
            parts = [b"\0", b"\2", b"\2", b"\2k", b"\2v", b"\0"]
            parts[place] = bytes.fromhex(varint) + (b"" if place < 3 or place == 5 else b"k")
            content = b"".join(parts if place else parts[1:])
            record = (parts[0] if not place else bytes([2 * (len(content))])) + content
            batch = bytearray(encode_batch([Record(b"k", b"v", (), 1, 0)])[:61] + record)
            batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
            batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
            found.append([(CLIENT, 0.0, produced(bytes(batch)))])
    outcome = compare(traffic.conversations(tmp_path / "a.pcap", found), kwire_lua, PROTOCOL)
    assert outcome.differences == []
    assert outcome.frames == len(found)


def test_findings(tmp_path: Path, kwire_lua: Path) -> None:
    known = asked(BEAT, 4, 1)[2]
    frames = [
        known[:4] + (999).to_bytes(2, "big") + known[6:],
        known[:6] + (99).to_bytes(2, "big") + known[8:],
        frame(known[4:] + b"\0\0"),
        *[damaged(at, by) for at, by in ((17, 1), (22, 6), (62, 1))],
        known + b"\xff" * 8,
    ]
    segments = [(CLIENT, 0.0, known), answered(BEATEN, 4, 1), answered(BEATEN, 4, 1)]
    path = write_pcap(
        tmp_path / "a.pcap", packets(Conversation([*segments, *[(CLIENT, 0.0, one) for one in frames]]))
    )
    found = printed(path, kwire_lua, "-Y", "kwire", "-T", "fields", "-E", "aggregator=|", "-e", "_ws.expert.message")
    assert [re.sub(r"\d{6,}", "…", line) for line in found] == [
        "",
        "",
        "no request was seen for this response",
        "API key 999 is not known",
        "version 99 of Heartbeat is not known",
        "2 trailing bytes",
        "wrong checksum, expected …",
        "wrong checksum, expected …|unknown compression codec 7",
        "wrong checksum, expected …|the compressed data is invalid",
        "no frame has this size",
    ]
    half = write_pcap(tmp_path / "b.pcap", packets(Conversation([(CLIENT, 0.0, known)])), snaplen=70)
    found = printed(half, kwire_lua, "-Y", "kwire.truncated", "-T", "fields", "-e", "_ws.expert.message")
    assert found == ["the number of tagged fields needs 1 byte, 0 left"]


def damaged(at: int, by: int) -> bytes:
    """Return a request with a batch in gzip that has a wrong byte: of the checksum, the attributes or the data."""
    batch = bytearray(encode_batch([Record(b"key", b"value" * 20, (), 1, 0)], codec=Codec.GZIP))
    batch[at] ^= by
    return produced(bytes(batch))


def produced(records: bytes) -> bytes:
    partition = PartitionProduceData(index=0, records=records)
    message = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    return asked(message, 9, 1)[2]


TIMES = (1_700_000_000_123, 1_700_000_001_000)
BATCHES = (
    encode_batch(
        [Record(b"k", b"v", (("h", b"1"), ("n", None)), TIMES[0], 5), Record(None, None, (), TIMES[1], 6)],
        timestamp_type="append",
        transactional=True,
        producer_id=4,
        producer_epoch=3,
        base_sequence=2,
        leader_epoch=1,
    ),
    encode_batch([Record(b"k", b"v", (), TIMES[0], 7)], codec=Codec.LZ4, delete_horizon=TIMES[1], control=True),
    *(
        encode_message_set(
            [Record(b"k", None, (), time, 5), Record(b"l", b"w", (), time, 6)], magic=magic, codec=codec
        )
        for magic, time, codec in ((0, -1, Codec.NONE), (1, TIMES[0], Codec.SNAPPY))
    ),
)
"""Record batches and message sets with all flags, compressed and not, with two of each thing."""


def test_trees_as_people_read_them(tmp_path: Path, kwire_lua: Path, snapshot: SnapshotAssertion) -> None:
    """All lines of a few frames, and what the list of packets says of them."""
    almost = [
        b"\0\x0c\0\4\0\0\0\1" + size + b"me" for size in (b"\0\3", b"\xff\xfe")
    ]  # requests, were it not for these
    login = asked(SaslHandshakeRequest(mechanism="PLAIN"), 0, 3, 2.75)
    sent = [
        asked(BEAT, 4, 1),
        answered(BEATEN, 4, 1, 0.25),
        asked(ApiVersionsRequest(), 3, 2, 0.5),
        answered(ApiVersionsResponse(error_code=35), 0, 2, 1.5),
        *((CLIENT, 2.0, produced(batch)) for batch in BATCHES),
        (SERVER, 2.5, answered(BEATEN, 4, 9)[2] + answered(BEATEN, 4, 8)[2]),
        login,
        answered(SaslHandshakeResponse(mechanisms=["PLAIN", "SCRAM"]), 0, 3, 3.0),
        *((CLIENT, 3.5, frame(token)) for token in (b"\0me\0secret", *almost)),
        (SERVER, 3.75, frame(b"")),
    ]
    path = write_pcap(tmp_path / "a.pcap", packets(Conversation(sent), acks=False))
    lines = printed(path, kwire_lua, "-Y", "kwire", "-O", "kwire")
    kept = [
        line for line in lines if line.strip() and not line.startswith(("Frame ", "Ethernet", "Internet", "Trans"))
    ]
    columns = ("-o", 'gui.column.format:"Protocol","%p","Info","%i"')
    assert "\n".join([*kept, *printed(path, kwire_lua, "-Y", "kwire", *columns)]) == snapshot


def test_names_of_fields(tmp_path: Path, kwire_lua: Path, snapshot: SnapshotAssertion) -> None:
    """Filters are API and path, once the file is a plug-in of a user. Those of no message are listed with types."""
    plugins = tmp_path / ".local" / "lib" / "wireshark" / "plugins"
    plugins.mkdir(parents=True)
    shutil.copy(kwire_lua, plugins)
    home = {**os.environ, "HOME": str(tmp_path)}
    listed = subprocess.run(["tshark", "-G", "fields"], check=True, capture_output=True, text=True, env=home)
    rows = [line.split("\t") for line in listed.stdout.splitlines() if line.startswith("F\t")]
    named = {row[2]: " ".join([row[2], row[1], *row[3:6]]) for row in rows if row[4] == "kwire"}
    wanted = set(paths(PROTOCOL))
    assert wanted <= named.keys()
    assert "\n".join(sorted(text for name, text in named.items() if name not in wanted)) == snapshot


def paths(protocol: MessageRegistry) -> Iterator[str]:
    for key in protocol.api_keys:
        for cls in (protocol.request(key), protocol.response(key)):
            yield from (f"kwire.{python_name(protocol.api_name(key))}.{path}" for path, _, _ in walk(cls))
