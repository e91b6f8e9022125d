"""Names as definitions write them → names as Python writes them.

``TopicId`` becomes ``topic_id``. Rules use these functions to find names that collide, emitters to name attributes.
"""

from __future__ import annotations

import keyword
import re

_WORD = re.compile(
    r"KRaft"  # one word, despite its capitals
    r"|[A-Z]{2,}s(?![a-z])\d*"  # an acronym in the plural: ISRs
    r"|[A-Z]+(?![a-z])\d*"  # an acronym, or the single capital of V3
    r"|[A-Z]?[a-z][a-z0-9]*"
    r"|\d+"
)

RESERVED = frozenset(
    {"decode", "decode_from", "encode", "header_version", "replace", "self", "unknown_tags", "names", "read", "write"}
    | {"from_json", "to_json", "read_classic", "read_tags", "write_classic", "write_tags"}
    | {"bool", "bytes", "classmethod", "dict", "float", "i64", "int", "list", "property", "range", "slots"}
    | {"staticmethod", "str", "tuple"}
)
"""Names of methods of generated classes, and of types and functions that these classes use. Their constants are upper
case and cannot collide."""

RESERVED_CLASSES = frozenset(
    {"BytesWriter", "ClassVar", "Field", "FieldTags", "Message", "Struct", "UNSET", "Uuid"}
    | {"ALIASES", "LOGS", "MODULES", "PROTOCOL", "False", "None", "True"}
)
"""Names that generated modules use for something other than a class of the protocol. A struct of such a name is
prefixed with the name of its message; a message cannot have one."""


RESERVED_ENUMS = frozenset({"ProtocolEnum", "False", "None", "True"})
"""Names that the generated module of enums uses for something else."""


def snake_case(name: str) -> str:
    """``TopicId`` → ``topic_id``, ``ISR`` → ``isr``, ``V3AndBelowTopics`` → ``v3_and_below_topics``."""
    return "_".join(_WORD.findall(name)).lower() or name.lower()


def python_name(name: str) -> str:
    """Return the attribute of a field in snake case, with ``_`` appended to keywords and names in ``RESERVED``.

    Field names contain no underscores, so the result cannot be the name of another field.
    """
    plain = snake_case(name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in RESERVED else plain


def python_path(path: str) -> str:
    """Return the attributes of a path of fields: ``Topics.TopicId`` → ``topics.topic_id``."""
    return ".".join(map(python_name, path.split(".")))


def constant_name(name: str) -> str:
    """Return the member of an enum that a value becomes: ``PREPARE_COMMIT`` as it is, ``PrepareCommit`` the same."""
    return name if name == name.upper() else snake_case(name).upper()


def is_python_keyword(name: str) -> bool:
    """Return whether a field of this name would be a keyword of Python, such as ``From``."""
    return keyword.iskeyword(snake_case(name))
