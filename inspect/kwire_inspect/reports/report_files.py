"""Writes a report to files: its page, JSON, Markdown and JUnit XML, and each table as CSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Set
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv, parquet

from kwire_inspect.options import OptionError
from kwire_inspect.reports.formats import ENDINGS, FORMATS, formats_of
from kwire_inspect.reports.page import page
from kwire_inspect.reports.report import Cell, Report, Table
from kwire_inspect.reports.text import csv_cell, in_utc
from kwire_inspect.storage.folders import private_folder
from kwire_inspect.storage.places import regular

Writer = Callable[[BinaryIO], object]

LIST = "_kwire"
"""Name of the file that lists all files that were written to a folder."""


def write_report(report: Report, folder: str | Path) -> list[Path]:
    """Write ``<report>.html``, ``<report>-<table>.csv`` and ``.parquet`` for each table, and the report as JSON,
    Markdown and, if it has checks, JUnit XML. Return the paths, beginning with the page.

    The same report produces the same files. Only the user can read the files, and no file is ever incomplete. Raises
    :class:`~kwire_inspect.options.OptionError` instead of replacing a file that is not listed in ``_kwire``. Parquet
    contains the exact cells. CSV is for spreadsheets. In CSV, lists become text, texts that look like formulas get
    the prefix ``'``, and characters that control a terminal are escaped.
    """
    folder = private_folder(folder)
    writers: dict[str, Writer] = {f"{report.name}.html": lambda file: file.write(page(report).encode())}
    for table in report.tables:
        exact = arrow_table(table)
        writers[f"{report.name}-{table.name}.csv"] = partial(csv.write_csv, _flat(exact))
        writers[f"{report.name}-{table.name}.parquet"] = partial(parquet.write_table, exact)
    for form in formats_of(report):
        writers[f"{report.name}.{ENDINGS[form]}"] = partial(_write_text, FORMATS[form](report))
    _own(folder, writers.keys())
    return [_put(folder / name, write) for name, write in writers.items()]


def write_text(folder: str | Path, name: str, text: str) -> Path:
    """Write a text to a file in this folder, under the same rules as the files of a report. Return the path of the
    file."""
    folder = private_folder(folder)
    _own(folder, {name})
    return _put(folder / name, partial(_write_text, text))


def _write_text(text: str, file: BinaryIO) -> None:
    file.write(text.encode())


def arrow_table(table: Table) -> Any:
    """Return the rows as an Arrow table. A column without values has the type string."""
    arrays = [_array([row[place] for row in table.rows]) for place in range(len(table.columns))]
    fields = [
        pa.field(column.name, array.type, metadata={"comment": column.comment} if column.comment else None)
        for column, array in zip(table.columns, arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _array(cells: Sequence[Cell]) -> Any:
    values = [_storable(list(cell) if isinstance(cell, tuple) else cell) for cell in cells]
    array = pa.array(values)
    empty = pa.types.is_null(array.type) or (pa.types.is_list(array.type) and pa.types.is_null(array.type.value_type))
    return pa.nulls(len(values), pa.string()) if empty and not any(values) else array


def _storable(value: Any) -> Any:
    """Convert a value to a form that Arrow can store. Lone surrogates in texts are escaped, because UTF-8 cannot
    encode them. Times are converted to UTC."""
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, datetime):
        return in_utc(value)
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _flat(table: Any) -> Any:
    """Return the table with lists and texts converted for CSV."""
    return pa.table({name: _flat_column(table.column(name)) for name in table.column_names})


def _flat_column(column: Any) -> Any:
    texts = column.to_pylist()
    if pa.types.is_list(column.type):
        texts = [None if cell is None else ", ".join(map(str, cell)) for cell in texts]
    elif not pa.types.is_string(column.type):
        return column
    return pa.array([text and csv_cell(text) for text in texts], pa.string())


def _own(folder: Path, names: Set[str]) -> None:
    """Add names to the list of files that were written to the folder.

    Raise :class:`OptionError` if one of the files exists but is not listed.
    """
    listed = folder / LIST
    ours = set(regular(listed).read_text("utf-8").splitlines()) if listed.exists() else set()
    for name in names:
        if os.path.lexists(folder / name) and name not in ours:
            raise OptionError(f"{folder / name} was not written by kwire: move it, or choose another folder")
    if not ours.issuperset(names):
        text = "\n".join(sorted(ours.union(names)))
        _put(listed, lambda file: file.write(text.encode()))


def _put(path: Path, write: Writer) -> Path:
    """Write to a new file and rename it, so that a killed process never leaves an incomplete file. Return the
    path."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
            write(file)
        return temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
