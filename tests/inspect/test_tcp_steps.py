"""Packets of TCP singly: what each brings out, where it is from, and what waits. Limits exactly and one beyond."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.capture import Piece, TcpConnection, largest, tcp
from kwire_inspect.capture.ordering import FAR, MASK, MAX_BYTES, MAX_PACKETS, PACKET_SIZE
from kwire_inspect.capture.packets import MAX_ENDS, Connection, Guess, Packet, Servers, peers, reverse
from kwire_inspect.capture.tcp import BEHIND, TcpConnections
from tests.support.capture_files import ACK, FIN, RST, SYN

CLIENT, SERVER = b"\x0a\0\0\x01\x0a\0\0\x09\xc4\xec\x23\x84", b"\x0a\0\0\x09\x0a\0\0\x01\x23\x84\xc4\xec"
FLAGS = {"s": SYN, "f": FIN, "r": RST}
ISNS = {"C": 1000, "S": 0xFFFFFFFA, "c": 0x50000000, "s": 0x60000000}
"""Of a connection in capitals, of the next one of its ports in small letters. The server's numbers wrap soon."""
_PACKET = re.compile(r"([CScs])([sfr]*)(-?\d+)(?::(\w*))?(?:~(\d+))?(?:\^(-?\d+))?(?:@([\d.]+))?")
HELLO = "Cs-1 Ss-1^0 C0^0 "
TALK = {
    "a talk": HELLO + "C0:ab^0 S0:XYZ^2 C2:c^3 S3:W^3 Cf3^4 Sf4^4 C4^5",
    "a talk seen twice": "Cs-1 Cs-1 Ss-1^0 Ss-1^0 C0:ab^0 C0:ab^0 S0:XYZ^2 S0:XYZ^2 Cf2^3 Cf2^3 Sf3^3 Sf3^3 C3^4",
    "from the middle": "C5:ab^7 S7:XYZ^7 C7:c^10",
    "from the middle, the answer first": "S7:XYZ^7@2 C5:ab^7@1 C7:c^10@1.5",
    "the server's packets alone": "S0:XY^5 S2:Z^9 Sf3^12",
    "the client's packets alone": HELLO[:5] + "C0^0 C0:ab^0 C2:c^7 Cf3^9",
    "a request that is lost": HELLO + "S0:XYZ^5 C5:c^3",
    "a request that is late": HELLO + "S0:XYZ^2 S3:W^2 C0:ab^0",
    "two requests in the wrong order": HELLO + "C2:cd^0 C0:ab^0 S0:XYZ^4",
    "part of a request that is lost": HELLO + "C0:ab^0 C5:fg^0 S0:XYZ^7 C7:h^3",
    "both sides lose bytes": HELLO + "C2:cd^0 S2:WW^4@1 C4:e^4@3 S4:V^5@3.1",
    "patience of a second": HELLO + "C2:cd^0@1 S0^4@1.5 C4:e^0@2 C5:f^0@2.01",
    "patience with the server": HELLO + "S2:cd^0@1 C0^4@1.5 S4:e^0@2 S5:f^0@2.01",
    "patience without an acknowledgement": HELLO + "C2:cd^0@1 C4:e^0@9 C0:ab^0@10",
    "patience with the first that waits": HELLO + "C4:ef^0@1 C2:cd^0@2.5 S0^6@2.6 C6:g^0@2.7",
    "clocks that go back": HELLO + "C0:ab^0@5 S0:X^2@4 C2:c^1@3 S1:Y^3@6",
    "a retransmission with more": HELLO + "C0:abc^0 C1:bcde^0 C0:abcde^0 S0:X^5",
    "overlaps that wait": HELLO + "C2:cd^0 C3:defg^0 C2:c^0 C0:abc^0 S0:X^7",
    "packets cut off": HELLO + "C0:ab~3^0 C5~4^0 C0:abcde^0 C7:hijk~2^0 S0:X^13",
    "packets cut off that wait": HELLO + "C5:f~2^0 C0:ab~3^0 C6:g~5^0 S0~4^12",
    "a keep-alive": HELLO + "C0:ab^0 S0^2 C1:b^0 C1^0 S0^2 C2:c^0",
    "a keep-alive first": "S0^2 C1:b^0 C2:c^0 S0:X^3",
    "late packets from before the capture": "C5:ab^0 C3:xy^0 C7:c^0",
    "ends in the wrong order": HELLO + "Sf3^2 Cf2^0 C0:ab^0 S0:XYZ^2",
    "an end that is lost": HELLO + "C0:ab^0 Sf0^3 C3^1",
    "an end that is no end": HELLO + "C0:ab^0 S0^3 Cf2^0 C3:d^0 C4:e^0",
    "one byte that is answered": HELLO + "S0:X^1 C1:b^1",
    "one byte that is not answered": HELLO + "S0^1@1 S0:X^1@1.5 C1:b^1@3 C2:c^1@5",
    "an end with data": HELLO + "Cf0:ab^0 Sf0:XYZ^3 C3^4",
    "data after both ends": HELLO + "Cf0^0 Sf0^1 C1^1 S1:XY^1 S3:Z^1 C1:a^4",
    "an answer that was acknowledged before": "Cs-1 C0:ab^3 S0:XYZ^2 C2:c^3",
    "an answer whose beginning is lost": "Cs-1 C0:ab^0 S2:Z^2 C2:c^3",
    "an answer whose beginning is lost, from the middle": "C0:ab^0 S2:Z^2 C2:c^3",
    "packets that acknowledge each other": HELLO + "C0:ab^0 S0:X^9 C2:cdefghi^1 S1:Y^9",
    "an acknowledgement of no window": HELLO + f"C0:ab^0 S0:X^{FAR + 2} S1:Y^{FAR + 1} C2:c^2 S2:Z^3",
    "no acknowledgement": HELLO + "C0:ab S0:X C1000:c S5:Y C2:d^1",
    "old acknowledgements": HELLO + "C0:abcd^0 S0^4 S0^2 C6:g^0@2 S0^2@3.5 S0:X^2@3.6 S1:Y^7@3.7 C7:h^2@3.8",
    "the first acknowledgement after numbers wrapped": "S0:abcdefgh@1 S10:kl@1.1 C0^12@1.2 S12:m@3",
    "acknowledged beyond the end": HELLO + "C0:ab^0 Cf2^0 S0^9",
    "two that differ": HELLO + "C2:cd^0 C2:CDEF^0 C0:ab^0 C0:AB^0",
    "one that is known when its turn comes": HELLO + "C1:bc^0@3 C0:abc^0@2 S0:X^3@2.5",
    "an end that is no end, of packets cut off": HELLO + "C0~2^0 Cf2^0 C3~2^0 C5:f^0",
    "only as much is given up as is needed": HELLO + "S0:X^2@1 S1^5@1.1 C5:f^1@3",
    "one byte that a later packet answers": HELLO + "S2:Z^0@1 S3:Y^1@1.1 S9:W^1@3",
    "one byte that alone is answered": HELLO + "S0:X^1@1 S1:Y^1@3",
    "one byte before another": HELLO + "C1:b^0@1 S0^2@1.1 C2:c^0@3",
    "one byte that nobody answers, and more": HELLO + "C0^0 S0^1@1 S0:X^0@1.1 S2:Z^0@1.2 S3:W^0@3 C1:b^1@4",
    "both sides wait for what nobody acknowledged": HELLO + "C9:x^0 S5:Y^0 S7:Z^0",
    "data, then the handshake": "C0^0 C0:ab^0 Cs-1 Ss-1^0 S0:X^2",
    "a reset": HELLO + "C0:ab^0@1 Sr0^2@1.5 S0:XY^2@2.5 C2:c^2@2.6 Cr3^2@3",
    "a reset, and another": HELLO + "C0:ab^0@1 Cr2^0@2 Sr0^2@2.9 S0:X^2@3 S1:Y^2@3.1",
    "a reset alone": "Cr0^0 Sr0^0",
    "an end, then a reset": HELLO + "Sf0^0 Cr0^1 S1^0",
    "a new handshake": HELLO + "C0:ab^0 cs-1@9 ss-1^0@9.1 c0:cd^0@9.2 s0:X^2@9.3",
    "a new handshake after an end": HELLO + "C0:ab^0 Cf2^0 Sf0^3 cs-1@9 s0:X^0@9.1 c0:cd^1@9.2",
    "a new handshake after a reset": HELLO + "C0:ab^0@1 Cr2^0@1.1 cs-1@1.2 ss-1^0@1.3 C2:c^0@1.4 c0:de^0@1.5",
    "the same handshake after data": "C0:ab^0 Cs-1 Ss-1^0 S0:X^2",
    "a server's handshake alone": "Ss-1^0 S0:X^2 C0:ab^0 C2:c^1",
    "a server's handshake last": "Cs-1 S0:X^2 C0:ab^0 Ss-1^0 S1:Y^2",
    "a handshake in the wrong order": "C0^0 Ss-1^0 Cs-1 S0:XY^0 C0:a^2",
    "a handshake with the client's bytes": "Cs-1:ab S0:XYZ^2",
    "the first packet has the server's bytes": "S0:XY^3 Cs-1 C0:abc^2",
    "an acknowledgement alone": "S4^7",
    "two that match": HELLO + "C0:ab^0 c5:cd^9@5 c7:e^9@6 s9:X^8@7",
    "an answer that matches": HELLO + "C0:ab^0 c5:cd^9@5 s9:X^7@6 c7:e^10@7",
    "two that do not match": HELLO + "C0:ab^0 c5:cd^9@5 C2:e^0@6 s9:X~2^0@7 S0:Y^3@8",
    "from the middle, and a new handshake": "C5:ab^7 S7:XYZ^7 cs-1@9 ss-1^0@9.1 c0:cd^0@9.2 s0:X^2@9.3",
    "from the middle, and the server's new handshake": "C5:ab^7 S7:XYZ^7 ss-1^0@9 c0:cd^0@9.2 s0:X^2@9.3",
    "another server's handshake": "Cs-1 C0:ab^0 ss-1^0@1 c0:cd^0@1.1 s0:X^2@1.2",
    "a handshake that acknowledges another": "Cs-1 Ss-1^5 C0:ab^0 S0:X^2",
    "a handshake before what was heard": "C0^0 C0:ab^0 Ss-2^0 S0:X^2",
    "bytes at the limit of what is far": HELLO + f"C0:ab^0 C{FAR}:x^0 C{FAR + 3}:y^0 S0:X^2",
    "bytes at the limit of what is late": f"C{BEHIND}:ab^0 C0:x^0 C-1:y^0 C-1:z^0 C{BEHIND + 2}:c^0",
    "two that are nearly apart": HELLO + f"C0:ab^0 c0:x^9@5 c{BEHIND}:y^9@6 c{2 * BEHIND - 1}:z^9@7",
    "two of which the second is earlier": HELLO + f"C0:ab^0 c{BEHIND}:x^9@5 c0:y^9@6 c1:z^9@7",
    "acknowledged before it was seen": "S0^5 C2:c^0",
    "two answers that wait for different bytes": HELLO + "S0:X^2@1 S1:Y^5@1.1 C7:h^0@3",
    "a first acknowledgement of nearly a window": HELLO + f"C1^{FAR - 1} S0:X^0",
    "a first acknowledgement of a window": HELLO + f"C1^{FAR} S0:X^0",
    "two ends, then a reset": HELLO + "Cf0^0 Sf0^1 Cr1^1@1 S1^1@2.1",
    "acknowledgements with other numbers": HELLO + "C0:ab^0 c5^9@5 c5^9@6 C2:c^0@7 cr5:x^0@8",
    "a retransmission that acknowledges more": HELLO + "C0:ab^0 C0:ab^5 S0:XYZ^2 S3:W^2",
    "one that does not match, and the end": HELLO + "C0:ab^0 c5:cd^9@5",
    "one that does not match, and two ends": HELLO + "C0:ab^0 c5:cd^9@5 Cf2^0@6 Sf0^3@7 c7:e^9@8",
}


