"""The search for the next frame, among candidates whose worth a test decides."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kwire import is_native
from kwire.connection.framing import DECODES, EXPECTED, IMPLAUSIBLE, NEWER, PLAUSIBLE, POSSIBLE, UNDECODABLE, Framing
from kwire.connection.search import MAX_CANDIDATES, MAX_EFFORT, Search

pytestmark = pytest.mark.skipif(is_native(), reason="native classes cannot be extended")

BEGIN = 1_000_000
"""Where the search begins: far into a stream."""


class Marks(Framing):
    """A frame may begin at ``[``; the next byte is its size, and the first byte of its payload what it is worth."""

    def __init__(self) -> None:
        super().__init__(prefix_size=5, lookahead=3)
        self.scored: list[bytes] = []

    def starts(self, buffer: bytearray, start: int, stop: int) -> Iterator[re.Match[bytes]]:
        return re.compile(rb"(?s)\[(?=.{4})").finditer(buffer, start, stop)

    def size_at(self, buffer: bytearray, at: int) -> int:
        return buffer[at + 1] if buffer[at + 1] < 255 else -1

    def is_promising(self, buffer: bytearray, at: int) -> bool:
        return buffer[at + 2 : at + 3] == b"!"

    def score(self, payload: bytes) -> int:
        self.scored.append(payload)
        return payload[0]


def marked(score: int, size: int = 4, fill: bytes = b".") -> bytes:
    """A frame that is found by its mark."""
    return bytes((*b"[", size, *b"..", score)) + fill * (size - 1)


def search(most: int = 100, trusted: bool = False) -> Search:
    return Search(Marks(), BEGIN, 1.0, most, trusted=trusted)


def found(one: Search, data: bytes, *, ended: bool = False) -> tuple[int, int, float, int, bool] | None:
    """Where the next frame starts and ends, when it came, what it is, and whether the one after it is certain."""
    candidate = one.advance(bytearray(data), BEGIN, 2.0, ended=ended)
    if candidate is None:
        return None
    return candidate.start - BEGIN, candidate.end - BEGIN, candidate.started, candidate.kind, one.synced


@pytest.mark.parametrize(
    ("score", "synced"), [(DECODES, True), (PLAUSIBLE, True), (UNDECODABLE, True), (IMPLAUSIBLE, False)]
)
def test_a_frame_after_a_frame_is_believed_and_the_next_one_if_it_is_possible(score: int, synced: bool) -> None:
    one = search(trusted=True)
    one.expect(BEGIN + 8, POSSIBLE)
    frame = b"????" + bytes((score, 0, 0, 0))
    assert found(one, frame[:-1]) is None
    assert one.settled == BEGIN
    assert found(one, frame) == (0, 8, 1.0, POSSIBLE, synced)


@pytest.mark.parametrize(
    ("score", "more", "place"),
    [
        (DECODES, b"", (0, 8, 1.0, POSSIBLE, True)),
        (NEWER, b"", (0, 8, 1.0, POSSIBLE, True)),
        (PLAUSIBLE, b"", (0, 8, 1.0, POSSIBLE, True)),
        (UNDECODABLE, b"..", None),
        (UNDECODABLE, b"...", (0, 8, 1.0, POSSIBLE, False)),
        (IMPLAUSIBLE, b"....", None),
    ],
)
def test_the_first_bytes_of_a_capture_are_a_frame_unless_later_bytes_speak_against_it(
    score: int, more: bytes, place: object
) -> None:
    one = search()
    one.expect(BEGIN + 8, POSSIBLE)
    assert found(one, b"????" + bytes((score, 0, 0, 0)) + more) == place


@pytest.mark.parametrize(("promising", "place"), [(b"!", None), (b".", (0, 10, 1.0, POSSIBLE, False))])
def test_a_doubtful_frame_gives_way_to_a_promising_one_within_it(promising: bytes, place: object) -> None:
    one = search()
    one.expect(BEGIN + 10, POSSIBLE)
    assert found(one, b"????" + bytes((UNDECODABLE,)) + b"[\x40" + promising + b"." * 5) == place
    after = search()  # a candidate that begins behind it says nothing
    after.expect(BEGIN + 10, POSSIBLE)
    assert found(after, b"????" + bytes((UNDECODABLE,)) + b"....." + b"[\x40!") is not None


@pytest.mark.parametrize(
    ("score", "is_frame"),
    [(DECODES, True), (NEWER, True), (PLAUSIBLE, False), (UNDECODABLE, False), (IMPLAUSIBLE, False)],
)
def test_what_only_looks_like_a_frame_has_to_decode(score: int, is_frame: bool) -> None:
    one = search()
    assert found(one, b"??" + marked(score)) == ((2, 10, 2.0, EXPECTED, True) if is_frame else None)
    assert one.found == 1
    assert found(search(), b"??" + marked(score)[:-1]) is None


def test_the_first_complete_frame_wins_and_the_largest_size_is_included() -> None:
    inner = marked(DECODES, 4)
    assert found(search(), b"[\x30.." + bytes((DECODES,)) + inner + b"." * 50) == (5, 13, 2.0, EXPECTED, True)
    assert found(search(most=4), b"?" + inner) == (1, 9, 2.0, EXPECTED, True)
    assert found(search(most=3), b"?" + inner) is None
    assert found(search(), b"?[\xff......" + inner) == (9, 17, 2.0, EXPECTED, True)


def test_at_the_end_whole_candidates_are_left() -> None:
    for score, place in ((UNDECODABLE, (0, 8, 1.0, POSSIBLE, False)), (IMPLAUSIBLE, None)):
        one = search()
        one.expect(BEGIN + 8, POSSIBLE)
        assert found(one, b"????" + bytes((score, 0, 0, 0)), ended=True) == place
    cut = search(trusted=True)
    cut.expect(BEGIN + 9, POSSIBLE)
    assert found(cut, b"????" + bytes((DECODES, 0, 0, 0)), ended=True) is None
    waiting = search()
    waiting.expect(BEGIN + 8, POSSIBLE)
    data = b"????" + bytes((UNDECODABLE, 0, 0, 0))
    assert found(waiting, data) is None  # it waits for three bytes more
    assert found(waiting, data, ended=True) == (0, 8, 1.0, POSSIBLE, False)


@pytest.mark.parametrize("trusted", [True, False])
def test_of_too_many_candidates_the_shorter_half_stays_and_what_a_frame_was_followed_by(trusted: bool) -> None:
    kept = search(most=254, trusted=trusted)
    kept.expect(BEGIN + 2000, POSSIBLE)
    for number in range(MAX_CANDIDATES):
        kept._add_candidate(BEGIN + number, BEGIN + 500 + number, 2.0)
    ends = sorted(candidate.end - BEGIN for candidate in kept._candidates)
    assert ends == [*range(500, 500 + MAX_CANDIDATES // 2), *[2000] * trusted]


def test_candidates_are_scored_for_a_multiple_of_the_bytes_that_were_searched() -> None:
    """Not of all bytes of the stream. The expected one is always scored."""
    one = search(most=254)
    framing = one._framing
    assert isinstance(framing, Marks)
    data = b"".join(b"[\xc8.." for _ in range(200)) + bytes((IMPLAUSIBLE,)) * 300
    assert found(one, data) is None
    spent = sum(4 + len(payload) for payload in framing.scored)
    assert MAX_EFFORT * (len(data) - 300) / 2 < spent <= MAX_EFFORT * len(data)
    assert len(framing.scored) < one.found
