"""Names as definitions write them → names as Python writes them.

Takes ``TopicId``, gives ``topic_id``. Pure functions without knowledge of the schema: the rules ask them which
names collide, the emitters which attribute a field becomes.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection

_WORD = re.compile(
    r"KRaft"  # one word to everybody, although its capitals say otherwise
    r"|[A-Z]{2,}s(?![a-z])\d*"  # an acronym in the plural: ISRs
    r"|[A-Z]+(?![a-z])\d*"  # an acronym, or the single capital of V3
    r"|[A-Z]?[a-z]+\d*"
    r"|\d+"
)

STRUCT_NAMES = frozenset({"encode", "decode", "decode_from", "replace", "unknown_tags"})
"""Names that every generated class uses itself."""

MESSAGE_NAMES = STRUCT_NAMES | {
    "name",
    "api_key",
    "aliases",
    "valid_versions",
    "flexible_versions",
    "deprecated_versions",
    "latest_version_unstable",
}
"""Names that the generated class of a message uses itself."""


def snake_case(name: str) -> str:
    """``TopicId`` → ``topic_id``, ``ISR`` → ``isr``, ``V3AndBelowTopics`` → ``v3_and_below_topics``."""
    return "_".join(_WORD.findall(name)).lower() or name.lower()


def python_name(name: str, *, reserved: Collection[str] = MESSAGE_NAMES) -> str:
    """The attribute that a field becomes: snake case, with a ``_`` behind keywords and ``reserved`` names.

    Field names hold no underscores, so the longer name is never another field's.
    """
    plain = snake_case(name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in reserved else plain


def is_python_keyword(name: str) -> bool:
    """Whether a field of this name would be a keyword of Python, such as ``From``."""
    return keyword.iskeyword(snake_case(name))
