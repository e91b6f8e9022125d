"""Template filters for naming conventions, literals of several languages, and comments.

Text from definitions is untrusted. The result of a filter cannot end the literal or comment that contains it.
"""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Callable, Mapping

from kwire_rules import model_name
from kwirec import markdown
from kwirec.emitters.environment import docstring
from kwirec.naming import snake_case
from kwirec.view.model import Versions

_LONGEST_LINE = 10_000
_HEX, _DECIMAL = "\\x{:02x}", "\\{:03d}"


def snake(name: object) -> str:
    """Return a name in snake case: ``TopicId`` → ``topic_id``."""
    return snake_case(str(name))


def screaming(name: object) -> str:
    """Return a name in upper snake case: ``TopicId`` → ``TOPIC_ID``."""
    return snake(name).upper()


def kebab(name: object) -> str:
    """Return a name in kebab case: ``TopicId`` → ``topic-id``."""
    return snake(name).replace("_", "-")


def pascal(name: object) -> str:
    """Return a name in Pascal case: ``topic_id`` → ``TopicId`` and ``ISR`` → ``Isr``."""
    return "".join(word.capitalize() for word in snake(name).split("_"))


def camel(name: object) -> str:
    """Return a name in camel case: ``TopicId`` → ``topicId``."""
    first, *rest = snake(name).split("_")
    return first + "".join(word.capitalize() for word in rest)


def json_literal(value: object) -> str:
    """Return a value as ASCII JSON, which is also a JavaScript literal. Bytes become Base64."""
    return json.dumps(_plain(value, _base64), allow_nan=False).replace("</", "<\\/").replace("<!", "<\\u0021")


def python_literal(value: object) -> str:
    """Return a value as a Python expression."""
    return repr(_plain(value))


def go_literal(value: object) -> str:
    """Return a plain value as a Go expression."""
    match value:
        case None:
            return "nil"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case bytes():
            return f'[]byte("{_bytes_text(value, _HEX)}")'
        case str():
            return '"' + "".join(map(_go_character, value)) + '"'
    raise TypeError(f"Go needs a type for {_article(value)}: write the items one by one")


def lua_literal(value: object) -> str:
    """Return a value as a Lua expression. Text becomes UTF-8 bytes."""
    match _plain(value):
        case None:
            return "nil"
        case bool() as flag:
            return str(flag).lower()
        case int() as number if number <= -(1 << 63):
            return f"({number + 1} - 1)"
        case int() | float() as number:
            return repr(number)
        case str() as text:
            return lua_literal(text.encode("utf-8", "replace"))
        case bytes() as data:
            return f'"{_bytes_text(data, _DECIMAL)}"'
        case list() as items:
            return f"{{{', '.join(map(lua_literal, items))}}}"
        case dict() as items:
            pairs = (f"[{lua_literal(key)}] = {lua_literal(item)}" for key, item in items.items())
            return f"{{{', '.join(pairs)}}}"
    raise AssertionError


def clean(text: object) -> str:
    """Return a text on one line, with each non-printable character replaced."""
    line = " ".join(str(text).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def model_attribute(name: object) -> str:
    """Return the pydantic model's attribute name for a codec attribute."""
    return model_name(str(name))


def wrap(text: object, width: int = 100) -> str:
    """Return a text with lines wrapped at ``width`` characters. Longer words are not broken."""
    width = max(1, min(width, _LONGEST_LINE))
    return textwrap.fill(clean(text), width, break_long_words=False, break_on_hyphens=False)


def comment(text: object, prefix: str = "// ", width: int = 100) -> str:
    """Return a text as comment lines that begin with ``prefix``."""
    # A trailing backslash continues a line in C, and \\u begins a Unicode escape in Java.
    lines = wrap(text, width - len(prefix)).replace("\\u", "\\ u").split("\n")
    return "\n".join(f"{prefix}{line.rstrip(chr(92))}".rstrip() for line in lines)


def block_comment(text: object, start: str = "/*", end: str = "*/", width: int = 100) -> str:
    """Return a text as a comment between ``start`` and ``end``, such as ``<!--`` and ``-->``."""
    line = clean(text).replace("\\u", "\\ u")
    for mark in ("--", end.strip(), start.strip()):  # XML comments must not contain `--`
        while len(mark) > 1 and mark in line and (mark != "--" or mark in end):
            line = line.replace(mark, " ".join(mark))
    return f"{start} {wrap(line, width)} {end}"


def _plain(value: object, of_bytes: Callable[[bytes], object] = lambda value: value) -> object:
    """Return a value with view objects replaced: versions by numbers, and other objects by their names."""
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case bytes():
            return of_bytes(value)
        case Versions():
            return list(value)
        case Mapping():
            return {str(key): _plain(item, of_bytes) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, of_bytes) for item in value]
        case _ if type(value).__module__ == Versions.__module__:
            return str(value)
    raise TypeError(f"there is no literal for {_article(value)}")


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _article(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def _bytes_text(data: bytes, escape: str) -> str:
    """Return bytes as text, with quotes, backslashes and non-printable bytes escaped."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else escape.format(byte) for byte in data)


def _go_character(character: str) -> str:
    code = ord(character)
    if 32 <= code < 127:
        return f"\\{character}" if character in '"\\' else character
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


FILTERS: Mapping[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        *(snake, screaming, kebab, pascal, camel),
        *(json_literal, python_literal, go_literal, lua_literal),
        *(clean, wrap, comment, block_comment, docstring, model_attribute),
    )
} | {"markdown": lambda text: markdown.prose(str(text)), "markdown_code": lambda text: markdown.code(str(text))}
"""Filters by name, in addition to Jinja's built-in filters."""