def packet(token: str, number: int, time: float) -> Packet:
    """``Cf3:ab~1^4@2``: the client's third byte and its next, one more that is cut off and its end, four bytes of the
    server acknowledged, at second 2."""
    found = _PACKET.fullmatch(token)
    assert found is not None, token
    who, letters, offset, data, missing, ack, at = found.groups()
    numbers = "CS" if who.isupper() else "cs"
    mine, other = who, numbers[1 - numbers.index(who)]
    flags = sum(FLAGS[letter] for letter in letters) | (ACK if ack is not None else 0)
    seq, acked = ISNS[mine] + 1 + int(offset), ISNS[other] + 1 + int(ack or 0) if ack else 0
    key = CLIENT if who.upper() == "C" else SERVER
    size = int(missing or 0)
    now = float(at or time)
    return Packet(key, now, f"{number}.pcap", number, seq & MASK, acked & MASK, flags, (data or "").encode(), size)


def made(script: str) -> Iterator[tuple[str, Packet]]:
    """Yield the packets, each a tenth of a second after the one before unless it tells its time."""
    time = 0.0
    for number, token in enumerate(script.split(), 1):
        one = packet(token, number, round(time + 0.1, 6))
        time = one.time
        yield token, one


class Told:
    """Tells pieces: with the number of their packet, and with their time and connection if these are new."""

    def __init__(self) -> None:
        self.last = ""
        self.time = 0.0

    def __call__(self, pieces: list[Piece], now: Packet | None = None) -> str:
        return "  ".join(self._one(piece, now) for piece in pieces)

    def _one(self, piece: Piece, now: Packet | None) -> str:
        piece = pickle.loads(pickle.dumps(piece))  # as it goes to other processes
        assert piece.source == f"{piece.position}.pcap"
        one = piece.connection
        guess = "" if one.guess is None else f" likely {one.guess.likely}"
        about = f"{one.id.replace('10.0.0.', '')}{'' if one.complete else ' incomplete'}{guess}"
        new, self.last = "" if about == self.last else f"[{about}] ", about
        what = repr(piece.data)[1:] if piece.kind == "data" else f"{piece.kind} {piece.size}"
        place = "" if now is not None and piece.position == now.position else f" of packet {piece.position}"
        at = "" if piece.time == (now.time if now else self.time) else f" at {piece.time:g} s"
        self.time = piece.time
        assert piece.kind != "data" or piece.size == len(piece.data)
        return f"{new}{piece.direction[0].upper()} {what}{place}{at}"


