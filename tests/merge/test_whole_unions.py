"""Four releases with two of every change: the whole union, what each merge says, and the same union in any order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from tests.merge.support import Definition, Union
from tests.merge.test_merge import data, field, request, tagged


def pair(name: str, key: int, *fields: Definition, valid: str, **more: object) -> tuple[Definition, Definition]:
    """A request with these fields and its response."""
    asked = request(*fields, name=f"{name}Request", valid=valid, apiKey=key, **more)
    told = {"apiKey": key, "type": "response", "name": f"{name}Response", "validVersions": valid,
            "flexibleVersions": "1+", "fields": [field("Error", "int16")]}  # fmt: skip
    return asked, told


def record(name: str, key: int, *fields: Definition, valid: str = "0") -> Definition:
    return {"apiKey": key, "type": "metadata", "name": name, "validVersions": valid, "flexibleVersions": "none",
            "fields": list(fields)}  # fmt: skip


def zones(name: str, *more: Definition) -> Definition:
    return field(f"{name}s", f"[]{name}", fields=[field("Name", "string"), field("Offset", "int16"), *more])


OLD, OLDER, MORE = field("Old", versions="0"), field("Older", versions="0-1"), field("More", versions="1")
RELEASES: dict[str, Sequence[Definition]] = {
    "1.0.0": (
        *pair("Clock", 7, field("Zone", "string"), OLD, OLDER, zones("Zone"), valid="0-1"),
        *pair("Alarm", 8, field("Hour", "int8"), field("Loud", "bool"), valid="0"),
        *pair("Dial", 9, field("Size", "int8"), valid="0"),
        record("TickRecord", 5, field("Time", "int64"), field("Kind", "int8")),
        data(field("Teeth", "int16"), field("Metal", "string"), name="Gear"),
        data(field("Size"), name="Weight"),
    ),
    "1.1.0": (
        *pair(
            "Clock", 7, field("Zone", "string"), OLD, OLDER, field("New", versions="2+"),
            zones("Zone", field("Leap", "bool", "2+")), tagged("Spare", 0), tagged("Extra", 1, "2+"), valid="0-2",
        ),
        *pair("Alarm", 8, field("Hour", "int8"), field("Loud", "bool"), tagged("Note", 0), valid="0-1",
              deprecatedVersions="0"),
        *pair("Dial", 9, field("Size", "int8"), field("Hand", "int16", "1+"), valid="0-1", deprecatedVersions="0"),
        record("TickRecord", 5, field("Time", "int64"), field("Kind", "int8"), MORE, valid="0-1"),
        record("TockRecord", 6, field("Time", "int64"), field("Sort", "int8")),
        data(field("Teeth", "int32"), field("Metal", "string"), name="Gear"),
        data(field("Size"), field("Lead", "bool", "1+"), name="Weight", valid="0-1"),
    ),
    "2.0.0": (
        *pair(
            "Clock", 7, field("Region", "string"), field("Older", versions="1"), field("New", versions="2+"),
            zones("Area", field("Leap", "bool", "2+")), field("Newer", "string", "3+", nullableVersions="3+"),
            tagged("Spare", 0), tagged("Extra", 1, "2+"), tagged("Late", 2), valid="1-3", deprecatedVersions="1",
            listeners=["broker", "controller"],
        ),
        *pair("Bell", 8, field("Hour", "int8"), field("IsLoud", "bool"), tagged("Note", 0), valid="0-1",
              deprecatedVersions="0-1"),
        *pair("Dial", 9, field("Size", "int8"), field("Hand", "int16", "1+"), valid="0-1", deprecatedVersions="0"),
        record("TickRecord", 5, field("At", "int64"), field("Kind", "int8"), MORE, valid="0-1"),
        record("TockRecord", 6, field("Time", "int64"), field("Sort", "uint16")),
        data(field("Teeth", "int32"), field("Metal", "bytes"), name="Gear"),
    ),
    "2.1.0": (
        *pair(
            "Clock", 7, field("Region", "string"), field("Older", versions="1"), field("New", versions="2+"),
            zones("Area", field("Leap", "bool", "2+")),
            field("Newer", "string", "3+", nullableVersions="3+"), tagged("Spare", 0), tagged("Extra", 1, "2+"),
            tagged("Late", 2), tagged("Later", 3), valid="1-4", latestVersionUnstable=True,
        ),
        *pair("Bell", 8, field("Hour", "int8"), field("IsLoud", "bool"), tagged("Note", 0), valid="0-2"),
        *pair("Dial", 9, field("Size", "int8"), field("Hand", "int16", "1+"), valid="1"),
        record("TickRecord", 5, field("At", "int64"), field("Kind", "int8"), MORE, valid="0-1"),
        record("TockRecord", 6, field("Time", "int64"), field("Sort", "uint16")),
        data(field("Teeth", "int32"), field("Metal", "bytes"), name="Gear"),
        data(field("Ring", "int8"), name="Bell"),
    ),
}  # fmt: skip


def merged(union: Union, release: str, definitions: Sequence[Definition] = ()) -> str:
    """What ``kwirec merge`` prints, and its exit code."""
    source = union.bundle(release, definitions or RELEASES[release])
    arguments = ["merge", "--release", release, str(source), "--into", str(union.root)]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    return f"{release}\n{result.stdout}--- on stderr\n{result.stderr}--- exit code {result.exit_code}\n"


def shown(union: Union) -> str:
    return "".join(f"--- {name}\n{text}" for name, text in union.files().items())


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_what_merges_say(union: Union, order: int, snapshot: SnapshotAssertion) -> None:
    assert "".join(merged(union, release) for release in list(RELEASES)[::order]) == snapshot


def test_the_whole_union(union: Union, snapshot: SnapshotAssertion) -> None:
    for release, definitions in RELEASES.items():
        union.merge(release, *definitions)
    assert shown(union) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("order", ["2031", "3210", "1302", "0321", "2013"])
def test_the_union_is_the_same_in_any_order(new_union: Callable[[str], Union], order: str) -> None:
    """Merging a release again makes no difference either."""
    names = list(RELEASES)
    first, other = new_union("first"), new_union("other")
    for release in names:
        first.merge(release, *RELEASES[release])
    for place in (*order, order[1]):
        assert not other.merge(names[int(place)], *RELEASES[names[int(place)]]).failed
    assert shown(other) == shown(first)


@pytest.mark.slow
@pytest.mark.parametrize(
    "numbers", [("0.9.0.1", "0.10.0.0", "0.11.0.2", "1.0.0"), ("2.8.2", "3.9.1", "3.10.0", "10.0.0")]
)
@pytest.mark.parametrize("order", ["0123", "3210", "2031"])
def test_releases_follow_each_other_by_their_numbers(
    new_union: Callable[[str], Union], numbers: Sequence[str], order: str
) -> None:
    """As numbers, not as texts. All else is the same whatever they are, what merges say and the union."""
    renamed = dict(zip(RELEASES, numbers, strict=True))
    first, other = new_union("first"), new_union("other")

    def as_other(text: str) -> str:
        text = re.sub(r"\b\d+\.\d\.0\b", lambda found: renamed[found[0]], text)
        return text.replace(str(first.root), str(other.root))

    for place in order:
        name = list(RELEASES)[int(place)]
        assert merged(other, renamed[name], RELEASES[name]) == as_other(merged(first, name))
    assert shown(other) == as_other(shown(first))


def test_what_refused_merges_say(union: Union, snapshot: SnapshotAssertion) -> None:
    """Two conflicts of names, two versions that were changed by hand, and modules that are left out."""
    union.merge("1.0.0", *RELEASES["1.0.0"])
    before = shown(union)
    torn = [*pair("Clock", 7, field("A", versions="1"), valid="1"), *pair("Alarm", 8, field("B"), valid="0")]
    told = merged(
        union, "1.1.0", [record("TickRecord", 5, field("Time", "int64"), field("Kind", "[]int8"), valid="1")]
    )
    told += merged(union, "1.0.0", torn)
    assert shown(union) == before
    union.edit("Gear", '"int16"', '"int32"')
    union.edit("Weight", '"int32"', '"int16"')
    told += merged(union, "1.1.0", torn)
    assert told == snapshot
