"""The files that emitters make, and the Jinja environment. Templates are text, and an undefined name is an error.

Texts of definitions are untrusted. They reach Python through :func:`literal` or :func:`docstring`, and Markdown
through ``kwirec.markdown``. Both are also filters of templates.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import jinja2

from kwirec import markdown
from kwirec.emitters.codec_nodes import Node

COMPILER = Path(__file__).parent.parent
FOLDERS = (COMPILER / "templates", COMPILER.parent.parent / "templates")
"""The templates are in the installed package, and next to the compiler in a checkout."""


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One file of the output. ``path`` is relative to the output folder, with ``/``."""

    path: str
    text: str


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDERS),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


def literal(value: object) -> str:
    """``value``, made of plain values, as a Python expression that shows no control or direction character."""
    return repr(value)


def escaped(text: str) -> str:
    """``text`` in one line for the inside of a docstring; one that holds several quotes has them escaped."""
    clean = " ".join(text.split()).encode("utf-8", "replace").decode().replace("\\", "\\\\")
    if '""' in clean or clean.endswith('"'):
        clean = clean.replace('"', '\\"')
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in clean)


def docstring(text: str, *, indent: int = 4, note: str = "") -> str:
    """Return a docstring of ``text``, escaped and wrapped, and of a note below it."""
    clean = escaped(text) or "No description."
    pad = " " * indent
    if note:
        return f'"""{clean}\n\n{pad}{note}\n{pad}"""'
    if len(clean) + indent + 6 <= 118:
        return f'"""{clean}"""'
    lines = textwrap.wrap(clean, 118 - indent - 3, break_long_words=False, break_on_hyphens=False)
    return '"""' + "".join(f"{line}\n{pad}" for line in lines) + '"""'


for _filter in (literal, escaped, docstring, markdown.code, markdown.prose):
    ENVIRONMENT.filters[_filter.__name__] = _filter


def render(template: str, **context: object) -> str:
    """Return the text of a whole template."""
    return ENVIRONMENT.get_template(template).render(**context)


class Imported(dict[str, str]):
    """The names that emitted text uses of one module: looking one up imports it."""

    def __missing__(self, name: str) -> str:
        self[name] = name
        return name


class CodeRenderer:
    """Renders one module of code.

    Its templates write ``{{ wire.read_tag }}`` for a name of ``kwire.wire`` and ``{{ code(nodes) }}`` for statements,
    which name their macros.
    """

    def __init__(self) -> None:
        modules = {name: Imported() for name in ("librt", "struct", "wire")}
        self._context: dict[str, object] = {"code": self._code, **modules}
        self._macros: dict[str, Callable[[Node], str]] = {}

    def render(self, template: str, **context: object) -> str:
        return render(template, **self._context, **context)

    def _code(self, nodes: Iterable[Node]) -> str:
        return "".join(self._macro(node.macro)(node) for node in nodes)

    def _macro(self, macro: str) -> Callable[[Node], str]:
        if macro not in self._macros:
            kind, name = macro.split(".")
            module = ENVIRONMENT.get_template(f"codec/{kind}.jinja").make_module(self._context)
            self._macros[macro] = getattr(module, name)
        return self._macros[macro]