def steps(script: str, again: Callable[[TcpConnection], TcpConnection]) -> Iterator[str]:
    """Yield what comes of each packet, and of the end."""
    connection, told = TcpConnection(CLIENT), Told()
    for token, one in made(script):
        pieces = connection.add(one)
        connection = again(connection)
        waits = f"  (waiting: {connection.held} bytes)" if connection.held else ""
        reset = f"  (reset at {connection.reset:g} s)" if connection.reset is not None else ""
        yield f"{token:<14} {told(pieces, one)}{waits}{reset}".rstrip()
    yield f"{'the end':<14} {told(connection.close())}".rstrip()
    assert connection.close() == []


@pytest.mark.parametrize("name", TALK)
def test_each_step_of_a_connection(name: str, snapshot: SnapshotAssertion) -> None:
    """A connection that is pickled after each step goes on just so."""
    text = "\n".join(steps(TALK[name], lambda connection: connection))
    assert text == snapshot
    assert "\n".join(steps(TALK[name], lambda connection: pickle.loads(pickle.dumps(connection)))) == text


@pytest.mark.parametrize(("flags", "kinds"), [(SYN, ["closed"]), (SYN | ACK, [])])
def test_only_a_handshake_with_the_flag_acknowledges_another(flags: int, kinds: list[str]) -> None:
    """Whatever is in the field."""
    (_, first), (_, second) = made("Cs-1 Ss-1^0")
    connection = TcpConnection(CLIENT)
    assert connection.add(first) == []
    assert [piece.kind for piece in connection.add(replace(second, flags=flags))] == kinds


