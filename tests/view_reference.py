"""``docs/view.md``: the classes that templates see, from their docstrings. ``make docs`` writes it."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from kwirec.view import model

HEAD = """\
# The view of a protocol

This page lists what templates of [`kwirec emit`](outputs.md) see. `make docs` writes it from the code. Attributes are
stable. Later releases add some and change none. A call is shown with parentheses.
"""
CLASSES = (
    *(model.Schema, model.Api, model.Message, model.Struct, model.Field, model.Type, model.Versions, model.Version),
    *(model.Layout, model.LayoutField, model.WireKind, model.Enum, model.EnumValue, model.ErrorCode, model.Release),
)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"\n{line}\n" for cls in CLASSES for line in _section(cls))


def _section(cls: type) -> Iterator[str]:
    yield f"## {cls.__name__}"
    for paragraph in (inspect.getdoc(cls) or "").split("\n\n"):
        yield _plain(paragraph)
    attributes = [f"- `{one.name}`: `{one.type}`" for one in fields(cls)]
    for name, member in vars(cls).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            shown = (
                f"{name}({', '.join(list(inspect.signature(member).parameters)[1:])})" if callable(member) else name
            )
            sentence = _plain(f"{inspect.getdoc(member)}").removeprefix("Return ")
            attributes.append(textwrap.fill(f"- `{shown}`: {sentence}", 118, subsequent_indent="  "))
    yield "\n".join(attributes)


def _plain(text: str) -> str:
    text = re.sub("``", "`", " ".join(text.split()))
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
