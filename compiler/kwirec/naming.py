"""Names as definitions write them → names as Python writes them.

Takes ``TopicId``, gives ``topic_id``. Pure functions without knowledge of the schema: the rules ask them which
names collide, the emitters which attribute a field becomes.
"""

from __future__ import annotations

import keyword
import re

_WORD = re.compile(
    r"KRaft"  # one word to everybody, although its capitals say otherwise
    r"|[A-Z]{2,}s(?![a-z])\d*"  # an acronym in the plural: ISRs
    r"|[A-Z]+(?![a-z])\d*"  # an acronym, or the single capital of V3
    r"|[A-Z]?[a-z][a-z0-9]*"
    r"|\d+"
)

RESERVED = frozenset(
    {"decode", "decode_from", "encode", "header_version", "replace", "self", "unknown_tags", "names", "read", "write"}
    | {"bool", "bytes", "classmethod", "float", "int", "list", "property", "range", "staticmethod", "str", "tuple"}
)
"""Names that generated classes use themselves, as methods or in the types of their attributes. Their constants are
in capitals and collide with nothing."""

RESERVED_CLASSES = frozenset(
    {"BytesWriter", "ClassVar", "EMPTY", "Field", "FieldTags", "Message", "Struct", "Uuid"}
    | {"ALIASES", "LOGS", "MODULES", "PROTOCOL", "False", "None", "True"}
)
"""Names of classes that generated modules need for something else. A struct that has one carries its message's name
in front; a message cannot have it."""


def snake_case(name: str) -> str:
    """``TopicId`` → ``topic_id``, ``ISR`` → ``isr``, ``V3AndBelowTopics`` → ``v3_and_below_topics``."""
    return "_".join(_WORD.findall(name)).lower() or name.lower()


def python_name(name: str) -> str:
    """The attribute that a field becomes: snake case, with a ``_`` behind keywords and names in :data:`RESERVED`.

    Field names hold no underscores, so the longer name is never another field's.
    """
    plain = snake_case(name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in RESERVED else plain


def is_python_keyword(name: str) -> bool:
    """Whether a field of this name would be a keyword of Python, such as ``From``."""
    return keyword.iskeyword(snake_case(name))