def waiting(count: int, size: int, last: int = 0) -> list[Packet]:
    """Packets behind a byte that is missing: ``count`` of ``size`` bytes, the last has ``last`` more."""
    data = bytes(size)
    found = [packet("C1^0", number, 1 + number / 1000) for number in range(count)]
    return [
        replace(one, seq=one.seq + size * number, data=data if number < count - 1 else data + bytes(last))
        for number, one in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("packets", "given_up"),
    [
        (waiting(MAX_PACKETS, 1), False),
        (waiting(MAX_PACKETS + 1, 1), True),
        (waiting(64, MAX_BYTES // 64), False),
        (waiting(64, MAX_BYTES // 64, 1), True),
    ],
    ids=["packets", "one packet more", "bytes", "one byte more"],
)
def test_a_connection_holds_so_many_packets_and_bytes(packets: list[Packet], given_up: bool) -> None:
    """Beyond that, what is missing is a gap, and everything comes out."""
    connection = TcpConnection(CLIENT)
    for _, one in made(HELLO):
        connection.add(one)
    *others, last = (connection.add(one) for one in packets)
    sent = sum(len(one.data) for one in packets)
    assert others == [[]] * len(others)
    assert [(piece.kind, piece.size) for piece in last[:1]] == ([("gap", 1)] if given_up else [])
    assert sum(piece.size for piece in last[1:]) == (sent if given_up else 0)
    assert connection.held == (0 if given_up else sent + PACKET_SIZE * len(packets))
    assert sum(piece.size for piece in connection.give_up()) == (0 if given_up else sent + 1)
    assert (connection.held, connection.give_up()) == (0, [])


@pytest.mark.parametrize(
    ("sizes", "limit", "expected"),
    [
        ({}, 0, []),
        ({"a": 4, "b": 6}, 10, []),
        ({"a": 4, "b": 7}, 10, ["b"]),
        ({"a": 5, "b": 7, "c": 6}, 10, ["b", "c"]),
        ({"a": 5, "b": 7, "c": 6}, 9, ["b", "c", "a"]),
    ],
)
def test_the_largest_until_half_of_a_limit_is_left(sizes: dict[str, int], limit: int, expected: list[str]) -> None:
    assert largest(sizes, limit) == expected


def on(one: Packet, port: int, address: int = 1, time: float | None = None) -> Packet:
    """The packet from or to another port and address of the client's."""
    host, number = b"\x0a\0\0" + bytes([address]), port.to_bytes(2, "big")
    key = host + SERVER[:4] + number + SERVER[8:10]
    moved = replace(one, time=one.time if time is None else time)
    moved.key = key if one.key == CLIENT else reverse(key)
    return moved


def opened(connections: TcpConnections, port: int, time: float = 1.0) -> None:
    for _, one in made(HELLO):
        assert connections.add(on(one, port, time=time)) == []


def brief(pieces: list[Piece]) -> list[tuple[int, str, int]]:
    return [(piece.connection.client.port, piece.kind, piece.size) for piece in pieces]


def test_connections_that_hold_the_most_together_give_up() -> None:
    """If more than 32 MB wait whenever 16 MB more have come: the largest, until half of that is left."""
    connections = TcpConnections()
    sizes = {port: MAX_BYTES - abs(7 - port) * 10_000 for port in range(1, 14)}
    for port in sizes:
        opened(connections, port)
    told = []
    for port, size in sizes.items():
        told.append(connections.add(on(replace(packet("C1^0", 4, 1.0), data=bytes(size)), port)))
    gone = [7, 6, 8, 5, 9, 4, 10, 3]
    *others, last = told
    assert others == [[]] * 12
    assert brief(last) == [(port, kind, size) for port in gone for kind, size in (("gap", 1), ("data", sizes[port]))]
    assert brief(connections.add(on(packet("C0:a^0", 5, 2.0), 13))) == [(13, "data", 1), (13, "data", sizes[13])]


def test_what_was_reset_is_closed_a_second_later_by_any_packet() -> None:
    """In the order of the resets, each once, though it may have begun again or been closed before."""
    connections = TcpConnections()
    for port in (1, 2, 3):
        opened(connections, port)
    for port, time in ((2, 2.0), (1, 2.5), (3, 2.6), (2, 2.7)):
        assert connections.add(on(packet("Cr0^0", 4, time), port)) == []
    assert brief(connections.add(on(packet("Cs-1", 5, 2.7), 4))) == []
    assert brief(connections.add(on(packet("cs-1", 6, 2.8), 3))) == [(3, "closed", 1)]
    assert brief(connections.add(on(packet("Cs-1", 7, 3.0), 4))) == []
    assert brief(connections.add(on(packet("S0:X^0", 8, 3.1), 4))) == [(2, "closed", 1), (4, "data", 1)][::-1]
    assert brief(connections.add(on(packet("S1:Y^0", 9, 9.0), 4))) == [(4, "data", 1), (1, "closed", 1)]
    assert brief([*connections.close()]) == [(3, "closed", 0), (4, "closed", 0)]
    assert [*connections.close()] == []


def test_at_most_so_many_connections_are_kept() -> None:
    """Of more, the one is closed that was idle for the longest time. It may begin again."""
    connections = TcpConnections(most=4)
    for port in (1, 2, 3, 4):
        opened(connections, port, 9.0 - port)
    assert brief(connections.add(on(packet("C0:a^0", 4, 20.0), 4))) == [(4, "data", 1)]
    assert brief(connections.add(on(packet("Cs-1", 5, 21.0), 5))) == [(3, "closed", 0)]
    assert brief(connections.add(on(packet("C0:a^0", 6, 22.0), 3))) == [(2, "closed", 0), (3, "data", 1)]
    assert [port for port, _, _ in brief([*connections.close()])] == [1, 4, 5, 3]


def test_of_connections_that_never_began_nothing_is_told() -> None:
    """They are forgotten before others, and what follows later is another connection."""
    connections = TcpConnections(most=2)
    for number, port in enumerate((1, 2, 3)):
        assert connections.add(on(packet("Cr0^0" if port == 2 else "Cs-1", 4, 1.0), port, time=9.0 - number)) == []
    assert brief(connections.add(on(packet("C0:a^0", 5, 20.0), 2))) == [(3, "closed", 0), (2, "data", 1)]
    assert brief([*connections.close()]) == [(1, "closed", 0), (2, "closed", 0)]
    connections = TcpConnections(most=1)
    assert [connections.add(on(packet("Cr0^0", 4, 1.0), port)) for port in (1, 2)] == [[], []]
    assert [*connections.close()] == []


@pytest.mark.parametrize(("most", "told"), [(2, [(1, "closed", 1)]), (3, [])])
def test_at_most_so_many_resets_are_kept(most: int, told: list[tuple[int, str, int]]) -> None:
    """One connection may be reset again and again meanwhile."""
    connections = TcpConnections(most=most)
    for port in (1, 2):
        opened(connections, port)
        assert brief(connections.add(on(packet("Cr0^0", 4, 1.1), port))) == []
    assert brief(connections.add(on(packet("cs-1", 5, 1.2), 2))) == [(2, "closed", 1)]
    assert brief(connections.add(on(packet("cr0^0", 6, 1.3), 2))) == told


def test_only_connections_of_a_share_and_of_ports_come_out() -> None:
    """Each is in one share, whoever is seen first. What is passed over tells who the servers are all the same."""
    found: list[tuple[int, str, int]] = []
    for number in range(3):
        connections = TcpConnections((number, 3))
        pieces: list[Piece] = []
        for port in range(1, 13):
            for _, one in [*made("C0:ab^0 S0:XYZ^2 C2:c^3")][:: 1 if port % 2 else -1]:
                pieces += connections.add(on(one, port))
        pieces += connections.close()
        mine = {piece.connection.client.port for piece in pieces}
        assert 1 <= len(mine) < 12
        assert len(connections.passed) == 2 * (12 - len(mine))
        assert set(connections.passed) == {reverse(key) for key in connections.passed}
        found += brief(pieces)
    assert sorted({port for port, _, _ in found}) == [*range(1, 13)]
    assert sum(size for _, kind, size in found if kind == "data") == 6 * 6 + 6 * 4, "the first is before the capture"
    given = TcpConnections(ports=[9092])
    assert [len(given.add(on(one, 7))) for _, one in made("S0:XYZ^0 C0:ab^3")] == [1, 1]
    other = TcpConnections(ports=[7])
    (piece,) = other.add(on(packet("C0:ab^0", 1, 1.0), 7))
    assert (piece.direction, piece.connection.client.port, piece.connection.guess) == ("server", 9092, None)
    passed = on(packet("C0:ab^0", 1, 1.0), 8)
    assert (other.add(passed), other.passed) == ([], {passed.key, reverse(passed.key)})


def test_what_is_passed_over_is_forgotten_when_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """And told again by its next packet."""
    monkeypatch.setattr(tcp, "MAX_PASSED", 4)
    connections, sizes = TcpConnections(ports=[1]), []
    for port in (2, 3, 4, 4, 2):
        assert connections.add(on(packet("C0:ab^0", 1, 1.0), port)) == []
        sizes.append(len(connections.passed))
    assert sizes == [2, 4, 2, 2, 4]


def end(number: int) -> bytes:
    """An end whose port is none of the usual ones, in networks of two sizes."""
    return b"\x0a\x01" + number.to_bytes(4, "big")


def talk(source: bytes, target: bytes, flags: int = ACK) -> Packet:
    key = source[:4] + target[:4] + source[4:] + target[4:]
    return Packet(key, 1.0, "a.pcap", 1, 1, 1, flags, b"")


A, B, C, D = (end(number) for number in range(1, 5))


@pytest.mark.parametrize(
    ("learnt", "expected"),
    [
        ([], None),
        ([(A, B, SYN)], True),
        ([(B, A, SYN | ACK)], True),
        ([(B, A, SYN)], False),
        ([(A, B, SYN | ACK)], False),
        ([(C, B, SYN), (C, A, SYN)], None),
        ([(C, B, SYN), (C, A, SYN), (C, B, ACK), (D, B, ACK), (end(9), B, ACK)], True),
        ([(C, B, ACK), (D, B, ACK)], None),
        ([(C, B, ACK), (D, B, ACK), (B, end(5), ACK)], True),
        ([(C, A, ACK), (D, A, ACK), (A, end(5), ACK)], False),
        ([(A, B, ACK), *((end(number), B, ACK) for number in (5, 6))], True),
        ([(A, B, ACK), (A, C, ACK), *((end(number), B, ACK) for number in range(5, 9))], None),
        ([(A, B, ACK), (A, C, ACK), *((end(number), B, ACK) for number in range(5, 10))], True),
    ],
)
def test_who_is_the_client_of_two_ends_by_what_others_did(
    learnt: list[tuple[bytes, bytes, int]], expected: bool | None
) -> None:
    """By handshakes, then by three times as many peers as the other has. The other direction says the opposite."""
    servers = Servers()
    for one in learnt:
        servers.learn(talk(*one))
    key = talk(A, B).key
    assert [servers.hint(key), servers.asked(key)] == [expected, None]
    assert servers.hint(reverse(key)) is (None if expected is None else not expected)
    assert [Guess(servers, one).likely for one in (key, reverse(key))] == [
        expected,
        None if expected is None else not expected,
    ]


def test_the_usual_ports_and_given_ports() -> None:
    """The usual ones count where nothing else is known, given ones before everything."""
    usual, other = b"\x0a\1\0\1\x23\x84", b"\x0a\1\0\2\x23\x8b"
    servers = Servers()
    assert [servers.hint(talk(*one).key) for one in ((A, usual), (usual, A), (usual, other))] == [True, False, None]
    near = [start + more for start in (9092, 19092, 29092, 39092) for more in range(-2, 10)]
    ends = {port: A[:4] + port.to_bytes(2, "big") for port in near}
    found = [port - 9092 for port, one in ends.items() if servers.hint(talk(B, one).key)]
    assert found == [start + more for start in (0, 10_000, 20_000, 30_000) for more in range(8)]
    servers.learn(talk(usual, A, SYN))
    assert servers.hint(talk(usual, A).key) is True
    given = pickle.loads(pickle.dumps(Servers([1, 9092])))
    assert given.ports == {1, 9092}
    assert [given.asked(talk(*one).key) for one in ((B, A), (A, B), (A, usual), (B, C))] == [True, False, None, None]


def test_ends_with_few_peers_are_forgotten_when_there_are_too_many() -> None:
    """Handshakes with them, too."""
    servers = Servers()
    for number in (5, 6, 7):
        servers.learn(talk(end(number), B, SYN))
    servers.learn(talk(end(8), D, SYN))
    servers.learn(talk(end(9), D, SYN))
    known = 7
    hints = [(talk(A, B).key, True), (talk(A, D).key, True)]
    for number in range(10, 10 + (MAX_ENDS - known) // 2):
        servers.learn(talk(end(number), end(number + MAX_ENDS)))
    servers.learn(talk(end(MAX_ENDS * 3), end(5)))
    assert [servers.hint(key) for key, _ in hints] == [True, True]
    servers.learn(talk(C, A))
    assert [servers.hint(key) for key, _ in hints] == [True, None]


def test_values_are_the_same_in_other_processes() -> None:
    """With all of their fields, those too that do not count in comparisons."""
    six = bytes.fromhex("20010db8000000000000000000000001" "20010db8000000000000000000000009" "c4ec2384")
    client, server = peers(six)
    assert [str(one) for one in (client, server, *peers(CLIENT))] == [
        *("[2001:db8::1]:50412", "[2001:db8::9]:9092", "10.0.0.1:50412", "10.0.0.9:9092")
    ]
    assert [peers(reverse(key)) for key in (six, CLIENT)] == [peers(key)[::-1] for key in (six, CLIENT)]
    one = Packet(six, 1.5, "a.pcap", 2, 3, 4, 5, b"six", 7)
    again = pickle.loads(pickle.dumps(one))
    fields = ("key", "time", "source", "position", "seq", "ack", "flags", "data", "missing")
    assert [getattr(again, name) for name in fields] == [six, 1.5, "a.pcap", 2, 3, 4, 5, b"six", 7]
    connection = Connection(client, server, 1.2345678, True, Guess(Servers([9092]), six), "no secrets")
    copy = pickle.loads(pickle.dumps(connection))
    assert copy == connection
    assert (copy.guess.key, copy.guess.servers.ports, copy.encryption) == (six, {9092}, "no secrets")
    assert copy.id == "[2001:db8::1]:50412-[2001:db8::9]:9092@1.234568"
