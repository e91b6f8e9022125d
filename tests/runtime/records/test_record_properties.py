"""What always holds: records written and read are the same, in every format."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from kwire import DecodeError, EncodeError
from kwire.records import (
    BatchBuilder,
    Record,
    RecordsError,
    RecordsLimitError,
    encode_batch,
    encode_message_set,
    interpreted,
    read_batches,
    writing,
)
from tests.support.effort import examples

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(-1, 2**43) | INT64
BYTES = st.none() | st.binary(max_size=40) | st.integers(0, 20_000).map(bytes)
KEYS = st.text(max_size=10) | st.binary(max_size=10).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
KEYS = KEYS.filter(lambda key: key.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == key)
HEADERS = st.lists(st.tuples(KEYS, BYTES), max_size=3).map(tuple)
GAPS = st.integers(1, 3) | st.integers(1, 100_000)


SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "producer_id": INT64,
    "producer_epoch": st.integers(-(2**15), 2**15 - 1),
    "base_sequence": st.integers(-(2**31), 2**31 - 1),
    "leader_epoch": st.integers(-(2**31), 2**31 - 1),
    "transactional": st.booleans(),
    "control": st.booleans(),
    "max_timestamp": INT64,
}


@st.composite
def logs(draw: st.DrawFn, headers: bool = True, times: bool = True) -> list[Record]:
    """Records with ascending offsets."""
    offset = draw(st.integers(0, 2**40))
    found = []
    for _ in range(draw(st.integers(1, 12))):
        found.append(
            Record(
                draw(BYTES),
                draw(BYTES),
                draw(HEADERS) if headers else (),
                draw(TIMES) if times else -1,
                offset,
            )
        )
        offset += draw(GAPS)
    return found


@pytest.mark.slow
@given(
    logs(),
    st.integers(0, 4),
    st.fixed_dictionaries({}, optional=SETTINGS | {"delete_horizon": INT64, "base_timestamp": INT64}),
)
def test_batches_round_trip(records: list[Record], codec: int, options: dict[str, Any]) -> None:
    data = encode_batch(records, codec=codec, **options)
    reader = read_batches(data)
    (batch,) = reader
    assert batch.records() == list(batch) == records
    assert (batch.codec, batch.count, batch.size, reader.truncated) == (codec, len(records), len(data), 0)
    assert (batch.base_offset, batch.last_offset) == (records[0].offset, records[-1].offset)
    for name, value in options.items():
        if name != "base_timestamp" or "delete_horizon" not in options:
            assert getattr(batch, name) == value
    assert batch.encode() == data


@pytest.mark.slow
@given(st.data(), st.sampled_from([0, 1]), st.integers(0, 3), st.booleans())
def test_message_sets_round_trip(data: st.DataObject, magic: int, codec: int, append: bool) -> None:
    records = data.draw(logs(headers=False, times=magic > 0))
    kind: Any = "append" if append else "create"
    written = encode_message_set(records, magic=magic, codec=codec, timestamp_type=kind)
    batches = list(read_batches(written))
    assert len(batches) == (1 if codec else len(records))
    assert b"".join(batch.encode() for batch in batches) == written
    read = [record for batch in batches for record in batch]
    if append and codec and magic:
        assert {record.timestamp for record in read} == {max(record.timestamp for record in records)}
        read = [record for batch in batches for record in batch.stored_records()]
    assert read == records


@pytest.mark.slow
@given(
    st.lists(
        st.builds(Record, BYTES, BYTES, HEADERS, TIMES, st.just(-1) | st.integers(-1, 2**33) | INT64), max_size=4
    ),
    st.integers(0, 2**40),
    TIMES,
)
def test_both_writers_write_the_same(records: list[Record], base_offset: int, base_timestamp: int) -> None:
    """The loop for compiled runs and the one for interpreted runs: the same bytes, or both give up."""
    written = []
    for module in (writing, interpreted):
        try:
            written.append(all_written(module, records, base_offset, base_timestamp))
        except (TypeError, ValueError):  # natively a number of more than 64 bits is a TypeError
            written.append((b"given up", 0, 0))
    assert written[0] == written[1]


@pytest.mark.slow
@given(
    st.lists(
        st.builds(Record, BYTES, BYTES, HEADERS, TIMES, st.just(-1) | st.integers(-2, 2**33) | INT64), max_size=4
    ),
    st.none() | st.integers(0, 2**40) | INT64,
    st.none() | TIMES,
    st.fixed_dictionaries(
        {},
        optional=SETTINGS
        | {"codec": st.integers(0, 4), "level": st.just(1), "last_offset": INT64}
        | {"timestamp_type": st.sampled_from(["create", "append"])},
    ),
)
def test_a_builder_builds_what_is_encoded_at_once(
    records: list[Record], base_offset: int | None, base_timestamp: int | None, settings: dict[str, Any]
) -> None:
    """Or the record that cannot be encoded is refused for the same reason, and the batch is built without it."""
    builder = BatchBuilder(base_offset=base_offset, base_timestamp=base_timestamp)
    kept: list[Record] = []
    bases: Any = {"base_offset": base_offset, "base_timestamp": base_timestamp}
    for record in records:
        try:
            expected: bytes | str = encode_batch([*kept, record], **bases)
        except EncodeError as problem:
            expected = str(problem)
        fields = (record.key, record.value, record.headers, record.timestamp, record.offset)
        refused = outcome_of(partial(builder.append, *fields))
        if refused is not None:
            assert refused == expected
            continue
        kept.append(record)
        if not isinstance(expected, str):
            assert len(expected) == builder.size
            assert builder.build() == expected
    assert builder.count == len(kept)
    assert outcome_of(lambda: builder.build(**settings)) == outcome_of(
        lambda: encode_batch(kept, **bases, **settings)
    )


def outcome_of(call: Callable[[], bytes | None]) -> bytes | str | None:
    try:
        return call()
    except EncodeError as problem:
        return str(problem)


def test_numbers_of_every_length_are_written_alike() -> None:
    edges = [1 << shift for shift in (6, 13, 14, 20, 21, 27, 31)]
    offsets = sorted({edge + step for edge in edges for step in (-1, 0, 1) if edge + step < 1 << 31})
    records = [Record(None, b"", (), 7 * offset, offset) for offset in offsets]
    assert all_written(writing, records, 0, 0) == all_written(interpreted, records, 0, 0)


def all_written(module: Any, records: list[Record], base_offset: int, base_timestamp: int) -> tuple[bytes, int, int]:
    out = BytesWriter()
    last, newest = module.write_records(out, records, base_offset, base_timestamp)
    return out.getvalue(), last, newest


def outcome(read: Callable[[], list[Record]]) -> list[Record] | str:
    try:
        return read()
    except RecordsLimitError:
        return "too many"
    except DecodeError as problem:
        return str(problem)


@pytest.mark.slow
@examples(3)
@given(logs(), st.integers(0, 4), st.data())
def test_damage_gives_typed_errors_and_loses_nothing(records: list[Record], codec: int, data: st.DataObject) -> None:
    """With checksums ignored, so that what lies behind them is reached."""
    changed = bytearray(encode_batch(records, codec=codec) * 2)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    unmoving = read_batches(bytes(changed), verify=False, skip=True, limit=1 << 20)
    in_place = [outcome(partial(list, batch)) for batch in unmoving]
    reader = read_batches(changed, verify=False, skip=True, limit=1 << 20)
    taken = 0
    for batch in reader:
        taken += batch.size
        read = outcome(batch.records)
        assert in_place.pop(0) == outcome(partial(list, batch))
        assert read in ("too many", outcome(partial(list, batch)))
        if isinstance(read, str):
            continue
        (again,) = read_batches(batch.encode(codec=0))
        assert again.records() == read
    stuck = [
        error for error in reader.errors if isinstance(error, RecordsError) and error.position == reader.position
    ]
    taken += sum(len(error.data) for error in reader.errors if error not in stuck)
    assert taken == reader.position
    assert stuck or taken + reader.truncated == len(changed)
