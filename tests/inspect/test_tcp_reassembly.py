"""Packets of TCP to bytes in order: whatever happens to the packets, the bytes of both sides come out, or gaps do."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Connection, Piece, TcpConnection
from kwire_inspect.capture.ordering import FAR, MASK, TcpStream
from kwire_inspect.capture.packets import Packet, Servers, reverse
from kwire_inspect.capture.tcp import TcpConnections
from tests.support.capture_files import (
    ACK,
    ALICE,
    BROKER,
    EPOCH,
    FIN,
    PUSH,
    RST,
    SYN,
    Conversation,
    TcpPacket,
    disturbed,
    packets,
)

PAIR = b"\x0a\0\0\x01\x0a\0\0\x09"
FORTH, BACK = PAIR + b"\xc4\xec\x23\x84", PAIR[4:] + PAIR[:4] + b"\x23\x84\xc4\xec"


def seen(packet: TcpPacket, position: int = 0) -> Packet:
    """A packet as the reader of files gives it."""
    key = FORTH if packet.source == ALICE else BACK
    data = packet.data[: len(packet.data) - packet.cut]
    return Packet(key, packet.time, "a.pcap", position, packet.seq, packet.ack, packet.flags, data, packet.cut)


def reassembled(made: Iterable[TcpPacket], *, pickled: bool = False) -> list[Piece]:
    connection = TcpConnection(FORTH)
    pieces = []
    for number, packet in enumerate(made):
        pieces += connection.add(seen(packet, number))
        if pickled:
            connection = pickle.loads(pickle.dumps(connection))
    return pieces + connection.close()


def told(pieces: Iterable[Piece]) -> list[tuple[Any, ...]]:
    """Pieces, briefly: what neighbours of one direction say is one."""
    brief: list[tuple[Any, ...]] = []
    for piece in pieces:
        if piece.kind == "data" and brief and brief[-1][0] == piece.direction:
            brief[-1] = (piece.direction, brief[-1][1] + piece.data)
        elif piece.kind == "data":
            brief.append((piece.direction, piece.data))
        else:
            brief.append((piece.kind, piece.direction, piece.size) if piece.kind == "gap" else (piece.kind,))
    return brief


def joined(conversation: Conversation) -> list[tuple[Any, ...]]:
    """What ``told`` gives for a conversation that nothing happened to."""
    whole: list[tuple[Any, ...]] = []
    for direction, _, data in conversation.segments:
        if whole and whole[-1][0] == direction:
            whole[-1] = (direction, whole[-1][1] + data)
        else:
            whole.append((direction, data))
    return [*whole, ("closed",)]


TALK = Conversation(
    [
        (CLIENT, 0.0, b"first question"),
        (SERVER, 0.1, b"first answer"),
        (CLIENT, 0.2, b"second"),
        (SERVER, 0.3, b"2nd"),
    ]
)


def test_a_connection_says_who_is_who_and_when_it_began() -> None:
    pieces = reassembled(packets(TALK))
    (connection,) = {piece.connection for piece in pieces}
    assert (connection.client, connection.server, connection.complete) == (ALICE, BROKER, True)
    assert connection.id == "10.0.0.1:50412-10.0.0.9:9092@1700000000.000000"
    assert told(pieces) == joined(TALK)


def test_pieces_say_which_packet_they_come_from() -> None:
    pieces = reassembled(packets(TALK, acks=False))
    assert [(piece.source, piece.position) for piece in pieces] == [("a.pcap", n) for n in (3, 4, 5, 6, 8)]
    assert [round(piece.time - EPOCH, 6) for piece in pieces] == [0, 0.1, 0.2, 0.3, 0.3]


@pytest.mark.parametrize("ending", [FIN, RST, 0])
def test_every_ending_closes_once(ending: int) -> None:
    assert told(reassembled(packets(TALK, ending=ending))) == joined(TALK)


@pytest.mark.parametrize("server_first", [True, False])
@pytest.mark.parametrize("ending", [FIN, RST])
def test_who_closed_a_connection(ending: int, server_first: bool) -> None:
    """Whoever was the first: the other side answers that in kind."""
    made = packets(TALK, ending=0, acks=False)
    ends = {
        packet.source: replace(packet, seq=packet.seq + len(packet.data), data=b"", flags=ending | ACK)
        for packet in made
    }
    first, second = (BROKER, ALICE) if server_first else (ALICE, BROKER)
    *_, closed = reassembled([*made, ends[first], ends[second]], pickled=True)
    assert (closed.kind, closed.direction, closed.size) == ("closed", SERVER if server_first else CLIENT, 1)


@pytest.mark.parametrize("isns", [(0, 0), (0xFFFFFFFF, 0xFFFFFFFE), (0x7FFFFFFF, 0x80000000), (0xFFFFFFF8, 5)])
def test_sequence_numbers_wrap(isns: tuple[int, int]) -> None:
    assert told(reassembled(packets(TALK, size=3, isns=isns))) == joined(TALK)


@pytest.mark.parametrize(("data", "found"), [(b"q", []), (b"qu", [(CLIENT, b"qu")])])
def test_a_first_packet_that_was_acknowledged_before_is_late_unless_it_has_one_byte(
    data: bytes, found: list[tuple[Any, ...]]
) -> None:
    """That is a keep-alive."""
    talk = Conversation([(CLIENT, 0.0, data), (SERVER, 0.1, b"answer")])
    asked, acked, answer, *_ = packets(talk, handshake=False, ending=0)
    assert told(reassembled([acked, asked, answer])) == [*found, (SERVER, b"answer"), ("closed",)]


def test_packets_in_pairs_that_are_swapped_lose_nothing_however_many_there_are() -> None:
    """What waits is bounded; what has waited is not."""
    made = packets(Conversation([(CLIENT, 0.0, bytes(12_000_000))]), size=60_000, ending=0, acks=False)
    hello, data = made[:3], made[3:]
    swapped = [packet for pair in zip(data[1::2], data[::2], strict=True) for packet in pair]
    pieces = reassembled(hello + swapped)
    assert {piece.kind for piece in pieces[:-1]} == {"data"}
    assert sum(piece.size for piece in pieces[:-1]) == 12_000_000


@pytest.mark.parametrize(("distance", "same"), [(1, True), (1 << 20, True), ((1 << 20) + 1, False)])
def test_packets_from_before_the_capture_may_be_late(distance: int, same: bool) -> None:
    """As late as a retransmission may be; two that are farther away, and agree, are another connection."""
    made = packets(Conversation([(CLIENT, 0.0, b"abcd"), (CLIENT, 0.1, b"efgh")]), acks=False, ending=0, size=4)
    first, second = made[3:]
    old = replace(first, time=EPOCH + 0.05, seq=(first.seq - distance) & MASK, data=b"x")
    pieces = reassembled([first, old, old, second])
    assert (len({piece.connection.id for piece in pieces}) == 1) is same
    assert (told(pieces) == [(CLIENT, b"abcdefgh"), ("closed",)]) is same


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (0, 2, 1), (2, 0, 1), (2, 1, 0)])
def test_a_handshake_may_be_seen_in_any_order(order: Sequence[int]) -> None:
    made = packets(TALK)
    pieces = reassembled([made[number] for number in order] + made[3:])
    assert told(pieces) == joined(TALK)
    assert pieces[0].connection.complete
    assert pieces[0].connection.client == ALICE


def test_what_a_client_acknowledges_may_be_seen_before_the_servers_handshake() -> None:
    made = packets(Conversation([(SERVER, 0.0, b"hello"), *TALK.segments]))
    late = [made[0], made[4], made[1], made[2], made[3], *made[5:]]
    assert told(reassembled(late)) == [(SERVER, b"hello"), *joined(TALK)]


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_any_part_of_a_handshake_tells_where_bytes_begin(lost: Sequence[int]) -> None:
    made = packets(TALK, acks=False)
    kept = [packet for number, packet in enumerate(made) if number not in (*lost, 3)]
    assert told(reassembled(kept)) == [("gap", CLIENT, 14), *joined(TALK)[1:]]
    assert reassembled(kept)[0].connection.complete


@pytest.mark.parametrize("ending", [FIN, RST, 0])
def test_ports_are_used_again(ending: int) -> None:
    later = Conversation([(direction, time + 60, data.upper()) for direction, time, data in TALK.segments])
    pieces = reassembled(packets(TALK, ending=ending) + packets(later, isns=(77777, 88888)))
    assert told(pieces) == joined(TALK) + joined(later)
    assert len({piece.connection.id for piece in pieces}) == 2


def test_ports_are_used_again_without_a_handshake_being_seen() -> None:
    later = Conversation([(direction, time + 60, data.upper()) for direction, time, data in TALK.segments])
    pieces = reassembled(packets(TALK) + packets(later, isns=(0x70000000, 0x60000000), handshake=False))
    assert told(pieces) == joined(TALK) + joined(later)


@pytest.mark.parametrize(("distance", "begins"), [(0, True), ((1 << 20) - 100, True), (1 << 20, False)])
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_two_packets_that_match_each_other_begin_a_connection(side: Direction, distance: int, begins: bool) -> None:
    """Of the same direction or of both, where the connection before was not seen to end."""
    before = packets(TALK, ending=0, acks=False)
    later = Conversation([(CLIENT, 60.0, b"later question"), (side, 61.0, b"later still")])
    first, second = packets(later, isns=(0x70000000, 0x60000000), handshake=False, ending=0, acks=False)
    if side == CLIENT:
        second = replace(second, seq=second.seq + distance)
    else:
        second = replace(second, ack=second.ack + distance)
    opened = {piece.connection.started for piece in reassembled([*before, first, second])}
    assert (EPOCH + 60 in opened) == begins


@pytest.mark.parametrize("overlap", [0, 1, 3])
def test_new_bytes_after_the_end_of_a_connection_begin_another(overlap: int) -> None:
    """Wherever they begin: of the old one there can be no more."""
    made = packets(TALK, acks=False)
    last = made[-1]
    more = replace(last, time=EPOCH + 60, seq=(last.seq - overlap) & MASK, data=b"more bytes")
    assert told(reassembled([*made, more])) == [*joined(TALK), (CLIENT, b"more bytes"), ("closed",)]


def test_a_packet_that_waits_for_its_like_is_missing_if_it_is_given_up() -> None:
    made = packets(TALK, acks=False, ending=0)
    stray = replace(made[4], seq=0x50000000, data=b"stray", cut=2)
    connection = TcpConnection(FORTH)
    for packet in [*made[:5], stray]:
        connection.add(seen(packet))
    assert connection.give_up() == []
    assert told(connection.close()) == [("closed",), ("gap", SERVER, 5), ("closed",)]


def test_data_on_its_way_at_a_reset_belongs_to_the_connection() -> None:
    made = packets(TALK, ending=RST, acks=False)
    reset, answer = made[-1], made[-2]
    connections = TcpConnections()
    pieces: list[Piece] = []
    for packet in [*made[:-2], reset, replace(answer, time=answer.time + 0.5)]:
        pieces += connections.add(seen(packet))
    assert told(pieces) == joined(TALK)[:-1]
    other = replace(seen(made[0]), key=FORTH[:-1] + b"\x85") if False else seen(replace(made[0], time=EPOCH + 9))
    other.key = FORTH[:-1] + b"\x85"
    assert told(connections.add(other)) == [("closed",)]


@pytest.mark.parametrize(("seconds", "same"), [(1.0, True), (1.25, False)])
def test_a_reset_connection_ends_a_second_after_its_first_reset(seconds: float, same: bool) -> None:
    made = packets(TALK, ending=RST, acks=False)
    start = EPOCH + 1
    reset, again = (replace(made[-1], time=start + later) for later in (0, 0.75))
    answer = replace(made[-2], time=start + seconds)
    pieces = reassembled([*made[:-2], reset, again, answer])
    answered = [(SERVER, b"2nd"), ("closed",)]
    assert told(pieces) == [*joined(TALK)[:-2], *([] if same else [("closed",)]), *answered]
    connections = TcpConnections()
    for packet in [*made[:-2], reset]:
        connections.add(seen(packet))
    other = seen(replace(made[0], time=start + seconds))
    other.key = FORTH[:-1] + b"\x85"
    assert told(connections.add(other)) == ([] if same else [("closed",)])


def test_a_connection_that_begins_after_a_reset_is_not_closed_for_it() -> None:
    """Even if nobody had closed the one before yet."""
    first = packets(TALK, ending=RST, acks=False)
    later = Conversation([(direction, time + 0.5, data) for direction, time, data in TALK.segments])
    second = packets(later, isns=(0x70000000, 0x60000000), acks=False, ending=0)
    connections = TcpConnections()
    pieces = [piece for packet in [*first, *second] for piece in connections.add(seen(packet))]
    assert told(pieces) == [*joined(TALK), *joined(later)[:-1]]
    assert len({piece.connection for piece in pieces}) == 2


def test_both_directions_belong_to_the_same_share_whichever_is_seen_first() -> None:
    for number in range(64):
        packet = seen(packets(TALK)[0])
        packet.key = PAIR + number.to_bytes(2, "big") + FORTH[-2:]
        mine = []
        for key in (packet.key, reverse(packet.key)):
            packet.key, share = key, TcpConnections(share=(0, 2))
            share.add(packet)
            mine.append(key not in share.passed)
        assert mine[0] == mine[1]


def test_of_many_connections_the_longest_idle_are_closed() -> None:
    connections = TcpConnections(most=10)
    closed: list[Piece] = []
    for number in range(40):
        packet = seen(packets(TALK)[0])
        packet.key = PAIR + number.to_bytes(2, "big") + FORTH[-2:]
        packet.time = EPOCH + number
        closed += connections.add(packet)
    ports = [piece.connection.client.port for piece in closed]
    assert ports == list(range(len(ports)))
    assert len(ports) >= 28
    assert len(ports) + len(list(connections.close())) == 40


def guessed(servers: Servers, source: int, target: int) -> Connection:
    """The connection of a packet between these ports, without a handshake."""
    packet = between(source, target)
    (piece,) = TcpConnection(packet.key, servers).add(packet)
    return piece.connection


def between(source: int, target: int, flags: int = ACK) -> Packet:
    packet = replace(seen(packets(TALK)[3]), flags=flags)
    packet.key = PAIR + source.to_bytes(2, "big") + target.to_bytes(2, "big")
    return packet


def test_given_ports_say_who_the_client_is() -> None:
    servers = Servers([5000])
    assert guessed(servers, 9092, 5000).client.port == guessed(servers, 5000, 9092).client.port == 9092
    assert guessed(servers, 9092, 5000).guess is None


def likely_client(servers: Servers, source: int, target: int) -> int | None:
    connection = guessed(servers, source, target)
    assert connection.guess is not None
    return {True: connection.client.port, False: connection.server.port, None: None}[connection.guess.likely]


def test_a_handshake_of_another_connection_hints_at_the_server_even_if_it_comes_later() -> None:
    servers = Servers()
    guess = guessed(servers, 5000, 40000).guess
    assert guess is not None
    before = guess.likely
    servers.learn(between(5001, 40000, SYN))
    assert (before, guess.likely) == (None, True)
    assert likely_client(servers, 9092, 40000) == 9092


segments = st.lists(
    st.tuples(st.sampled_from([CLIENT, SERVER]), st.binary(min_size=1, max_size=40)), min_size=1, max_size=12
)
numbers = st.integers(0, 0xFFFFFFFF)


def conversation(said: Sequence[tuple[Direction, bytes]]) -> Conversation:
    return Conversation([(direction, number / 1000, data) for number, (direction, data) in enumerate(said)])


@given(
    said=segments,
    size=st.integers(1, 50),
    isns=st.tuples(numbers, numbers),
    seed=st.integers(0, 10_000),
    acks=st.booleans(),
    ending=st.sampled_from([FIN, 0]),
    duplication=st.floats(0, 0.5),
    reordering=st.floats(0, 0.5),
    pickled=st.booleans(),
)
def test_whatever_is_doubled_or_late_the_conversation_is_the_same(
    said: list[tuple[Direction, bytes]],
    size: int,
    isns: tuple[int, int],
    seed: int,
    acks: bool,
    ending: int,
    duplication: float,
    reordering: float,
    pickled: bool,
) -> None:
    talk = conversation(said)
    made = packets(talk, size=size, isns=isns, acks=acks, ending=ending)
    poor = disturbed(made[3:], seed=seed, duplication=duplication, reordering=reordering)
    pieces = reassembled(made[:3] + poor, pickled=pickled)
    for direction in (CLIENT, SERVER):
        assert b"".join(one.data for one in pieces if one.direction == direction) == talk.said(direction)
    assert [piece.kind for piece in pieces if piece.kind != "data"] == ["closed"]
    assert in_order(pieces, talk)
    assert [piece.time for piece in pieces] == sorted(piece.time for piece in pieces)


@given(
    said=segments,
    size=st.integers(1, 50),
    isns=st.tuples(numbers, numbers),
    seed=st.integers(0, 10_000),
    loss=st.floats(0, 0.6),
    duplication=st.floats(0, 0.3),
    reordering=st.floats(0, 0.3),
)
def test_whatever_is_lost_nothing_wrong_is_delivered(
    said: list[tuple[Direction, bytes]],
    size: int,
    isns: tuple[int, int],
    seed: int,
    loss: float,
    duplication: float,
    reordering: float,
) -> None:
    talk = conversation(said)
    made = packets(talk, size=size, isns=isns)
    poor = disturbed(made[3:], seed=seed, loss=loss, duplication=duplication, reordering=reordering)
    pieces = reassembled(made[:3] + poor)
    for direction in (CLIENT, SERVER):
        whole, at = talk.said(direction), 0
        for piece in pieces:
            if piece.direction == direction:
                assert whole[at : at + piece.size] == piece.data or piece.kind != "data"
                at += piece.size
        everything = any(packet.flags & FIN for packet in poor if (packet.source == ALICE) == (direction == CLIENT))
        assert at <= len(whole) + 1  # a FIN that was not seen either
        assert at >= len(whole) or not everything
    assert in_order(pieces, talk)


def in_order(pieces: Iterable[Piece], talk: Conversation) -> bool:
    """Whether no byte comes before one of the other side that was said before it and acknowledged by it."""
    ends: dict[Direction, list[tuple[int, int]]] = {CLIENT: [], SERVER: []}
    at: dict[Direction, int] = {CLIENT: 0, SERVER: 0}
    needs: dict[Direction, list[tuple[int, int]]] = {CLIENT: [], SERVER: []}
    for direction, _, data in talk.segments:
        back: Direction = SERVER if direction == CLIENT else CLIENT
        needs[direction].append((at[direction], at[back]))
        at[direction] += len(data)
    got: dict[Direction, int] = {CLIENT: 0, SERVER: 0}
    for piece in pieces:
        if piece.kind == "closed":
            continue
        back = SERVER if piece.direction == CLIENT else CLIENT
        if piece.kind == "data":
            needed = max(need for start, need in needs[piece.direction] if start <= got[piece.direction])
            if got[back] < needed:
                return False
        got[piece.direction] += piece.size
    return not ends[CLIENT]


@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([0, 1, 2, 100, 1 << 20, 1 << 29, 1 << 30, 1 << 31, 0xFFFFFFFF]),
            st.sampled_from([0, 1, 3, 100, 1 << 20, 1 << 30, 1 << 31, 0xFFFFFFFF]),
            st.sampled_from([ACK, ACK | PUSH, SYN, SYN | ACK, RST, FIN | ACK, FIN, 0, SYN | FIN | RST]),
            st.integers(0, 3),
            st.integers(0, 2),
            st.floats(0, 3),
        ),
        max_size=30,
    )
)
def test_no_packets_whatsoever_raise(made: list[tuple[bool, int, int, int, int, int, float]]) -> None:
    connection = TcpConnection(FORTH)
    size = 0
    pieces: list[Piece] = []
    for forth, seq, ack, flags, length, missing, time in made:
        packet = Packet(FORTH if forth else BACK, time, "x", 0, seq, ack, flags, b"abc"[:length], missing)
        size += length
        pieces += connection.add(packet)
    pieces += connection.close()
    assert sum(len(piece.data) for piece in pieces) <= size
    begun = [piece.connection.id for piece in pieces if piece.kind != "closed"]
    closed = [piece.connection.id for piece in pieces if piece.kind == "closed"]
    assert set(begun) <= set(closed)


def test_acknowledgements_are_believed_however_much_was_sent_before() -> None:
    """What comes in order needs none: the last that was looked at may be far behind."""
    lane = TcpStream(CLIENT)
    lane.begin_at(1000, 1, handshake=True)
    lane.acknowledge(1000)
    assert lane.next is not None
    lane.next += 3 * FAR
    lane.acknowledge((lane.next + 500) & MASK)
    assert lane.hole == 500


@pytest.mark.parametrize("flags", [SYN, SYN | ACK])
def test_either_packet_of_a_handshake_shows_the_server_and_not_the_client(flags: int) -> None:
    servers = Servers()
    if flags == SYN:
        servers.learn(between(40_000, 50_000, flags))
        assert likely_client(servers, 45_000, 50_000) == 45_000
        assert likely_client(servers, 40_000, 45_000) is None
    else:
        servers.learn(between(50_000, 40_000, flags))
        assert likely_client(servers, 50_000, 45_000) == 45_000
        assert likely_client(servers, 45_000, 40_000) is None


SHORT = Conversation([(CLIENT, 0.0, b"abc"), (SERVER, 0.1, b"DEFG"), (CLIENT, 0.2, b"hi"), (SERVER, 0.3, b"JKLMN")])


@pytest.mark.parametrize("swapped", [None, *range(2, 10)])
def test_of_any_packets_of_a_connection_all_data_come_out_and_what_is_missing_between(swapped: int | None) -> None:
    """Whichever are captured, also if two of them are in the wrong order: what was acknowledged or comes before other
    data is missing, from the beginning if the handshake tells where that is."""
    whole = packets(SHORT, ending=0)
    if swapped is not None:
        whole[swapped : swapped + 2] = whole[swapped + 1], whole[swapped]
    for chosen in range(1, 1 << len(whole)):
        kept = [packet for number, packet in enumerate(whole) if chosen >> number & 1]
        pieces = reassembled(kept)
        for direction in (CLIENT, SERVER):
            assert text_of(direction, pieces) == seen_of(direction, kept), [whole.index(packet) for packet in kept]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("lost", range(3))
def test_of_a_connection_that_ends_its_end_is_no_byte_whatever_is_lost(lost: int, early: bool) -> None:
    """If the end of a side was not captured, it is the last of the bytes that are missing, because the other side has
    ended: after the last answer, or before."""
    whole = packets(SHORT, acks=False)
    if early:
        answer, end = whole[6:8]
        whole[6:8] = replace(end, ack=answer.seq), replace(answer, ack=answer.ack + 1)
    may_be_lost = [3, 4, 5, *([] if early else [6]), 7, 8, 9]  # one byte that is answered counts as missing
    for numbers in combinations(may_be_lost, lost):
        kept = [packet for number, packet in enumerate(whole) if number not in numbers]
        pieces = reassembled(kept)
        for direction in (CLIENT, SERVER):
            said = SHORT.said(direction).decode()
            expected = seen_of(direction, kept)[: len(said)]
            assert text_of(direction, pieces) == expected, numbers


def text_of(direction: Direction, pieces: Iterable[Piece]) -> str:
    """The bytes of one side, those that are missing as question marks."""
    mine = [piece for piece in pieces if piece.direction == direction and piece.kind != "closed"]
    return "".join(piece.data.decode() if piece.kind == "data" else "?" * piece.size for piece in mine)


def seen_of(direction: Direction, kept: Sequence[TcpPacket]) -> str:
    """What is known of the bytes of one side by these packets alone, those that are missing as question marks."""
    sender, isn = (ALICE, 1000) if direction == CLIENT else (BROKER, 0xFFFFF000)
    said: dict[int, str] = {}
    begin = heard = None
    end = 0
    for packet in kept:
        at = (packet.seq - isn - 1) & MASK if not packet.flags & SYN else 0
        if packet.source != sender:
            acked = (packet.ack - isn - 1) & MASK if packet.flags & ACK else 0
            heard = acked if heard is None and packet.flags & ACK else heard
            end = max(end, acked)
            continue
        if begin is None:
            begin = at if heard is None or not kept[0].flags & SYN else min(at, heard)
        said |= {at + number: chr(byte) for number, byte in enumerate(packet.data)}
        end = max(end, at + len(packet.data) if packet.data or packet.flags & FIN else 0)
    return "".join(said.get(at, "?") for at in range((heard or 0) if begin is None else begin, end))
