"""Streams that were joined in the middle, or of which bytes are missing: the next whole message is found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from kwire import is_native
from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    Event,
    Gap,
    RequestEvent,
    ResponseEvent,
    Skipped,
    Unanswered,
    Undecodable,
)
from kwire.connection.framing import ApiCatalog, RequestFraming
from kwire.connection.search import MANY_FOUND, Search
from kwire.frames import MAX_FRAME, frame
from kwire_kafka import (
    PROTOCOL,
    EnvelopeRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from tests.e2e.capture import load
from tests.runtime.connection.conversations import Segment, accounted, answered, asked, decoder, play, raw, real

UNKNOWN_VERSION = 99


def joined(segments: list[Segment], skip: int) -> list[Segment]:
    """What is left of a conversation after its first ``skip`` bytes."""
    left: list[Segment] = []
    for side, data in segments:
        if data[skip:]:
            left.append((side, data[skip:]))
        skip = max(0, skip - len(data))
    return left


def messages(events: list[Event]) -> list[tuple[Direction, bytes]]:
    return [(event.direction, event.data) for event in events if isinstance(event, (RequestEvent, ResponseEvent))]


# All kinds of messages; each conversation begins anew every few frames, to be joined at each of its bytes.
PARTS = [list(real()[first : first + 6]) for first in range(12, len(real()) - 6, 51)]


@pytest.mark.slow
@pytest.mark.parametrize("segments", PARTS, ids=range(len(PARTS)))
def test_joined_at_any_byte_all_later_frames_are_decoded(segments: list[Segment]) -> None:
    for skip in range(sum(len(data) for _, data in segments)):
        left = joined(segments, skip)
        events = play(left, decoder("unknown"))
        assert sum(map(accounted, events)) == sum(len(data) for _, data in left)
        # The first of what is left may be a part, and what answers it was not asked for.
        whole = [(side, data[4:]) for side, data in left if (side, data) in segments]
        if whole and whole[0][0] == SERVER:
            whole.pop(0)
        assert [found for found in messages(events) if found in whole] == whole


CAPTURES = sorted((Path(__file__).parents[2] / "data" / "captures").glob("*.json.gz"))
STREAMS = [[(side, data) for side, _, data in one.segments] for path in CAPTURES for one in load(path)]


def length(segments: list[Segment], side: str) -> int:
    return sum(len(data) for whose, data in segments if whose == side)


def frames(events: list[Event]) -> Counter[tuple[str, bytes]]:
    return Counter(messages(events))


def untouched(events: list[Event], ranges: dict[Direction, list[range]]) -> Counter[tuple[str, bytes]]:
    """What has to be found if these parts of the streams are missing: frames outside, if their request is."""

    def whole(event: RequestEvent | ResponseEvent) -> bool:
        return not any(
            part.start < event.position + event.size and event.position < part.stop
            for part in ranges[event.direction]
        )

    found = [event for event in events if isinstance(event, RequestEvent) and whole(event)]
    answers = [event for event in events if isinstance(event, ResponseEvent) and event.request in found]
    every: list[RequestEvent | ResponseEvent] = [*found, *filter(whole, answers)]
    return Counter((event.direction, event.data) for event in every)


@pytest.mark.parametrize("seed", range(4))
def test_captures_of_real_clients_joined_anywhere(seed: int) -> None:
    random = Random(seed)
    for segments in STREAMS:
        skip = random.randrange(sum(len(data) for _, data in segments))
        left = joined(segments, skip)
        missing = {side: [range(length(segments, side) - length(left, side))] for side in (CLIENT, SERVER)}
        wanted = untouched(play(segments), missing)  # type: ignore[arg-type]
        assert not wanted - frames(play(left, decoder("unknown")))


@pytest.mark.parametrize("seed", range(4))
def test_captures_of_real_clients_with_lost_segments(seed: int) -> None:
    random = Random(seed)
    for segments in STREAMS:
        connection = decoder()
        events: list[Event] = []
        lost: dict[Direction, list[range]] = {CLIENT: [], SERVER: []}
        position = {CLIENT: 0, SERVER: 0}
        for side, data in segments:
            for at in range(0, len(data), 1448):
                part = data[at : at + 1448]
                if random.random() < 0.05:
                    lost[side].append(range(position[side], position[side] + len(part)))
                    events += connection.gap(side, len(part), 1.0)
                else:
                    events += connection.feed(side, part, 1.0)
                position[side] += len(part)
        assert not untouched(play(segments), lost) - frames(events + connection.close(2.0))


def test_directions_joined_at_different_places() -> None:
    segments = list(real()[200:220])
    for client, server in ((7, 0), (0, 9), (3, 70), (90, 3), (33, 44)):
        cut: list[Segment] = []
        left = {CLIENT: client, SERVER: server}
        for side, data in segments:
            if data[left[side] :]:
                cut.append((side, data[left[side] :]))
            left[side] = max(0, left[side] - len(data))
        events = play(cut, decoder("unknown"))
        assert messages(events)[-9:] == [(side, data[4:]) for side, data in segments[-9:]]


def test_what_was_skipped_is_told() -> None:
    tail = asked(ProduceRequest(transactional_id="of the one before"), 9, 1)[1][-9:]
    events = play(
        [(CLIENT, tail), asked(HeartbeatRequest(), 4, 2), answered(HeartbeatResponse(), 4, 2)], decoder("unknown")
    )
    skipped, request, response = events
    assert isinstance(skipped, Skipped)
    assert (skipped.direction, skipped.position, skipped.data) == (CLIENT, 0, tail)
    assert skipped.reason == "the stream was joined in the middle"
    assert isinstance(request, RequestEvent)
    assert request.position == len(tail)
    assert isinstance(response, ResponseEvent)
    assert response.request is request


def test_long_runs_come_in_pieces() -> None:
    noise = bytes(range(256)) * 1024
    connection = decoder("unknown")
    events = connection.feed(CLIENT, noise, 1.0)
    assert {event.size for event in events if isinstance(event, Skipped)} == {65_536}
    events += connection.feed(*asked(HeartbeatRequest(), 0, 1), 2.0)
    assert b"".join(event.data for event in events if isinstance(event, Skipped)) == noise
    assert isinstance(events[-1], RequestEvent)


def test_a_beginning_that_is_none_holds_nothing_up() -> None:
    """Its size claims 90 MB; the frames behind it are found as soon as they are there."""
    connection = decoder("unknown")
    pretender = raw("05500000 | 0003 0009 00000001 0002 6d65 00")
    assert connection.feed(CLIENT, pretender, 1.0) == []
    _, request = connection.feed(*asked(HeartbeatRequest(), 4, 5), 2.0)
    assert isinstance(request, RequestEvent)
    assert request.name == "Heartbeat"


@pytest.mark.parametrize("max_decoded", [MAX_FRAME, 1])
@pytest.mark.parametrize(("spare", "found"), [(0, 2), (4, 2), (5, 1), (60, 1)])
def test_what_has_much_behind_it_is_no_request(spare: int, found: int, max_decoded: int) -> None:
    """A search believes in a few bytes too many [KAFKA-WIRE 10], not in a message that fits somewhere in noise."""
    payload = asked(HeartbeatRequest(group_id="g"), 0, 4)[1][4:] + b"\xff" * spare
    segments = [(CLIENT, b"\xff\xff\xff\xff" + frame(payload)), asked(HeartbeatRequest(), 4, 5)]
    events = play(segments, decoder("unknown", max_decoded=max_decoded))
    assert sum(isinstance(event, RequestEvent) for event in events) == found
    assert sum(map(accounted, events)) == sum(len(data) for _, data in segments)


@pytest.mark.parametrize(("client_id", "found"), [("me", 2), ("\u200b", 1), ("\x01", 1)])
def test_what_has_a_client_id_that_cannot_be_printed_is_noise(client_id: str, found: int) -> None:
    request = asked(HeartbeatRequest(group_id="g"), 0, 4, client_id)[1]
    events = play([(CLIENT, b"\xff" * 4 + request), asked(HeartbeatRequest(), 4, 5)], decoder("unknown"))
    assert len(messages(events)) == found


def test_frames_beyond_the_limit_are_not_believed() -> None:
    large, small = asked(HeartbeatRequest(group_id="g" * 600), 0, 1), asked(HeartbeatRequest(), 0, 2)
    events = play([(CLIENT, b"\xff" * 4), large, small], decoder("unknown", max_frame=500))
    assert [type(event) for event in events] == [Skipped, RequestEvent, Unanswered]
    assert isinstance(events[1], RequestEvent)
    assert events[1].correlation_id == 2


def test_a_frame_as_large_as_the_limit_is_the_largest_that_is_read() -> None:
    """In step, and out of step alike."""
    side, data = asked(HeartbeatRequest(group_id="g" * 600), 0, 1)
    size = len(data) - 4
    for limit, found in ((size, True), (size - 1, False)):
        in_step = play([asked(HeartbeatRequest(), 0, 0), (side, data)], decoder(max_frame=limit))
        searched = play([(CLIENT, b"\xff" * 4), (side, data)], decoder("unknown", max_frame=limit))
        for events in (in_step, searched):
            assert ((CLIENT, data[4:]) in messages(events)) is found


def test_what_begins_after_a_doubtful_frame_does_not_cost_that_frame() -> None:
    """Only a request that begins within it shows that it is none."""
    broken = raw("000c 0000 00000001 0002 6d65 | 7fff")  # the body of Heartbeat ends too early
    _, request = asked(HeartbeatRequest(group_id="g" * 100), 0, 2)
    for segment, first in ((frame(broken) + request, Undecodable), (frame(broken + request), Skipped)):
        events = play([(CLIENT, segment)], decoder("unknown"))
        assert [type(event) for event in events[:2]] == [first, RequestEvent]
        assert messages(events) == [(CLIENT, request[4:])]


@pytest.mark.parametrize(("size", "first"), [(160, Skipped), (155, Skipped), (154, Undecodable), (140, Undecodable)])
def test_a_client_id_that_leaves_its_frame_is_none(size: int, first: type[Event]) -> None:
    """It does not cost the doubtful frame before it, as the beginning of a request does."""
    broken = raw("000c 0000 00000001 0002 6d65 | 7fff")
    head = raw(f"{size:08x} | 000c 0000 00000002 0091")
    events = play([(CLIENT, frame(broken + head) + b"g" * 200)], decoder("unknown"))
    assert type(events[0]) is first


def test_a_doubtful_frame_that_ends_with_the_stream_is_kept() -> None:
    broken = frame(raw("000c 0000 00000001 0002 6d65 | 7fff"))
    assert [type(event) for event in play([(CLIENT, broken)], decoder("unknown"))] == [Undecodable, Unanswered]


@pytest.mark.parametrize("pretenders", [100, 1000])
def test_of_many_beginnings_the_one_that_ends_first_is_followed(pretenders: int) -> None:
    """Each of them claims 90 MB, and there are too many to follow them all."""
    within = raw("05500000 | 0003 0009 00000001 0002 6d65 00") * pretenders
    large = EnvelopeRequest(request_data=within, request_principal=b"", client_host_address=b"\x7f\0\0\1")
    segments = [(CLIENT, b"\xff" * 4 + asked(large, 0, 1)[1]), asked(HeartbeatRequest(), 4, 2)]
    found = [event.name for event in play(segments, decoder("unknown")) if isinstance(event, RequestEvent)]
    assert found == ["Envelope", "Heartbeat"]


@pytest.mark.parametrize("pretenders", [60, 1000])
def test_a_frame_that_is_expected_is_read_whatever_seems_to_begin_within(pretenders: int) -> None:
    """Of an unknown API; what seems to begin within ends right before it does, and takes all the effort."""
    sizes = [16 * left - 5 for left in range(pretenders, 0, -1)]
    head = raw("01f4 0000 00000001 0002 6d65")
    within = b"".join(raw(f"{size:08x} | 0003 0009 00000001 0002 6d65") for size in sizes)
    events = play([(CLIENT, frame(head + within))])
    assert messages(events) == [(CLIENT, head + within)]


@pytest.mark.parametrize("ids", [3, 16, 17, 40])
def test_responses_are_found_whatever_ids_a_client_takes(ids: int) -> None:
    connection = decoder()
    for number in range(ids):
        connection.feed(*asked(HeartbeatRequest(), 0, number << 16 | 9), 1.0)
    connection.gap(SERVER, 0, 2.0)
    events = connection.feed(SERVER, b"\xff" * 5 + answered(HeartbeatResponse(), 0, ids - 1 << 16 | 9)[1], 3.0)
    assert isinstance(events[-1], ResponseEvent)


def test_a_slightly_newer_version_is_found() -> None:
    newest = HeartbeatRequest.VALID_VERSIONS.stop
    newer = raw(f"0000000f | 000c {newest:04x} 00000005 0002 6d65 | 00 00 00")
    events = play([(CLIENT, b"\xff\xff\xff\xff" + newer)], decoder("unknown"))
    assert [type(event) for event in events] == [Skipped, RequestEvent, Unanswered]
    assert isinstance(events[1], RequestEvent)
    assert (events[1].version, events[1].message) == (newest, None)


@pytest.mark.parametrize(
    ("key", "version"), [(12, HeartbeatRequest.VALID_VERSIONS.stop), (12, UNKNOWN_VERSION), (500, 0)]
)
def test_responses_that_nobody_can_read_are_found_after_a_gap(key: int, version: int) -> None:
    """They are known by their correlation ids: else one lost segment would cost all that follow."""
    connection = decoder()
    events = []
    for number in (5001, 5002, 5003):
        events += connection.feed(CLIENT, frame(raw(f"{key:04x} {version:04x} {number:08x} 0002 6d65 00")), 1.0)
        answer = frame(raw(f"{number:08x} 00") + b"\xee" * 100)
        if number == 5001:
            connection.gap(SERVER, 60, 2.0)
            answer = answer[60:]
        events += connection.feed(SERVER, answer, 3.0)
    answered_ids = [event.correlation_id for event in events if isinstance(event, ResponseEvent)]
    assert answered_ids == [5002, 5003]


def test_a_much_newer_version_is_noise() -> None:
    version = HeartbeatRequest.VALID_VERSIONS.stop + 2
    newer = raw(f"0000000f | 000c {version:04x} 00000005 0002 6d65 | 00 00 00")
    events = play([(CLIENT, b"\xff\xff\xff\xff" + newer), asked(HeartbeatRequest(), 4, 6)], decoder("unknown"))
    assert [type(event) for event in events] == [Skipped, RequestEvent, Unanswered]
    assert isinstance(events[1], RequestEvent)
    assert events[1].version == 4


# Gaps


def test_a_hole_damages_one_frame_only() -> None:
    connection = decoder()
    (_, first), second = asked(MetadataRequest(topics=None), 12, 1), asked(HeartbeatRequest(), 4, 2)
    assert connection.feed(CLIENT, first[:-3], 1.0) == []
    gap, damaged = connection.gap(CLIENT, 3, 2.0)
    assert gap == Gap(2.0, CLIENT, len(first) - 3, 3)
    assert isinstance(damaged, Undecodable)
    assert (damaged.data, damaged.missing, damaged.position) == (first[4:-3], 3, 0)
    assert (damaged.name, damaged.started, damaged.time) == ("Metadata", 1.0, 2.0)
    assert damaged.size == len(first)
    assert damaged.header is not None
    assert damaged.correlation_id == 1
    (request,) = connection.feed(*second, 3.0)
    assert isinstance(request, RequestEvent)
    assert request.position == len(first)


def test_what_became_of_the_bytes_is_told_of_each_frame() -> None:
    connection = decoder()
    _, data = asked(HeartbeatRequest(group_id="g" * 400), 4, 1)
    connection.feed(CLIENT, data[:-3], 1.0)
    connection.drop(2.0, "not kept")
    (first,) = connection.feed(CLIENT, data[-3:], 3.0)
    connection.feed(CLIENT, data[:-3], 4.0)
    _, second = connection.gap(CLIENT, 3, 5.0)
    assert [event.reason for event in (first, second) if isinstance(event, Undecodable)] == [
        f"{len(data) - 7 - 256} of its {len(data) - 4} bytes were not kept",
        f"3 of its {len(data) - 4} bytes were not seen",
    ]


def test_a_header_with_a_hole_in_it_is_not_read_when_the_rest_is_dropped() -> None:
    connection = decoder()
    _, data = asked(HeartbeatRequest(group_id="g" * 400), 4, 1)
    connection.feed(CLIENT, data[:14], 1.0)
    connection.gap(CLIENT, 4, 2.0)
    connection.feed(CLIENT, data[18:-3], 3.0)
    connection.drop(4.0, "not kept")
    (event,) = connection.feed(CLIENT, data[-3:], 5.0)
    assert isinstance(event, Undecodable)
    assert (event.name, event.correlation_id, getattr(event.header, "client_id", "")) == ("Heartbeat", 1, None)


def test_of_a_request_without_its_client_id_the_start_is_told() -> None:
    connection = decoder()
    _, data = asked(MetadataRequest(topics=None), 12, 258)
    events = connection.feed(CLIENT, data[:14], 1.0) + connection.gap(CLIENT, len(data) - 14, 2.0)
    damaged = events[-1]
    assert isinstance(damaged, Undecodable)
    assert (damaged.name, damaged.correlation_id) == ("Metadata", 258)
    (response,) = connection.feed(*answered(MetadataResponse(), 12, 258), 3.0)
    assert isinstance(response, ResponseEvent)
    assert response.request is damaged


def test_behind_a_gap_no_frame_is_expected() -> None:
    """What looks like one, with an id that nobody asked with, does not swallow the one that begins within."""
    connection = decoder()
    (request,) = connection.feed(*asked(HeartbeatRequest(), 0, 7), 1.0)
    connection.gap(SERVER, 0, 2.0)
    skipped, response = connection.feed(
        SERVER, raw("0000000c 000003e7 eeee") + answered(HeartbeatResponse(), 0, 7)[1], 3.0
    )
    assert isinstance(skipped, Skipped)
    assert skipped.size == 10
    assert isinstance(response, ResponseEvent)
    assert response.request is request


def test_two_holes_in_a_response() -> None:
    topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=b"x" * 1000)])
    _, data = answered(FetchResponse(responses=[topic]), 4, 1)
    connection = decoder()
    (request,) = connection.feed(*asked(HeartbeatRequest(), 0, 1), 0.0)
    events = connection.feed(SERVER, data[:100], 1.0)
    events += connection.gap(SERVER, 100, 2.0)
    events += connection.feed(SERVER, data[200:300], 3.0)
    events += connection.gap(SERVER, 50, 4.0)
    assert [type(event) for event in events] == [Gap, Gap]
    damaged, following = connection.feed(SERVER, data[350:] + answered(HeartbeatResponse(), 0, 9)[1], 5.0)
    assert isinstance(damaged, Undecodable)
    assert (damaged.data, damaged.missing) == (data[4:100] + data[200:300] + data[350:], 150)
    assert damaged.request is request
    assert isinstance(following, Undecodable)
    assert following.position == len(data)


def test_what_follows_the_first_of_two_holes_is_no_part_of_the_header() -> None:
    """Both holes are in one request; the bytes between them are not those after the client id."""
    message = HeartbeatRequest(group_id="\0" * 100)  # each of which passes for the end of a header
    _, data = asked(message, 4, 258, client_id="a client with a long name")
    for first in range(14, 40):
        connection = decoder()
        events = connection.feed(CLIENT, data[:first], 1.0)
        events += connection.gap(CLIENT, 10, 2.0)
        events += connection.feed(CLIENT, data[first + 10 : 80], 3.0)
        events += connection.gap(CLIENT, 10, 4.0)
        events += connection.feed(CLIENT, data[90:], 5.0)
        damaged = events[-1]
        assert isinstance(damaged, Undecodable)
        assert (damaged.name, damaged.correlation_id) == ("Heartbeat", 258)
        assert damaged.missing == 20
        client = getattr(damaged.header, "client_id", None)
        assert client in (None, "", "a client with a long name")
        assert not client or first >= 39


@pytest.mark.parametrize("size", [0, 4, 60])
def test_a_gap_over_frames_is_followed_by_a_search(size: int) -> None:
    connection = decoder()
    _, first = asked(MetadataRequest(topics=None), 12, 1)
    lost = asked(HeartbeatRequest(group_id="a group"), 4, 2)[1]
    last = asked(HeartbeatRequest(group_id="another"), 4, 3)[1]
    connection.feed(CLIENT, first[:-3], 1.0)
    broken, gap = connection.gap(CLIENT, size, 2.0)  # 4: the end of the frame and a byte of the next
    assert isinstance(broken, Undecodable)
    assert (broken.missing, broken.name, broken.correlation_id) == (3, "Metadata", 1)
    assert isinstance(gap, Gap)
    skipped, request = connection.feed(CLIENT, lost[-5:] + last, 3.0)
    assert isinstance(skipped, Skipped)
    assert skipped.data == lost[-5:]
    assert isinstance(request, RequestEvent)
    assert request.position == len(first) - 3 + size + 5
    assert request.correlation_id == 3


def test_a_response_to_a_damaged_request_is_paired() -> None:
    connection = decoder()
    _, data = asked(HeartbeatRequest(group_id="a group"), 4, 8)
    connection.feed(CLIENT, data[:-4], 1.0)
    _, damaged = connection.gap(CLIENT, 4, 2.0)
    (response,) = connection.feed(*answered(HeartbeatResponse(error_code=27), 4, 8), 5.0)
    assert isinstance(response, ResponseEvent)
    assert response.request is damaged
    assert (response.message, response.latency) == (HeartbeatResponse(error_code=27), 3.0)


def test_lost_responses_are_told_from_missing_ones() -> None:
    connection = decoder()
    for number in (1, 2):
        connection.feed(*asked(HeartbeatRequest(), 0, number), 1.0)
    connection.gap(SERVER, 10, 2.0)
    connection.feed(*asked(HeartbeatRequest(), 0, 3), 3.0)
    connection.feed(*asked(HeartbeatRequest(), 0, 4), 3.0)
    *unanswered, response = connection.feed(*answered(HeartbeatResponse(), 0, 4), 4.0)
    assert isinstance(response, ResponseEvent)
    lost = "a later request was answered, and later server bytes are missing"
    assert [event.reason for event in unanswered if isinstance(event, Unanswered)] == [
        lost,
        lost,
        "a later request was answered",
    ]


def test_a_response_may_be_in_bytes_that_were_skipped() -> None:
    connection = decoder()
    for number in (0, 1, 2):
        connection.feed(*asked(HeartbeatRequest(), 0, number), 1.0)
    connection.feed(*answered(HeartbeatResponse(), 0, 0), 1.0)
    noise = b"\xff" * 9
    skipped, unanswered, response = connection.feed(SERVER, noise + answered(HeartbeatResponse(), 0, 2)[1], 2.0)
    assert isinstance(skipped, Skipped)
    assert isinstance(response, ResponseEvent)
    assert isinstance(unanswered, Unanswered)
    assert "later server bytes are missing" in unanswered.reason


def test_a_gap_has_a_size() -> None:
    with pytest.raises(ValueError, match="size of a gap must not be negative, not -1"):
        decoder().gap(CLIENT, -1, 1.0)


@pytest.mark.parametrize("side", [CLIENT, SERVER])
@pytest.mark.parametrize("pattern", ["00", "01", "0000001e 0003 0000 00000000 0000", "0010000000030000000700000000"])
def test_searching_takes_linear_time(side: Direction, pattern: str) -> None:
    """The last two are full of beginnings of frames that are none. Quadratic, this would take minutes."""
    connection = decoder("unknown")
    connection.feed(*asked(HeartbeatRequest(), 0, 7), 0.0)
    noise = raw("ffffffff") + raw(pattern) * (300_000 // len(raw(pattern)))
    events = connection.feed(side, noise, 1.0) + connection.close(2.0)
    assert sum(map(accounted, events)) == len(noise)


def imitations(count: int) -> bytes:
    """Headers every 19 bytes, each of a request of 60 kB."""
    return b"".join(
        (60_000 + number).to_bytes(4, "big") + b"\0\3\0\x0c" + number.to_bytes(4, "big") + b"\0\4test\0"
        for number in range(count)
    )


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_bytes_that_imitate_headers_are_passed_over_and_what_follows_is_found(size: int) -> None:
    requests = [asked(HeartbeatRequest(), 4, number)[1] for number in range(60)]
    data = imitations(20_000) + b"".join(requests)
    found = messages(play([(CLIENT, data[at : at + size]) for at in range(0, len(data), size)], decoder("unknown")))
    assert found == [(CLIENT, request[4:]) for request in requests][-len(found) :]
    assert len(found) > 20


@pytest.mark.parametrize(("ahead", "plausible"), [(-99, False), (0, True), (1, True), (2, True), (3, False)])
def test_a_request_may_be_two_versions_newer_than_the_known_ones(ahead: int, plausible: bool) -> None:
    version = HeartbeatRequest.VALID_VERSIONS[-1] + ahead
    assert ApiCatalog(PROTOCOL).is_plausible(12, version) is plausible


def test_of_headers_that_are_imitated_few_are_followed() -> None:
    data = imitations(20_000)
    catalog = ApiCatalog(PROTOCOL)
    search = Search(RequestFraming(catalog, MAX_FRAME), 0, 0.0, MAX_FRAME, trusted=False)
    search.advance(bytearray(data), 0, 0.0, ended=False)
    assert search.found < MANY_FOUND + (2 * len(data)) ** 0.5


def test_larger_frames_than_asked_for_are_not_searched_for_but_followed() -> None:
    small, large = (asked(HeartbeatRequest(group_id="g" * size), 4, size)[1] for size in (10, 300))
    for most, found in ((len(large) - 4, [large, small, large]), (len(large) - 5, [small, large])):
        decoder = ConnectionDecoder(PROTOCOL, max_found=most)
        events = play([(CLIENT, b"\xff" * 5 + large + small + large)], decoder)
        assert messages(events) == [(CLIENT, data[4:]) for data in found]


class Counted(RequestFraming):
    """Counts the bytes that are decoded to score candidates."""

    decoded = 0

    def score(self, payload: bytes) -> int:
        self.decoded += len(payload)
        return super().score(payload)


@pytest.mark.skipif(is_native(), reason="the compiled framing has no subclasses")
@pytest.mark.parametrize("count", [20, 100])
def test_bytes_are_decoded_a_few_times_however_many_frames_seem_to_hold_them(count: int) -> None:
    heads = b"".join(raw(f"{20_000 - 15 * at:08x} | 000c 0000 00000001 0002 6d65 ff") for at in range(count))
    data = bytearray(b"\xff" + heads + b"\xff" * 21_000)
    framing = Counted(ApiCatalog(PROTOCOL), MAX_FRAME)
    search = Search(framing, 0, 0.0, MAX_FRAME, trusted=False)
    assert search.advance(data, 0, 0.0, ended=True) is None
    assert search.found >= count
    assert 100_000 < framing.decoded <= 8 * len(data)


BROKEN = frame(raw("000c 0000 00000001 0002 6d65 | 7fff"))  # the body of Heartbeat ends too early
TOKEN = frame(b"\0user\0password")


@pytest.mark.parametrize("talk", [[], [asked(SaslHandshakeRequest(), 0, 1), answered(SaslHandshakeResponse(), 0, 1)]])
@pytest.mark.parametrize("noise", [1, 2, 5])
@pytest.mark.parametrize("after", [[BROKEN], [BROKEN, BROKEN], [TOKEN], [TOKEN, BROKEN], [BROKEN, TOKEN]])
def test_after_a_gap_nothing_that_cannot_be_read_is_found_by_searching(
    talk: list[Segment], noise: int, after: list[bytes]
) -> None:
    """Not even where bare tokens are expected, which look like anything."""
    connection = decoder()
    for side, data in talk:
        connection.feed(side, data, 1.0)
    connection.gap(CLIENT, 0, 2.0)
    unknown, request = b"\xff" * noise + b"".join(after), asked(HeartbeatRequest(), 4, 5)[1]
    skipped, found = connection.feed(CLIENT, unknown, 3.0) + connection.feed(CLIENT, request, 4.0)
    assert isinstance(skipped, Skipped)
    assert skipped.data == unknown
    assert isinstance(found, RequestEvent)
    assert found.data == request[4:]
