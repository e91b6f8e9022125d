"""Converts names from definitions to Python names.

``TopicId`` becomes ``topic_id``. Rules use these functions to find colliding names, and emitters use them to name
attributes.
"""

from __future__ import annotations

import keyword
import re
from functools import lru_cache

_WORD = re.compile(
    r"KRaft"  # one word, despite its capitals
    r"|[A-Z]{2,}s(?![a-z])\d*"  # a plural acronym: ISRs
    r"|[A-Z]+(?![a-z])\d*"  # an acronym, or a single capital as in V3
    r"|[A-Z]?[a-z][a-z0-9]*"
    r"|\d+"
)

RESERVED = frozenset(
    {"decode", "decode_from", "encode", "header_version", "replace", "self", "unknown_tags", "names", "read", "write"}
    | {"from_json", "to_json", "read_classic", "read_tags", "write_classic", "write_tags"}
    | {"bool", "bytes", "classmethod", "dict", "float", "i64", "int", "list", "property", "range", "slots"}
    | {"staticmethod", "str", "tuple"}
)
"""Method names of generated classes, and names of types and functions that these classes use. Constants of these
classes are upper-case and cannot collide with field names.
"""

RESERVED_CLASSES = frozenset(
    {"BytesWriter", "ClassVar", "Field", "FieldTags", "Message", "Struct", "UNSET", "Uuid"}
    | {"ALIASES", "LOGS", "MODULES", "PROTOCOL", "False", "None", "True"}
)
"""Names that generated modules use for other purposes than protocol classes. The name of the message is prefixed to
the name of such a struct. Messages cannot have such names.
"""


RESERVED_ENUMS = frozenset({"ProtocolEnum", "False", "None", "True"})
"""Names that the generated enum module uses for other purposes."""


@lru_cache(10_000)
def snake_case(name: str) -> str:
    """Return ``topic_id`` for ``TopicId``, ``isr`` for ``ISR``, ``v3_and_below_topics`` for ``V3AndBelowTopics``."""
    return "_".join(_WORD.findall(name)).lower() or name.lower()


@lru_cache(10_000)
def python_name(name: str) -> str:
    """Return a field's attribute name in snake case, with ``_`` appended to keywords and names in ``RESERVED``.

    Field names contain no underscores, so the result cannot be the name of another field.
    """
    plain = snake_case(name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in RESERVED else plain


def python_path(path: str) -> str:
    """Return the attribute path for a field path: ``Topics.TopicId`` → ``topics.topic_id``."""
    return ".".join(map(python_name, path.split(".")))


def constant_name(name: str) -> str:
    """Return the enum member name for a value: ``PREPARE_COMMIT`` for ``PrepareCommit`` or ``PREPARE_COMMIT``."""
    return name if name == name.upper() else snake_case(name).upper()


def is_python_keyword(name: str) -> bool:
    """Return whether a field name such as ``From`` becomes a Python keyword in snake case."""
    return keyword.iskeyword(snake_case(name))
