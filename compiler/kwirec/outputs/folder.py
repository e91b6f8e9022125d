"""Reads a template folder and its outputs, which ``emit.toml`` declares.

::

    [parameters]
    package = "acme"                        # `--set package=…` replaces it

    [[output]]
    template = "message.go.jinja"
    path = "{{ message.name | snake }}.go"  # default: the template's own path without `.jinja`
    each = "message"                        # default: "schema"

Without ``[[output]]``, each template whose name does not begin with ``_`` is one output for the schema. Templates can
only use files that this module has read.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kwirec.diagnostics import codes, template_codes
from kwirec.diagnostics.diagnostic import Report, did_you_mean
from kwirec.diagnostics.source import Source, Span
from kwirec.emitters.environment import FOLDERS
from kwirec.files import read_regular

CONFIG = "emit.toml"
SUFFIX = ".jinja"
MAX_TEXT = 16 << 20
"""Maximum number of characters in all templates of a folder."""

UNITS: Mapping[str, tuple[str, ...]] = {
    "schema": (),
    "api": ("api",),
    "message": ("message",),
    "struct": ("message", "struct"),
    "enum": ("enum",),
    "version": ("message", "version"),
    "layout": ("message", "layout"),
}
"""Template variables for each value of ``each``, in addition to ``schema`` and ``parameters``."""

_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*output[ \t]*\]\]", re.MULTILINE)
_ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_TOML_PLACE = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")


@dataclass(frozen=True, kw_only=True)
class Output:
    """A template, its path template and its ``each``. Findings point at ``template_span`` and ``path_span``."""

    template: str
    path: str
    each: str
    template_span: Span
    path_span: Span


@dataclass(frozen=True, kw_only=True)
class Templates:
    """A template folder. ``sources`` maps paths, which use ``/``, to templates."""

    name: str
    sources: Mapping[str, Source]
    outputs: tuple[Output, ...]
    parameters: Mapping[str, object]


def built_in() -> dict[str, Path]:
    """Return the template folders that come with kwirec, by name."""
    there = (folder for folders in FOLDERS if folders.is_dir() for folder in sorted(folders.iterdir()))
    return {folder.name: folder for folder in there if (folder / CONFIG).is_file()}


def find(name: str) -> Path | None:
    """Return the folder at a path, or the built-in template folder of this name, or ``None``."""
    return Path(name) if Path(name).is_dir() else built_in().get(name)


def read_templates(folder: Path, report: Report) -> Templates | None:
    """Return the templates of a folder, or ``None`` if there were errors."""
    sources: dict[str, Source] = {}
    config = Source((folder / CONFIG).as_posix(), "")
    room = MAX_TEXT
    for path in _files(folder, report):
        relative = path.relative_to(folder).as_posix()
        source = _read(path, report)
        room -= len(source.text)
        if room < 0:
            what = f"the templates are larger than {MAX_TEXT >> 20} MiB"
            report.add(template_codes.BAD_TEMPLATE_FILE, what, Span(source, 0, 0))
            break
        if relative == CONFIG:
            config = source
        else:
            sources[relative] = source
    if report.has_errors():
        return None
    table = _parse(config, report)
    parameters = table.get("parameters", {})
    outputs = (
        tuple(_outputs(table, config, sources, report)) if "output" in table else tuple(_default_outputs(sources))
    )
    if not (outputs or report.has_errors()):
        helps = [f"templates are files that end in `{SUFFIX}`, and `{CONFIG}` may list them as [[output]]"]
        report.add(codes.NO_DEFINITIONS, f"no templates in `{folder.as_posix()}`", Span(config, 0, 0), helps=helps)
    if report.has_errors():
        return None
    return Templates(name=folder.as_posix(), sources=sources, outputs=outputs, parameters=parameters)


def _files(folder: Path, report: Report) -> Iterator[Path]:
    """Yield ``emit.toml`` and all templates in a stable order."""
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += (Path(parent, name) for name in folders if Path(parent, name).is_symlink())
        found += (Path(parent, name) for name in files if name.endswith(SUFFIX) and not name.startswith("."))
    found += [path] if (path := folder / CONFIG).is_symlink() or path.exists() else []
    for path in sorted(found):
        if path.is_symlink():
            what = f"`{path.as_posix()}` is a symbolic link"
            helps = ["replace the link with its target"]
            report.add(template_codes.BAD_TEMPLATE_FILE, what, Span(Source(path.as_posix(), ""), 0, 0), helps=helps)
        else:
            yield path


def _read(path: Path, report: Report) -> Source:
    name = path.as_posix()
    try:
        return Source(name, read_regular(path).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as problem:
        empty = Source(name, "")
        report.add(template_codes.BAD_TEMPLATE_FILE, f"cannot read `{name}`", Span(empty, 0, 0), label=str(problem))
        return empty


def _default_outputs(sources: Mapping[str, Source]) -> Iterator[Output]:
    for name, source in sources.items():
        if not PurePosixPath(name).name.startswith("_"):
            place = Span(source, 0, 0)
            path = _literally(name.removesuffix(SUFFIX))
            yield Output(template=name, path=path, each="schema", template_span=place, path_span=place)


def _literally(path: str) -> str:
    """Return a path template that yields exactly this path, even if it contains braces."""
    return f"{{% raw %}}{path}{{% endraw %}}" if "{" in path else path


def _parse(config: Source, report: Report) -> dict[str, Any]:
    """Return the table in ``emit.toml``, or an empty table if its keys or types are invalid. Report such mistakes."""
    try:
        table = tomllib.loads(config.text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        match = _TOML_PLACE.fullmatch(str(problem))
        at = len(config.text)
        if match and match["line"]:
            at = sum(len(line) for line in config.text.splitlines(True)[: int(match["line"]) - 1])
            at += int(match["column"]) - 1
        what = match["what"] if match else str(problem)
        span = Span(config, min(at, len(config.text)), min(at + 1, len(config.text)))
        report.add(template_codes.BAD_EMIT_TOML, f"`{CONFIG}` is not TOML", span, what[:1].lower() + what[1:])
        return {}
    for key, value in table.items():
        if key not in ("description", "parameters", "output"):
            hint = did_you_mean(key, ("description", "parameters", "output"))
            _bad(report, f"there is no `{key}` in `{CONFIG}`", _key_span(config, key), helps=[hint])
        elif key == "description" and not isinstance(value, str):
            _bad(report, "`description` must be a string", _key_span(config, key))
        elif key == "output" and not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            _bad(report, "write each output as its own [[output]]", _key_span(config, key))
        elif key == "parameters" and not isinstance(value, dict):
            _bad(report, "`parameters` must be a table", _key_span(config, key))
        elif key == "parameters":
            for name, default in value.items():
                if not isinstance(default, str | int | float | bool) or not name.isidentifier():
                    what = f"the parameter `{name}` needs a Python name and a string, number or boolean value"
                    _bad(report, what, _key_span(config, name))
    return {} if report.has_errors() else table


def _outputs(
    table: Mapping[str, Any], config: Source, sources: Mapping[str, Source], report: Report
) -> Iterator[Output]:
    for number, entry in enumerate(table.get("output", [])):
        start = _entry_start(config, number)
        spans = {key: _value_span(config, start, key) for key in ("template", "path", "each")}
        is_right = True
        for key, value in entry.items():
            if key not in spans:
                hint = did_you_mean(key, spans) or f"the keys are {', '.join(spans)}"
                _bad(report, f"an output has no `{key}`", _key_span(config, key, start), helps=[hint])
            elif not isinstance(value, str):
                _bad(report, f"`{key}` must be a string", spans[key])
            else:
                continue
            is_right = False
        template, each = entry.get("template"), entry.get("each", "schema")
        if template is None:
            _bad(report, "the output has no `template`", spans["template"])
        elif is_right and template not in sources:
            hint = did_you_mean(template, sources) or f"templates are files of this folder that end in `{SUFFIX}`"
            _bad(report, f"there is no template `{template}`", spans["template"], helps=[hint])
        elif is_right and each not in UNITS:
            hint = did_you_mean(each, UNITS) or f"choose one of {', '.join(UNITS)}"
            _bad(report, f"a template cannot run for each `{each}`", spans["each"], helps=[hint])
        elif is_right:
            path = entry.get("path", _literally(template.removesuffix(SUFFIX)))
            path_span = spans["path" if "path" in entry else "template"]
            yield Output(
                template=template, path=path, each=each, template_span=spans["template"], path_span=path_span
            )


def _bad(report: Report, what: str, span: Span, helps: list[str] | None = None) -> None:
    report.add(template_codes.BAD_EMIT_TOML, what, span, helps=helps or [])


def _entry_start(config: Source, number: int) -> int:
    """Return the offset of an output's header, or 0 for outputs in an inline array."""
    headers = list(_HEADER.finditer(config.text))
    return headers[number].start() if number < len(headers) else 0


def _key_span(config: Source, key: str, start: int = 0) -> Span:
    """Return the span of a key, searching from ``start``, or the span of the line at ``start``."""
    pattern = rf"^[ \t\[]*(?P<key>['\"]?{re.escape(key)}['\"]?)[ \t]*[=\].]"
    if match := re.compile(pattern, re.MULTILINE).search(config.text, start):
        return Span(config, match.start("key"), match.end("key"))
    return _line(config, start)


def _value_span(config: Source, start: int, key: str) -> Span:
    """Return the span of a key's value in the output at ``start``, or the span of the output's header line."""
    header = _HEADER.match(config.text, start)
    following = _ANY_HEADER.search(config.text, header.end() if header else start)
    end = following.start() if following else len(config.text)
    pattern = re.compile(rf"^[ \t]*{key}[ \t]*=[ \t]*(?P<value>.*?)[ \t]*(?:#[^'\"\n]*)?$", re.MULTILINE)
    match = pattern.search(config.text, start, end)
    return Span(config, match.start("value"), match.end("value")) if match else _line(config, start)


def _line(config: Source, start: int) -> Span:
    end = config.text.find("\n", start)
    return Span(config, start, len(config.text) if end < 0 else end)
