"""``kwire describe``: the fields of a message as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import click

from kwire.command.options import PROTOCOL, Options, epilog, format_option, put
from kwire.enums import ProtocolEnum
from kwire.errors import UnknownNameError
from kwire.message import Message
from kwire.protocol import registry
from kwire.schema import NEVER, Field, description, enum_class, format_versions, struct_class, valid_version, walk
from kwire.struct import Struct
from kwire.uuids import ZERO_UUID, Uuid

WIDTH = 100
_EPILOG = """\
examples:
  kwire describe FetchRequest
  kwire describe FetchRequest.topics.partitions --version 13
  kwire describe OffsetCommitValue --format json
"""


@click.command(epilog=epilog(_EPILOG))
@click.argument("name")
@click.option("--version", type=int, help="Print only the fields of this version.  [default: all versions]")
@format_option("text", "json")
@PROTOCOL
def describe(**values: Any) -> int:
    """Print the fields of a message with their types, versions, defaults and descriptions.

    NAME is a current or former message name. To select a struct in the message, add a dot and its path.
    """
    options = Options(**values)
    name, _, path = options.name.partition(".")
    try:
        message = registry(options.protocol)[name]
        cls = _struct(message, path) if path else message
        if options.version is not None:
            valid_version(message, options.version)
    except (ImportError, UnknownNameError, ValueError) as problem:
        options.error(str(problem))
    found = {
        "name": cls.__name__,
        "module": cls.__module__,
        "api_key": message.API_KEY,
        "versions": format_versions(message.VALID_VERSIONS, NEVER),
        "flexible": format_versions(message.FLEXIBLE_VERSIONS, message.VALID_VERSIONS),
        "description": description(cls),
        "fields": list(_fields(message, cls, options.version)),
    }
    if options.format == "json":
        put(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        put("\n".join(_text(found)))
    return 0


def _struct(message: type[Message], path: str) -> type[Struct]:
    for place, owner, field in walk(message):
        inner = struct_class(owner, field)
        if place == path and inner is not None:
            return inner
    raise ValueError(f"{message.__name__} has no struct {path!r}")


def _fields(message: type[Message], cls: type[Struct], version: int | None) -> Iterator[dict[str, Any]]:
    for path, owner, field in walk(cls, version):
        yield {
            "path": path,
            "type": field.type,
            **_of_versions(message, field, version),
            "tag": field.tag if version is None or version in field.tagged else None,
            "ignorable": field.ignorable,
            "default": plain(getattr(owner(), field.name)),
            "former_names": list(field.former_names),
            "enum": _enum(enum_class(owner, field)),
            "description": description(owner, field.name),
        }


def _enum(enum: type[ProtocolEnum] | None) -> dict[str, Any] | None:
    if enum is None:
        return None
    values = [{"name": one.name, "value": one.value, "description": one.description} for one in enum]
    return {"name": enum.__name__, "values": values}


def _of_versions(message: type[Message], field: Field, version: int | None) -> dict[str, Any]:
    if version is not None:
        return {"nullable": version in field.nullable, "tagged": version in field.tagged}
    valid = message.VALID_VERSIONS
    return {
        "versions": format_versions(field.versions, valid),
        "nullable": format_versions(field.nullable, valid) if field.nullable else None,
        "tagged": format_versions(field.tagged, valid) if field.tagged else None,
    }


def plain(value: Any) -> Any:
    """Return the default of a field as a JSON value. A struct becomes an empty object."""
    if isinstance(value, Struct):
        return {}
    return value.hex() if type(value) is bytes else str(value) if isinstance(value, Uuid) else value


def _text(found: dict[str, Any]) -> Iterator[str]:
    key = "" if found["api_key"] is None else f"API key {found['api_key']}, "
    yield f"{found['name']}: {key}versions {found['versions']}, flexible {found['flexible']}"
    yield from wrap(found["description"], WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield f"  The class is in {found['module']}, with the classes of its structs."
    for field in found["fields"]:
        indent = "  " * (field["path"].count(".") + 1)
        yield ""
        yield f"{indent}{field['path'].rpartition('.')[2]}: {', '.join(_facts(field))}"
        yield from wrap(
            field["description"], WIDTH, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    "
        )
        for value in field["enum"]["values"] if field["enum"] else ():
            text = f"{value['value']} {value['name']}: {value['description']}".rstrip(": ")
            yield from wrap(text, WIDTH, initial_indent=f"{indent}      ", subsequent_indent=f"{indent}        ")


def _facts(field: dict[str, Any]) -> Iterator[str]:
    yield field["type"] + (f" ({field['enum']['name']})" if field["enum"] else "")
    if "versions" in field:
        yield f"versions {field['versions']}"
    if field["nullable"]:
        yield "nullable" if field["nullable"] is True else f"nullable {field['nullable']}"
    if field["tag"] is not None:
        yield f"tag {field['tag']}" if field["tagged"] is True else f"tag {field['tag']} in {field['tagged']}"
    if field["ignorable"]:
        yield "ignorable"
    if field["default"] not in (0, "", [], {}, str(ZERO_UUID)):
        yield f"default {json.dumps(field['default'], ensure_ascii=False)}"
    if field["former_names"]:
        yield f"formerly {', '.join(field['former_names'])}"
