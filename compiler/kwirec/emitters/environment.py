"""The Jinja environment: templates are text, an undefined name in one is an error."""

from __future__ import annotations

import functools
from pathlib import Path

import jinja2

_PACKAGED = Path(__file__).parent.parent / "templates"
_CHECKOUT = Path(__file__).parent.parent.parent.parent / "templates"


def template_folder() -> Path:
    """Where the templates are: inside the installed package, or beside the compiler in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def _nested(text: str, width: int = 4) -> str:
    """A block of lines for a place that is ``width`` columns deep; the template provides the first indentation."""
    return text.strip("\n").replace("\n", "\n" + " " * width)


@functools.cache
def environment() -> jinja2.Environment:
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    jinja.filters["nested"] = _nested
    return jinja


def render(template: str, **context: object) -> str:
    """The text of a whole template."""
    return environment().get_template(template).render(**context)


@functools.cache
def _module(template: str) -> object:
    return environment().get_template(template).module


def macro(template: str, name: str, *values: object, **context: object) -> str:
    """The text of one macro of a template."""
    return str(getattr(_module(template), name)(*values, **context))
