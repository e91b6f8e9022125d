"""Names of definitions → names of Python."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.diagnostics.examples import clock, enum, value
from kwirec.naming import constant_name, is_python_keyword, python_name, python_path, snake_case
from tests.rules.support import Check


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TopicId", "topic_id"),
        ("topicId", "topic_id"),
        ("ISR", "isr"),
        ("ISRs", "isrs"),
        ("IsrState", "isr_state"),
        ("ISRState", "isr_state"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("ResultsByTopicV3AndBelow", "results_by_topic_v3_and_below"),
        ("isKRaftController", "is_kraft_controller"),
        ("KRaftVersion", "kraft_version"),
        ("ZkMigrationReady", "zk_migration_ready"),
        ("LogDir", "log_dir"),
        ("SupportedFeatures", "supported_features"),
        ("Crc32c", "crc32c"),
        ("X", "x"),
        ("A2", "a2"),
    ],
)
def test_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("From", "from_"),
        ("Is", "is_"),
        ("Encode", "encode_"),
        ("ApiKey", "api_key"),
        ("Type", "type"),
        ("Zone", "zone"),
    ],
)
def test_python_name(name: str, expected: str) -> None:
    assert python_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PrepareCommit", "PREPARE_COMMIT"),
        ("PREPARE_commit", "PREPARE_COMMIT"),
        ("V_2", "V_2"),
        ("isISRs", "IS_ISRS"),
    ],
)
def test_constant_name(name: str, expected: str) -> None:
    assert constant_name(name) == expected


def test_python_path() -> None:
    assert [python_path(path) for path in ("TopicId", "Topics.From.TopicId")] == ["topic_id", "topics.from_.topic_id"]


TAKEN = """
bool bytes classmethod decode decode_from dict encode float from_json header_version i64 int list names property range
read read_classic read_tags replace self slots staticmethod str to_json tuple unknown_tags write write_classic
write_tags
"""


@pytest.mark.parametrize("name", TAKEN.split())
def test_names_of_generated_classes_are_avoided(name: str) -> None:
    assert python_name(name.title().replace("_", "")) == f"{name}_"


RESERVED = """
ALIASES BytesWriter ClassVar False Field FieldTags LOGS MODULES Message None PROTOCOL Struct True UNSET Uuid
"""


def test_names_that_generated_modules_use_are_refused(check: Check) -> None:
    for name in RESERVED.split():
        assert [one.message for one in check(clock(name=name))] == [f"reserved message name `{name}`"]
        assert [one.message for one in check(clock(aliases=[name]))] == [f"reserved alias `{name}`"]
    for name in ("False", "None", "ProtocolEnum", "True"):
        assert [one.message for one in check(enum(value("NEW", 0), name=name))] == [f"reserved enum name `{name}`"]


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,20}", fullmatch=True))
def test_every_field_name_becomes_an_identifier(name: str) -> None:
    result = python_name(name)
    assert result.isidentifier()
    assert not keyword.iskeyword(result)
    assert is_python_keyword(name) <= result.endswith("_")
    assert snake_case(name).replace("_", "") == name.lower()


def test_a_name_without_words_stays_as_it_is() -> None:
    assert [snake_case(name) for name in ("É", "_", "")] == ["é", "_", ""]
