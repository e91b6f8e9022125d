"""Locals of emitted functions are called as the fields that they hold, and hide nothing that the function needs."""

from __future__ import annotations

import ast

from kwire.message import Message
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import Node, field, request, tagged
from kwirec.diagnostics.source import Source
from kwirec.emitters.codec_names import Locals
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.ir.schema import PRIMITIVES
from kwirec.lowering import lower
from kwirec.naming import python_name


def test_a_field_has_its_own_name_where_that_is_unique() -> None:
    names = Locals(["throttle_time_ms", "topics", "topics[].name", "topics[].partitions", "name"])
    assert names.of("throttle_time_ms") == "throttle_time_ms"
    assert names.of("topics[].partitions") == "partitions"


def test_names_of_enclosing_fields_keep_equal_names_apart() -> None:
    paths = ["name", "topics[].name", "topics[].configs[].name", "brokers[].configs[].name", "topics[].configs[].key"]
    names = Locals(paths)
    assert [names.of(path) for path in paths] == [
        "name",
        "topics_name",
        "topics_configs_name",
        "brokers_configs_name",
        "key",
    ]


def test_two_runs_of_one_field_share_its_local() -> None:
    assert Locals(["master.id", "master.id", "kind"]).of("master.id") == "id_"


def test_builtins_parameters_and_imports_are_not_hidden() -> None:
    paths = ["len", "data", "version", "n", "message", "i64", "read_tags", "write_i8", "give_up", "raw"]
    names = Locals(paths)
    assert [names.of(path) for path in paths] == [f"{path}_" for path in paths]


def test_names_that_meet_after_joining_stay_apart() -> None:
    paths = ["topics[].name", "name", "topics_name", "other[].topics_name"]
    names = Locals(paths)
    assert len({names.of(path) for path in paths}) == len(paths)


def test_items_are_never_fields() -> None:
    names = Locals(["topics", "topics[].topics_item"])
    item = names.item("topics")
    assert item == "topics_item_"
    assert names.item("topics") == item
    assert names.item(item) == "topics_item__item"


def emitted(*fields: Node) -> ast.Module:
    """The module of a message with fields that are called ``Zz``, of all types, and of a struct."""
    zz = field("Zz", "[]Piece", versions="1+", fields=[field("Zz", versions="1+")])
    text = request(zz, tagged("Zz2", 0, "[]string", nullableVersions="1+"), field("Zz3", "bytes"), *fields)
    schema = resolve([parse(Source("ClockRequest.json", text), report := Report())], report)
    (group,) = group_modules(schema)
    return ast.parse(emit_module(group, lower(schema).halves).text)


def test_names_that_a_class_has_or_uses_are_no_attributes_of_fields() -> None:
    """Such as methods, and types in annotations. A class with such an attribute would hide them."""
    kinds = [field(f"ZzOf{kind.title()}", kind) for kind in PRIMITIVES]
    tree = emitted(*kinds, field("ZzKey", "[]Zz", fields=[field("ZzId", mapKey=True)]))
    needed = {*dir(Message)}
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for part in cls.body:
            parts: list[ast.AST] = [part]
            if isinstance(part, ast.FunctionDef):
                needed.add(part.name)
                parts = [part.args, *part.decorator_list, *([part.returns] if part.returns else [])]
            needed |= {node.id for one in parts for node in ast.walk(one) if isinstance(node, ast.Name)}
    own = {name for name in needed if name.islower() and "zz" not in name and name[0] != "_"}
    assert own >= {"bool", "dict", "encode", "float", "i64", "slots", "to_json", "tuple", "unknown_tags"}
    assert [name for name in own if python_name(name.title().replace("_", "")) == name] == []


def test_names_of_the_templates_are_not_hidden() -> None:
    """Whatever a function has for itself is no local of a field: here, all that is not called ``Zz``."""
    tree = emitted()
    functions = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name.startswith(("_read", "_write"))
    ]
    nodes = [node for function in functions for node in ast.walk(function)]
    taken = {node.arg for node in nodes if isinstance(node, ast.arg)}
    taken |= {node.id for node in nodes if isinstance(node, ast.Name) and node.id.islower()}
    own = {name for name in taken if "zz" not in name and name != "_"}
    assert own >= {
        "data",
        "end",
        "message",
        "n",
        "n2",
        "out",
        "pos",
        "raw",
        "self",
        "step",
        "tag_end",
        "unknown",
        "version",
    }
    assert [name for name in own if Locals([name]).of(name) == name] == []
