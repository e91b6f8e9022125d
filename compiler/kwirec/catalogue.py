"""All diagnostic codes, functions that look them up, ``kwirec explain`` texts, and the pages in ``docs/rules``.

Codes are sorted by compiler pass. Codes of the validation pass follow the order of its rules.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from kwirec.diagnostics import codes, template_codes
from kwirec.diagnostics.diagnostic import Code, Report, did_you_mean
from kwirec.diagnostics.examples import ANOTHER_FILE
from kwirec.diagnostics.source import Source
from kwirec.frontend import link, parse
from kwirec.frontend.json_writer import json_definition
from kwirec.frontend.krammar_writer import krammar_text
from kwirec.validation import RULES

CODES = (
    *(code for code in vars(codes).values() if isinstance(code, Code)),
    *(rule.code for rule in RULES),
    *(code for code in vars(template_codes).values() if isinstance(code, Code)),
)

BLOCKS: Mapping[str, str] = {
    "K0": "Reading and parsing",
    "K1": "Resolving names and defaults",
    "K2": "Names, aliases and descriptions",
    "K3": "Version ranges",
    "K4": "Types and structs",
    "K5": "Defaults",
    "K6": "Tagged fields",
    "K7": "Messages, pairs, api keys and headers",
    "K8": "Enums",
    "K9": "Templates of `kwirec emit`",
}
"""Titles of the code groups, by the first two characters of their codes."""

_WIDTH = 100
BY_NAME: Mapping[str, Code] = {key: code for code in CODES for key in (code.number.lower(), code.name)}


_FILE_NAME = re.compile(r"// \S+\n+(?=[{/A-Z])")


def find(word: str) -> Code | None:
    """Return the code with this number or name, ignoring case."""
    return BY_NAME.get(word.strip().lower())


def suggestion(word: str) -> str:
    """Return a hint such as ``did you mean `K602`?`` for an unknown code, or an empty string."""
    return did_you_mean(word, (key for code in CODES for key in (code.number, code.name)))


def explain_text(code: Code) -> str:
    """Return the explanation of a code as plain text."""
    paragraphs = [
        f"{code.number} {code.name} ({_marks(code)})",
        _fill(code.what),
        _fill(code.why),
        f"Offending:\n\n{textwrap.indent(code.offending, '    ')}",
        f"Corrected:\n\n{textwrap.indent(code.corrected, '    ')}",
        _fill(_how_to_change(code)),
    ]
    if code.relaxable:
        paragraphs.append(textwrap.indent(_settings(code), "    "))
    return "\n\n".join(paragraphs) + "\n"


def page(code: Code) -> str:
    """Return the explanation of a code as a Markdown page."""
    parts = [
        f"# {code.number}: {code.name}",
        f"Severity: {_marks(code, '**')} · [all rules](README.md)",
        f"## What it finds\n\n{_fill(code.what)}",
        f"## Why it matters\n\n{_fill(code.why)}",
        f"## Offending\n\n{_in_both(code.offending, code.krammar)}",
        f"## Corrected\n\n{_in_both(code.corrected)}",
        f"## Changing it\n\n{_fill(_how_to_change(code))}",
    ]
    if code.relaxable:
        parts.append(f"```toml\n{_settings(code)}\n```")
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """Return the page that lists all codes."""
    return "\n".join(_index_lines()) + "\n"


def pages() -> dict[str, str]:
    """Return all pages by file name."""
    return {"README.md": index(), **{f"{code.number}.md": page(code) for code in CODES}}


def write_pages(folder: Path) -> None:
    """Write all pages to ``folder`` and remove pages for codes that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for stale in sorted(folder.glob("K[0-9][0-9][0-9].md")):
        if stale.name not in texts:
            stale.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _index_lines() -> Iterator[str]:
    yield "# Diagnostics of the compiler"
    yield ""
    yield _fill(
        "Every finding has one of these codes. `kwirec explain K602` prints a page in the terminal. "
        "Errors stop the compiler. Warnings only make `kwirec check` fail. Notes do not affect the exit code. "
        "`kwirec check --fix` corrects findings of fixable codes if only one correction makes sense. In its "
        '`pyproject.toml`, a project can change the severity of relaxable codes (`severity = { K207 = "off" }`) or '
        "waive single findings with a reason (`[[tool.kwirec.waivers]]`)."
    )
    for block, title in BLOCKS.items():
        yield f"\n## {block}xx: {title}\n"
        yield "| code | name | severity | finds |"
        yield "|---|---|---|---|"
        for code in CODES:
            if code.number.startswith(block):
                yield f"| [{code.number}]({code.number}.md) | {code.name} | {_marks(code)} | {code.what} |"


def _marks(code: Code, bold: str = "") -> str:
    """Return the severity and properties of a code, such as ``warning, relaxable, fixable``."""
    marks = {f"{bold}{code.severity.value}{bold}": True, "relaxable": code.relaxable, "fixable": code.fixable}
    return ", ".join(mark for mark, holds in marks.items() if holds)


def _how_to_change(code: Code) -> str:
    if not code.relaxable:
        return (
            "A definition with this mistake cannot be compiled correctly, so the severity is fixed and findings "
            "cannot be waived."
        )
    return (
        "Set another severity (error, warning, note or off) for the whole project, or waive single findings. A "
        "waiver names the message, and the path of the field if the finding is about a field. Without `field`, the "
        "waiver applies to the whole message. In `pyproject.toml`:"
    )


def _settings(code: Code) -> str:
    return "\n".join(
        (
            "[tool.kwirec]",
            f'severity = {{ {code.number} = "off" }}',
            "",
            "[[tool.kwirec.waivers]]",
            f'code = "{code.number}"',
            'message = "ClockRequest"',
            'field = "Zones.Name"',
            'reason = "why this is acceptable"',
        )
    )


def _fill(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _in_both(example: str, other: str = "") -> str:
    """Return an example in its own notation, and in the other notation if it can be converted."""
    shown = [_fenced(example)]
    if other := other or in_other_notation(example):
        name = "JSON" if other.lstrip().startswith("{") else "the indentation notation"
        shown.append(f"The same in {name}:\n\n{_fenced(other)}")
    return "\n\n".join(shown)


def in_other_notation(example: str) -> str:
    """Convert an example from JSON to the indentation notation or vice versa, and return its text.

    Return an empty string if the example is not a definition, or if the mistake is specific to the notation.
    """
    if not example.startswith(("{", "/")):
        return ""
    report = Report()
    texts = [_FILE_NAME.sub("", text) for text in example.split(ANOTHER_FILE)]
    documents = [parse(Source("", text), report) for text in texts]
    definitions = [one for document in link(documents, report) for one in document.definitions]
    if any(document.notation == "krammar" for document in documents):
        other = ANOTHER_FILE.join(map(json_definition, definitions))
    else:
        other = krammar_text(definitions, report)
    is_lost = any(one.code is codes.NOT_IN_NOTATION for one in report.diagnostics)
    return "" if is_lost or report.has_errors() else other


def _fenced(example: str) -> str:
    is_json = example.lstrip().startswith("{") or ('"name": ' in example and example.startswith("/"))
    language = "jsonc" if is_json else "text" if example.startswith("/") or " =>" in example else "console"
    return f"```{language}\n{example.rstrip()}\n```"
