"""What mypyc is told about emitted code, so that it makes better C of it; see docs/decisions/native-operations.md.

The operations are functions of ``native_ops.h``. Only the script of a native build imports this module.
"""

from __future__ import annotations

from mypy.nodes import CallExpr, Expression, IndexExpr, MemberExpr, RefExpr, SliceExpr
from mypyc.codegen.emit import Emitter
from mypyc.codegen.emitclass import SLOT_DEFS, generate_init_for_class
from mypyc.ir.class_ir import ClassIR
from mypyc.ir.func_ir import FuncIR
from mypyc.ir.ops import ERR_MAGIC, ERR_NEVER, Value
from mypyc.ir.rtypes import (
    RType,
    bytes_rprimitive,
    bytes_writer_rprimitive,
    c_int_rprimitive,
    int64_rprimitive,
    int_rprimitive,
    is_bytes_rprimitive,
    is_int64_rprimitive,
    list_rprimitive,
    none_rprimitive,
    object_rprimitive,
    str_rprimitive,
)
from mypyc.irbuild import expression
from mypyc.irbuild.builder import IRBuilder
from mypyc.irbuild.specialize import specialize_function, specializers
from mypyc.primitives.registry import ERR_NEG_INT, custom_op, function_op, method_op

PLACE: list[RType] = [bytes_rprimitive, int64_rprimitive, int64_rprimitive]
"""Data and two positions, or a position and a count."""

DECODE_SLICE = custom_op(PLACE, str_rprimitive, "KwireOps_DecodeSlice", ERR_MAGIC)
MAKE_FROM_SLICE = custom_op([object_rprimitive, *PLACE], object_rprimitive, "KwireOps_MakeFromSlice", ERR_MAGIC)


def register() -> None:
    """Make mypyc use the operations for all that it compiles from now on."""
    specializers[("decode", bytes_rprimitive)].insert(0, decode_slice)
    specialize_function("kwire.uuids.Uuid")(make_from_slice)
    for name in ("install_constructors", "close_classes"):
        specialize_function(f"kwire.native.{name}")(close_classes)
    for name in ("i16", "i32", "i64"):
        function_op(f"kwire.wire.read_{name}s", PLACE, list_rprimitive, f"KwireOps_Read{name.upper()}s", ERR_MAGIC)
    count: list[RType] = [int64_rprimitive]
    function_op("kwire.wire.empty_list", count, list_rprimitive, "KwireOps_EmptyList", ERR_MAGIC)
    made_by: list[RType] = [object_rprimitive, object_rprimitive]
    function_op("kwire.native.made_by", made_by, none_rprimitive, "KwireOps_MadeBy", ERR_NEVER)
    coded: list[RType] = [bytes_writer_rprimitive, int64_rprimitive]
    function_op("kwire.records.writing.write_coded", coded, none_rprimitive, "KwireOps_WriteCoded", ERR_MAGIC)
    written: list[RType] = [bytes_writer_rprimitive]
    function_op("kwire.records.writing.view", written, object_rprimitive, "KwireOps_View", ERR_MAGIC)
    append: list[RType] = [list_rprimitive, object_rprimitive]
    method_op("append", append, c_int_rprimitive, "KwireOps_Append", ERR_NEG_INT, priority=2)
    slice_place: list[RType] = [bytes_rprimitive, int_rprimitive, int_rprimitive]
    expression.bytes_slice_op = custom_op(  # type: ignore[attr-defined]
        slice_place, bytes_rprimitive, "KwireOps_Slice", ERR_MAGIC
    )
    assert isinstance(SLOT_DEFS, dict)
    SLOT_DEFS["__init__"] = "tp_init", call_init


def decode_slice(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """``data[start:end].decode()``: mypyc makes the bytes first."""
    place = None if expr.args or not isinstance(callee, MemberExpr) else _slice(builder, callee.expr)
    return builder.call_c(DECODE_SLICE, place, expr.line) if place else None


def make_from_slice(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """``Uuid(data[start:end])``: mypyc makes the bytes first, and calls the class as Python does."""
    place = _slice(builder, expr.args[0]) if len(expr.args) == 1 else None
    if not place:
        return None
    made = builder.call_c(MAKE_FROM_SLICE, [builder.accept(callee), *place], expr.line)
    return builder.coerce(made, builder.node_type(expr), expr.line)


def _slice(builder: IRBuilder, node: Expression) -> list[Value] | None:
    """The values of ``data[start:end]`` if both positions are native numbers and ``data`` is bytes."""
    if not isinstance(node, IndexExpr) or not isinstance(node.index, SliceExpr):
        return None
    start, end = node.index.begin_index, node.index.end_index
    if start is None or end is None or node.index.stride is not None:
        return None
    native = is_int64_rprimitive(builder.node_type(start)) and is_int64_rprimitive(builder.node_type(end))
    if not native or not is_bytes_rprimitive(builder.node_type(node.base)):
        return None
    return [builder.accept(node.base), builder.accept(start), builder.accept(end)]


def close_classes(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """At the end of a module: its classes have no subclasses but those in it.

    mypyc cannot know in a library of one module. Then it knows that the attributes which ``__init__`` sets are always
    there, and neither looks for a value before it sets one, nor for one that is missing before it reads one.
    """
    classes = [cls for cls in builder.mapper.type_to_ir.values() if cls.module_name == builder.module_name]
    for cls in classes:
        if cls.children is None and not cls.allow_interpreted_subclasses:
            cls.children = [other for other in classes if other.base is cls]
    return None


def call_init(cls: ClassIR, init: FuncIR, emitter: Emitter) -> str:
    """What Python calls for a new object. Classes that can be pickled are made without their ``__init__``, and mypyc
    (2.4) calls it neither here."""
    if not cls.is_serializable():
        return generate_init_for_class(cls, init, emitter)
    name = f"{cls.name_prefix(emitter.names)}_init"
    emitter.emit_lines(
        "static int",
        f"{name}(PyObject *self, PyObject *args, PyObject *kwds)",
        "{",
        f"PyObject *none = {emitter.wrapper_function_call(init.decl)}(self, args, kwds);",
        "Py_XDECREF(none);",
        "return none ? 0 : -1;",
        "}",
    )
    return name
