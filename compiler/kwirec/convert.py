"""Converts definitions from either notation to the other, for ``kwirec convert``.

JSON has one file per message or enum. In the indentation notation, a request and its response share a file. In
franz-go's dialect, file names begin with the api key, and all enums share a file, as do all records, because
franz-go's generator requires this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.files import holds, locked, replace_files
from kwirec.frontend import Document, link, parse
from kwirec.frontend.json_writer import json_definition
from kwirec.frontend.krammar_writer import krammar_text
from kwirec.frontend.notation import Dialect, Notation
from kwirec.frontend.syntax import EnumDecl, FieldDecl, MessageDecl, Spanned
from kwirec.ir import Schema, resolve
from kwirec.naming import snake_case
from kwirec.validation.enums import enum_name
from kwirec.validation.names import type_name
from kwirec.validation.rule import Subjects
from kwirec.versions import NONE

Definition = MessageDecl | EnumDecl


@dataclass(frozen=True)
class Converted:
    """The converted files by path, and the paths of files that differ from the files in the output folder."""

    texts: Mapping[str, str]
    changed: tuple[str, ...]


def convert(
    paths: Sequence[Path],
    report: Report,
    *,
    to: Notation,
    out: Path,
    dialect: Dialect | None = None,
    notation: Notation | None = None,
    check: bool = False,
) -> Converted | None:
    """Write the definitions in ``paths`` to ``out`` and return the files. With ``check``, write nothing.

    Return ``None`` if the definitions have errors. Add these errors to ``report``, along with a finding for each part
    that the notation cannot express. Raises ``OSError``.
    """
    placed: list[tuple[PurePosixPath, Document]] = []
    for path in paths:
        sources = read_sources([path], report)
        documents = [parse(source, report, notation=notation) for source in sources]
        placed += [(_folder(path, document.source.name), document) for document in documents]
    _check_names(resolve((document for _, document in placed), report), report)
    if report.has_errors():
        return None
    linked = link((document for _, document in placed), Report())
    definitions: list[tuple[PurePosixPath, Definition]] = [
        (folder, definition)
        for (folder, _), document in zip(placed, linked, strict=True)
        for definition in document.definitions
    ]
    if to == "json":
        for _, document in placed:
            for span in document.loose_comments:
                report.add(codes.NOT_IN_NOTATION, "JSON cannot express a comment on the version field", span)
    texts = json_files(definitions) if to == "json" else krammar_files(definitions, report, dialect=dialect)
    changed = tuple(path for path, text in texts.items() if not holds(out / path, text))
    if changed and not check:
        with locked(out):
            replace_files(out, {path: texts[path] for path in changed})
    return Converted(texts, changed)


def _check_names(schema: Schema, report: Report) -> None:
    """Report invalid definition names. Names become paths, and ``../Fetch`` would be outside the folder."""
    subjects = Subjects(schema)
    for rule in (type_name, enum_name):
        for finding in rule.check(subjects):
            report.record(rule.code, finding)


def json_files(definitions: Iterable[tuple[PurePosixPath, Definition]]) -> dict[str, str]:
    """Return one file per definition, in the folder from which it came."""
    return {f"{folder / one.name.value}.json": json_definition(one) for folder, one in definitions}


def krammar_files(
    definitions: Sequence[tuple[PurePosixPath, Definition]], report: Report, *, dialect: Dialect | None = None
) -> dict[str, str]:
    """Return one file for each request and its response, and one for each other definition."""
    franz_go = dialect == "franz-go"
    if franz_go:
        definitions = _with_own_names(_of_some_version(definitions, report))
    groups: dict[str, list[Definition]] = {}
    for folder, one in definitions:
        name = _franz_go_file(one) if franz_go else f"{folder / _pair_name(one)}.krm"
        groups.setdefault(name, []).append(one)
    texts = {name: krammar_text(_in_order(group), report, franz_go=franz_go) for name, group in groups.items()}
    return {name: text for name, text in texts.items() if text.strip()}


def _of_some_version(
    definitions: Iterable[tuple[PurePosixPath, Definition]], report: Report
) -> Iterator[tuple[PurePosixPath, Definition]]:
    """Yield all definitions except messages without versions, which franz-go's notation would give all versions."""
    for folder, one in definitions:
        valid = one.valid_versions if isinstance(one, MessageDecl) else None
        if valid is None or valid.value != NONE:
            yield folder, one
        else:
            text = f"franz-go's notation cannot express `{one.name.value}`, which has no versions"
            report.add(codes.NOT_IN_NOTATION, text, valid.span, message_name=one.name.value)


def _in_order(group: Iterable[Definition]) -> list[Definition]:
    """Return the definitions sorted by name, with requests before their responses."""
    return sorted(group, key=lambda one: (_pair_name(one), one.type.value == "response"))


def _pair_name(definition: Definition) -> str:
    """Return ``Fetch`` for both ``FetchRequest`` and ``FetchResponse``."""
    name, kind = definition.name.value, definition.type.value
    return name.removesuffix(kind.capitalize()) if kind in ("request", "response") else name


def _franz_go_file(definition: Definition) -> str:
    if isinstance(definition, EnumDecl):
        return "enums"
    if definition.api_key is None or definition.type.value not in ("request", "response"):
        return "misc"
    return f"{definition.api_key.value:02}_{snake_case(_pair_name(definition))}"


def _with_own_names(
    definitions: Iterable[tuple[PurePosixPath, Definition]],
) -> list[tuple[PurePosixPath, Definition]]:
    """Return the definitions with unique names for common structs, because franz-go's names are global.

    If several messages have a common struct of the same name, the message's name is prefixed to the struct's name.
    """
    definitions = list(definitions)
    messages = [one for _, one in definitions if isinstance(one, MessageDecl)]
    names = Counter(struct.name.value for message in messages for struct in message.common_structs)
    several = {name for name, count in names.items() if count > 1}
    return [
        (folder, _renamed(one, several) if isinstance(one, MessageDecl) and one.common_structs else one)
        for folder, one in definitions
    ]


def _renamed(message: MessageDecl, names: Iterable[str]) -> MessageDecl:
    own = {struct.name.value for struct in message.common_structs}.intersection(names)
    new = {name: message.name.value + name for name in own}

    def fields(before: Iterable[FieldDecl]) -> tuple[FieldDecl, ...]:
        return tuple(
            replace(
                one,
                type=replace(one.type, name=new.get(one.type.name, one.type.name)),
                fields=None if one.fields is None else fields(one.fields),
            )
            for one in before
        )

    structs = tuple(
        replace(
            struct,
            name=Spanned(new.get(struct.name.value, struct.name.value), struct.name.span),
            fields=fields(struct.fields),
        )
        for struct in message.common_structs
    )
    return replace(message, fields=fields(message.fields or ()), common_structs=structs)


def _folder(path: Path, source: str) -> PurePosixPath:
    """Return a source's folder relative to ``path``, or an empty path for sources in archives and bundles."""
    if not path.is_dir() or "!" in source:
        return PurePosixPath()
    return PurePosixPath(source).relative_to(PurePosixPath(path.as_posix())).parent
