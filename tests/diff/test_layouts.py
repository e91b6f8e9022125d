"""Where the bytes of two schemas part, whatever notation and names they have."""

from __future__ import annotations

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.diff.layouts import LayoutComparison, compare_layouts
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from tools.crosscheck import KNOWN, unexplained

HEAD = "AskRequest => key 1, max version 2, flexible v1+\n"


def schema(text: str) -> Schema:
    report = Report()
    found = resolve([parse(Source("Ask.krm", text), report)], report)
    assert not report.has_errors()
    return found


def compared(left: str, right: str) -> LayoutComparison:
    return compare_layouts(schema(HEAD + left), schema(HEAD + right))


def test_names_and_descriptions_are_no_difference() -> None:
    found = compared("  A: [=>]\n    B: int8\n", "  // C.\n  C: [=>Other] // ignorable\n    D: int8\n")
    assert [version for _, version in found.equal] == [0, 1, 2]
    assert found.parting == ()


@pytest.mark.parametrize(
    ("left", "right", "versions", "where"),
    [
        ("  A: int8\n", "  A: int16\n", [0, 1, 2], ("A", "i8", "i16")),
        ("  A: int8\n", "  A: int8\n  B: bool // v2+\n", [2], ("B", "nothing", "bool")),
        ("  A: int8\n  B: bool\n", "  A: int8\n", [0, 1, 2], ("B", "bool", "nothing")),
        ("  A: string\n", "  A: nullable-string-v2+\n", [2], ("A", "cstr", "cstr?")),
        ("  A: [=>]\n    B: int8\n", "  A: [=>]\n    B: bool\n", [0, 1, 2], ("A.B", "i8", "bool")),
        ("  A: [=>]\n    B: int8\n", "  A: nullable[=>]\n    B: int8\n", [0, 1, 2], ("A", "[n i8]", "[n? i8]")),
        ("  A: =>\n    B: int8\n", "  A: nullable=>\n    B: int8\n", [0, 1, 2], ("A", "i8", "?(i8)")),
        ("  A: int8 // tag 0\n", "  A: int8 // v2+, tag 0\n", [1], ("A", "tag 0 = -", "no tag 0")),
        ("  A: int8 // tag 0\n", "  A: int8(1) // tag 0\n", [1, 2], ("A", "tag 0 = -", "tag 0 = 1")),
        ("  A: int8 // tag 0\n", "  A: bool // tag 0\n", [1, 2], ("A", "i8", "bool")),
    ],
)
def test_the_first_difference(left: str, right: str, versions: list[int], where: tuple[str, str, str]) -> None:
    found = compared(left, right)
    assert [one.version for one in found.parting] == versions
    first = found.parting[0]
    assert (first.path, first.left, first.right) == where


def test_one_side_is_flexible() -> None:
    sides = schema(HEAD), schema(HEAD.replace("v1+", "v2+"))
    for (left, right), kinds in ((sides, "flexible | classic"), (sides[::-1], "classic | flexible")):
        found = compare_layouts(left, right)
        assert [str(one) for one in found.parting] == [f"AskRequest v1: the message is {kinds}"]


def test_versions_and_messages_of_one_side() -> None:
    more = f"{HEAD.replace('max version 2', 'max version 3')}\nTold => data, max version 0\n  A: int8\n"
    found = compare_layouts(schema(HEAD), schema(more))
    assert [(message.name, version) for message, version in found.right_only] == [("AskRequest", 3), ("Told", 0)]
    assert found.left_only == ()


def test_requests_are_paired_by_api_key_and_others_by_name() -> None:
    left = HEAD + "  A: int8\n" + "\nTold => data, max version 0\n  A: int8\n"
    right = HEAD.replace("Ask", "Query") + "  Z: int16\n" + "\nTold => data, max version 0\n  B: int8\n"
    found = compare_layouts(schema(left), schema(right))
    assert {(one.message.name, one.partner.name) for one in found.parting} == {("AskRequest", "QueryRequest")}
    assert [message.name for message, _ in found.equal] == ["Told"]


def test_an_api_key_counts_more_than_a_name() -> None:
    other = "\nToldRequest => key 2, max version 0\n  A: int16\n"
    swapped = other.replace("key 2", "key 1") + HEAD.replace("key 1", "key 2").replace("version 2", "version 0")
    found = compare_layouts(schema(HEAD + other), schema(swapped))
    assert {one.partner.name for one in found.parting if one.message.name == "AskRequest"} == {"ToldRequest"}


def test_an_api_key_that_two_messages_share_pairs_none() -> None:
    shared = schema(f"{HEAD}  A: int8\n\n{HEAD.replace('Ask', 'Tell')}  A: int16\n")
    found = compare_layouts(shared, schema(f"{HEAD}  A: int8\n"))
    assert ({message.name for message, _ in found.equal}, found.parting) == ({"AskRequest"}, ())


def test_a_struct_is_the_same_as_its_fields() -> None:
    found = compare_layouts(
        schema("Told => data, max version 0\n  A: =>\n    B: int8\n    C: int8\n"),
        schema("Told => data, max version 0\n  B: int8\n  C: int8\n"),
    )
    assert (len(found.equal), found.parting) == (1, ())


def test_headers_are_bytes_too() -> None:
    named = "ControlledShutdownRequest => key 7, max version 1\n"
    found = compare_layouts(schema(named), schema(named.replace("Controlled", "Slow")))
    assert [str(one) for one in found.parting] == [
        "ControlledShutdownRequest v0: the message is with header 0 | with header 1"
    ]
    alone = "Clock => key 7, max version 0\n", "Clock => data, max version 0\n"
    assert [str(one) for one in compare_layouts(*map(schema, alone)).parting] == [
        "Clock v0: the message is with header 1 | without header"
    ]


def test_crosscheck_wants_each_difference_explained_and_each_explanation_used() -> None:
    found = compared("  A: int8\n", "  A: int16\n")
    problems = list(unexplained(found))
    assert problems[0] == "not explained: AskRequest v0: A is i8 | i16"
    assert len([one for one in problems if one.startswith("explanation without a difference")]) == len(KNOWN)
