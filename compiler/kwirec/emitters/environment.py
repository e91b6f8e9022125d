"""The files that emitters make, and the Jinja environment: templates are text, an undefined name is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import jinja2

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


def render(template: str, **context: object) -> str:
    """The text of a whole template."""
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
        self._context: dict[str, object] = {
            "code": self._code,
            "base": Imported(),
            "librt": Imported(),
            "wire": Imported(),
        }
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
