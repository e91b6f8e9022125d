"""``docs/api.md``: the public names of all packages, from ``__all__``, signatures and docstrings.

``make docs`` writes the page with ``python -m tests.api_reference docs/api.md``.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from kwire.message import Message
from kwire.models import ModelOf

PUBLIC_MODULES = (
    "kwire",
    "kwire.arrow",
    "kwire.client",
    "kwire.compression",
    "kwire.connection",
    "kwire.frames",
    "kwire.json_form",
    "kwire.logs",
    "kwire.models",
    "kwire.records",
    "kwire.redaction",
    "kwire.releases",
    "kwire.request_log",
    "kwire.schema",
    "kwire.trace",
    "kwire_kafka",
    "kwire_kafka.arrow",
    "kwire_kafka.compat",
    "kwire_kafka.entity_types",
    "kwire_kafka.errors",
    "kwire_kafka.models",
    "kwire_kafka.releases",
    "kwire_inspect",
    "kwire_spark",
    "kwire_testing",
    "kwirec",
)
WIDTH = 118
HEAD = """\
# Public names

This reference lists the names of each module's `__all__`, with the methods and properties of classes. Names that are
not listed are internal. `make docs` writes this page from the code.
"""


@dataclass(frozen=True)
class Name:
    """A public name: its full name, its signature (empty for constants), and the first sentence about it."""

    full: str
    signature: str
    sentence: str
    members: tuple[Name, ...] = ()


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for module in PUBLIC_MODULES for line in _section(module))])


def public_names(module: str) -> Iterator[Name]:
    """The public names of a module, except for message classes and models, which are one of each kind."""
    home = import_module(module)
    for name in sorted(home.__all__, key=str.lower):
        value = getattr(home, name)
        if not _is_generated_message(value):
            yield _name(home, name, value)


def _section(module: str) -> Iterator[str]:
    home = import_module(module)
    yield f"## {module}\n"
    yield _wrapped(first_sentence(inspect.getdoc(home) or ""))
    for name in public_names(module):
        yield f"### {name.full}\n"
        if name.signature:
            yield _wrapped(f"`{name.signature}`")
        yield _wrapped(name.sentence)
        if name.members:
            yield "".join(_wrapped(f"- `{item.signature}` – {item.sentence}", "  ") for item in name.members)
    generated = sum(_is_generated_message(getattr(home, name)) for name in home.__all__)
    if generated:
        what = "model" if module.endswith("models") else "class"
        yield f"`{module}` also has the {what} of each of the {generated} messages.\n"


def _wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph. Code breaks between words too, because Markdown reads a line end in code as a space."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) + "\n"


def _is_generated_message(value: object) -> bool:
    return (
        isinstance(value, type)
        and value.__module__.startswith("kwire_kafka.")
        and issubclass(value, Message | ModelOf)
    )


def _name(home: ModuleType, name: str, value: Any) -> Name:
    full = f"{home.__name__}.{name}"
    if inspect.isclass(value) and value.__module__ != "builtins":
        sentence = first_sentence(inspect.getdoc(value) or "")
        return Name(full, _class_signature(name, value), sentence, tuple(_members(full, value)))
    if inspect.isroutine(value):
        return Name(
            full,
            f"{_async(value)}{name}{_signature(value, method=inspect.ismethod(value))}",
            first_sentence(inspect.getdoc(value) or ""),
        )
    return Name(full, "", first_sentence(_comment(home.__name__, name)))


def _members(full: str, cls: type) -> Iterator[Name]:
    """The public methods and properties that the class itself defines, or a private base of it."""
    private = [base for base in cls.__mro__[1:] if base.__name__.startswith("_")]
    for name, member in ChainMap(*[dict(vars(base)) for base in (cls, *private)]).items():
        if name.startswith("_") or name == "model_post_init" or (issubclass(cls, Enum) and isinstance(member, cls)):
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(function, property) or type(function).__name__ == "cached_property":
            yield Name(f"{full}.{name}", f".{name}", first_sentence(inspect.getdoc(function) or ""))
        elif inspect.isfunction(function):
            signature = f"{_async(function)}.{name}{_signature(function, method=True)}"
            yield Name(f"{full}.{name}", signature, first_sentence(inspect.getdoc(function) or ""))


def _class_signature(name: str, cls: type) -> str:
    """Return how to make an instance. Exceptions are raised, not made, by those who read the page."""
    if issubclass(cls, Exception):
        return ""
    return f"class {name}{_constructor(cls)}"


def _constructor(cls: type) -> str:
    if is_dataclass(cls):
        text = f"({', '.join(field.name for field in fields(cls) if field.init)})"
    elif issubclass(cls, Enum | Message) or not inspect.isfunction(cls.__init__):
        return ""
    else:
        text = _signature(cls.__init__, method=True).removesuffix(" -> None")
    return text if len(text) < WIDTH else "(…)"


def _async(function: Any) -> str:
    return "async " if inspect.iscoroutinefunction(function) else ""


def _signature(function: Any, *, method: bool) -> str:
    """The signature as it is written, for a method without ``self`` or ``cls``."""
    [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if method and not any(getattr(mark, "id", "") == "staticmethod" for mark in node.decorator_list):
        del (node.args.posonlyargs or node.args.args)[0]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    parameters = ast.unparse(node.args).replace("=", " = ")
    return f"({parameters}){returns}"


def first_sentence(doc: str) -> str:
    """The first sentence of a docstring, on one line, as Markdown."""
    text = " ".join(doc.partition("\n\n")[0].split())
    text = re.sub(r":\w+:`~?([^`]+)`", lambda role: f"`{role[1].rpartition('.')[2]}`", text).replace("``", "`")
    sentence = re.match(r"(?:.(?!\.\s+[A-Z`]))*.", text)
    return sentence[0].rstrip(".:") + "." if sentence else ""


def _comment(module: str, name: str) -> str:
    """The string after the assignment of a constant, in the module that assigns it."""
    home: str | None = module
    while home:
        for node, after in zip(_body(home), [*_body(home)[1:], ast.Pass()], strict=True):
            if isinstance(node, ast.Assign | ast.AnnAssign) and _assigns(node, name):
                string = after.value if isinstance(after, ast.Expr) else None
                return string.value if isinstance(string, ast.Constant) and isinstance(string.value, str) else ""
        home = next(
            (
                node.module
                for node in _body(home)
                if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names)
            ),
            None,
        )
    return ""


def _assigns(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


@cache
def _body(module: str) -> list[ast.stmt]:
    """The statements of a module, those in ``try`` among them."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text("utf-8")).body
    return [inner for node in body for inner in (node.body if isinstance(node, ast.Try) else [node])]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
