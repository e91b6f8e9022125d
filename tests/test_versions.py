"""Version ranges against plain sets: whatever a range says, the set of its versions says too."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.versions import ALL, MAX_VERSION, NONE, VersionRange

SMALL = range(-1, 12)
"""Versions near zero: ranges drawn from few numbers meet, nest and touch often."""


@st.composite
def ranges(draw: st.DrawFn) -> VersionRange:
    low, high = draw(st.integers(0, 8)), draw(st.integers(0, 8) | st.just(MAX_VERSION))
    return draw(st.sampled_from([VersionRange(low, high), VersionRange(min(low, high), max(low, high)), NONE]))


def members(range_: VersionRange) -> set[int]:
    """The versions of a range near zero, and one that stands for all those far away."""
    return {version for version in (*SMALL, MAX_VERSION) if version in range_}


@given(ranges(), ranges())
def test_intersect(a: VersionRange, b: VersionRange) -> None:
    assert members(a.intersect(b)) == members(a) & members(b)
    assert a.intersect(b) == b.intersect(a)


@given(ranges(), ranges())
def test_subtract(a: VersionRange, b: VersionRange) -> None:
    parts = a.subtract(b)
    assert set().union(*map(members, parts)) == members(a) - members(b)
    assert all(parts)
    assert [part.low for part in parts] == sorted(part.low for part in parts)
    assert sum(map(len, parts)) + len(a.intersect(b)) == len(a)


@given(ranges(), ranges())
def test_covers(a: VersionRange, b: VersionRange) -> None:
    assert a.covers(b) == (members(b) <= members(a))


@given(ranges())
def test_size(a: VersionRange) -> None:
    assert bool(a) is bool(members(a))
    assert len(a) == len(range(a.low, a.high + 1))
    if not a.is_open:
        assert list(a) == sorted(members(a))
    assert a.is_open == (bool(a) and MAX_VERSION in a)
    assert not (a.is_inverted and a)


@given(ranges())
def test_what_is_printed_reads_the_same(a: VersionRange) -> None:
    assert VersionRange.parse(str(a)) == a


@given(st.sets(st.integers(0, 8)), st.integers(0, 8))
def test_covering_holds_exactly_these_versions_or_says_no(versions: set[int], top: int) -> None:
    gaps = bool(versions) and len(versions) != max(versions) - min(versions) + 1
    if gaps:
        with pytest.raises(ValueError, match="gaps"):
            VersionRange.covering(versions)
        return
    assert set(VersionRange.covering(versions)) == versions
    open_ended = VersionRange.covering(versions, open_at=top)
    assert open_ended.is_open == (bool(versions) and max(versions) == top)
    assert {version for version in range(top + 1) if version in open_ended} == versions - set(range(top + 1, 9))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("3", 3, 3), ("0-4", 0, 4), ("2+", 2, MAX_VERSION), ("none", 0, -1), (" 1 ", 1, 1), ("5-3", 5, 3)],
)
def test_notations(text: str, low: int, high: int) -> None:
    parsed = VersionRange.parse(text)
    assert (parsed.low, parsed.high) == (low, high)


@pytest.mark.parametrize("text", ["", "+", "-1", "1-", "1..3", "<4", "1 - 3", "None", "٣", "1+2", "0x1", "9" * 5000])
def test_other_texts_are_no_ranges(text: str) -> None:
    with pytest.raises(ValueError, match="expected `N`, `N-M`, `N\\+` or `none`"):
        VersionRange.parse(text)


@pytest.mark.parametrize("text", ["32768", "0-32768", "40000+"])
def test_versions_are_int16(text: str) -> None:
    with pytest.raises(ValueError, match="int16"):
        VersionRange.parse(text)


def test_an_inverted_range_keeps_its_bounds_and_is_empty() -> None:
    inverted = VersionRange.parse("5-3")
    assert (str(inverted), inverted.is_inverted, len(inverted), list(inverted)) == ("5-3", True, 0, [])
    assert inverted.intersect(ALL) == NONE
    assert (str(NONE), NONE.is_inverted, str(ALL)) == ("none", False, "0+")
