"""Turns templates and definitions into files. The steps are: read, select, render, check paths, write."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kwirec.diagnostics import codes, template_codes
from kwirec.diagnostics.diagnostic import Report, did_you_mean
from kwirec.diagnostics.source import Source, Span
from kwirec.driver import Loaded, Phase, digest, quiet
from kwirec.emitters.compat import history_of
from kwirec.emitters.write import TEMPLATES, FormatError, WriteOutcome, write
from kwirec.outputs.folder import Templates, built_in, find, read_templates
from kwirec.outputs.paths import check_paths
from kwirec.outputs.process import Limits, render_all
from kwirec.view import Selection, view_of


@dataclass(frozen=True, kw_only=True)
class Emitted:
    """The summary of a template run."""

    messages: int
    outcome: WriteOutcome
    seconds: float


def emit(
    loaded: Loaded,
    paths: Sequence[Path],
    templates: str | Path,
    *,
    out: Path,
    report: Report,
    only: str = "",
    parameters: Mapping[str, object] | None = None,
    formatters: Mapping[str, Sequence[str]] | None = None,
    check: bool = False,
    limits: Limits | None = None,
    phase: Phase = quiet,
) -> Emitted | None:
    """Render templates, write the files to ``out``, and return a summary, or ``None`` if ``report`` has errors.

    ``templates`` is a folder, or the name of one of kwirec's template folders. ``only`` selects messages and
    versions, such as ``FetchRequest:newest,Produce*:9``. ``formatters`` maps suffixes to commands that format
    standard input, such as ``{".go": ["gofmt"]}``. By default, black formats ``.py`` files. With ``check``, the files
    are only compared with those in ``out``.

    Raises :class:`~kwirec.view.SelectionError` if an item of ``only`` selects nothing, and
    :class:`OutputNotGeneratedError` if the folder contains files that kwirec did not write.
    """
    folder = find(str(templates))
    if folder is None:
        hint = did_you_mean(str(templates), built_in())
        what = f"`{Path(templates).as_posix()}` is neither a folder nor the name of templates that come with kwirec"
        span = Span(Source(Path(templates).as_posix(), ""), 0, 0)
        report.add(codes.UNREADABLE, what, span, helps=[hint])
        return None
    found = read_templates(folder, report)
    if found is None:
        return None
    given = _parameters(found, parameters or {}, report)
    if report.has_errors():
        return None
    selection = Selection.parse(only, loaded.schema) if only else None
    view = view_of(loaded.schema, loaded.errors, history_of(paths), selection)
    files = render_all(found, given, view, report, limits or Limits(), lambda files: phase("emit", files, files))
    check_paths(files, report)
    if report.has_errors():
        return None
    try:
        outcome = write(
            [one.artifact for one in files],
            out,
            origin={"definitions": digest(loaded), TEMPLATES: _digest(found, given, only)},
            check=check,
            progress=lambda done, total: phase("format", done, total),
            commands=formatters or {},
        )
    except FormatError as problem:
        output = next(one.output for one in files if one.artifact.path == problem.path)
        what = f"the output `{problem.path}` cannot be formatted"
        report.add(template_codes.NOT_FORMATTED, what, output.template_span, problem.reason)
        return None
    return Emitted(messages=len(view.messages), outcome=outcome, seconds=time.perf_counter() - loaded.started)


def _parameters(templates: Templates, given: Mapping[str, object], report: Report) -> dict[str, object]:
    """Return the parameters of a folder. Values in ``given`` replace defaults and are converted to the types of the
    defaults.
    """
    found = dict(templates.parameters)
    for name, value in given.items():
        try:
            found[name] = _like(found[name], value)
        except KeyError:
            what = f"the templates have no parameter `{name}`"
            helps = [did_you_mean(name, found) or (f"the parameters are {', '.join(found)}" if found else "")]
            report.add(template_codes.BAD_EMIT_TOML, what, Span(Source(templates.name, ""), 0, 0), helps=helps)
        except ValueError as problem:
            what = f"the parameter `{name}` cannot be `{value}`: {problem}"
            report.add(template_codes.BAD_EMIT_TOML, what, Span(Source(templates.name, ""), 0, 0))
    return found


def _like(default: object, value: object) -> object:
    """Return ``value``. If it is text from the command line, convert it to the type of ``default``."""
    if type(value) is type(default) or not isinstance(value, str):
        return value
    if isinstance(default, bool):
        if value not in ("true", "false"):
            raise ValueError("write `true` or `false`")
        return value == "true"
    return float(value) if isinstance(default, float) else int(value)


def _digest(templates: Templates, parameters: Mapping[str, object], only: str) -> str:
    outputs = [(one.template, one.path, one.each) for one in templates.outputs]
    texts = sorted((name, source.text) for name, source in templates.sources.items())
    return hashlib.sha256(repr((outputs, texts, parameters, only)).encode()).hexdigest()[:16]
