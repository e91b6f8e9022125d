"""The output files of emitters, and the Jinja environment, in which an undefined name is an error.

Text from definitions is untrusted. It enters Python code through :func:`literal` or :func:`docstring`, and Markdown
through ``kwirec.markdown``. These functions are also template filters.
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
"""Template folders of the installed package and of a checkout."""


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """One output file. ``path`` is relative to the output folder and uses ``/``."""

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
    """Return a plain value as a Python expression without raw control or bidirectional characters."""
    return repr(value)


def escaped(text: str) -> str:
    """Return ``text`` on one line for use in a docstring. Escape quotes that would end the docstring."""
    clean = " ".join(text.split()).encode("utf-8", "replace").decode().replace("\\", "\\\\")
    if '""' in clean or clean.endswith('"'):
        clean = clean.replace('"', '\\"')
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in clean)


def docstring(text: object, *, indent: int = 4, note: str = "") -> str:
    """Return a docstring with ``text``, escaped and wrapped, and ``note`` as a second paragraph."""
    clean = escaped(str(text)) or "No description."
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
    """Render a whole template and return its text."""
    return ENVIRONMENT.get_template(template).render(**context)


class Imported(dict[str, str]):
    """The names that emitted code uses from one module. Looking up a name adds its import."""

    def __missing__(self, name: str) -> str:
        self[name] = name
        return name


class CodeRenderer:
    """Renders one module of code.

    In its templates, ``{{ wire.read_tag }}`` is a name from ``kwire.wire``, and ``{{ code(nodes) }}`` renders
    statements with their macros.
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
