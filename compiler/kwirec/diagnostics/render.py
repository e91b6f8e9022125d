"""Renders diagnostics in one of :data:`FORMATS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kwirec.diagnostics.diagnostic import Diagnostic
from kwirec.diagnostics.render_machine import render_github, render_json, render_junit
from kwirec.diagnostics.render_text import render_text, summary

_RENDERERS: Mapping[str, Callable[[Iterable[Diagnostic]], str]] = {
    "text": render_text,
    "json": render_json,
    "github": render_github,
    "junit": render_junit,
}

FORMATS = tuple(_RENDERERS)
"""``text``, ``json`` (one object per line), ``github`` (workflow commands) and ``junit`` (XML)."""


def render(diagnostics: Iterable[Diagnostic], format: str = "text", color: bool = False) -> str:
    """Render diagnostics in ``format``; only text can have colours."""
    if format == "text":
        return render_text(diagnostics, color=color)
    return _RENDERERS[format](diagnostics)


__all__ = ["FORMATS", "render", "render_github", "render_json", "render_junit", "render_text", "summary"]
