"""Facts about emitted code that help mypyc generate better C code. See docs/decisions/native.md.

The operations are functions in ``native_ops.h``. Only the script of a native build imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from mypy.nodes import (
    ARG_POS,
    AssignmentStmt,
    CallExpr,
    ConditionalExpr,
    Expression,
    FuncDef,
    IndexExpr,
    MemberExpr,
    NameExpr,
    RefExpr,
    SliceExpr,
)
from mypy.types import Instance, get_proper_type
from mypyc.codegen.emit import Emitter
from mypyc.codegen.emitclass import SLOT_DEFS, generate_init_for_class
from mypyc.codegen.emitwrapper import generate_wrapper_function
from mypyc.ir.class_ir import ClassIR
from mypyc.ir.func_ir import FuncDecl, FuncIR
from mypyc.ir.ops import ERR_MAGIC, ERR_NEVER, Call, SetAttr, Value
from mypyc.ir.rtypes import (
    RInstance,
    RType,
    bool_rprimitive,
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
"""Argument types for data with two positions, or with a position and a count."""

DECODE_SLICE = custom_op(PLACE, str_rprimitive, "KwireOps_DecodeSlice", ERR_MAGIC)
REUSE_MEMORY = custom_op([object_rprimitive], c_int_rprimitive, "KwireOps_ReuseMemory", ERR_NEVER)
WRITE_SLICE = custom_op([bytes_writer_rprimitive, *PLACE], none_rprimitive, "KwireOps_WriteSlice", ERR_MAGIC)
MAKE_UUID = custom_op(PLACE, object_rprimitive, "KwireOps_MakeUuid", ERR_MAGIC)

CLOSED: dict[str, str] = {}
"""Source paths of modules whose classes have no subclasses in other modules, by module name."""


def register(constructors: Mapping[str, Sequence[str]]) -> None:
    """Make mypyc use the operations in all modules that it compiles from now on. ``constructors`` maps the full names
    of emitted functions ``new_X`` to the fields that are not parameters."""
    specializers[("decode", bytes_rprimitive)].insert(0, decode_slice)
    specializers.setdefault(("write", bytes_writer_rprimitive), []).insert(0, write_slice)
    specialize_function("kwire.uuids.Uuid")(make_uuid)
    for name, without in constructors.items():
        specialize_function(name)(partial(construct, without=without))
    specialize_function("kwire.native.close_classes")(close_classes)
    specialize_function("kwire.native.constructor")(finish_class)
    for name in ("i16", "i32", "i64"):
        function_op(f"kwire.wire.read_{name}s", PLACE, list_rprimitive, f"KwireOps_Read{name.upper()}s", ERR_MAGIC)
    count: list[RType] = [int64_rprimitive]
    function_op("kwire.wire.empty_list", count, list_rprimitive, "KwireOps_EmptyList", ERR_MAGIC)
    coded: list[RType] = [bytes_writer_rprimitive, int64_rprimitive]
    function_op("kwire.records.writing.write_coded", coded, none_rprimitive, "KwireOps_WriteCoded", ERR_MAGIC)
    rows: list[RType] = [bytes_writer_rprimitive, int64_rprimitive, int64_rprimitive, int64_rprimitive]
    function_op("kwire.columns.rows.turned", rows, bytes_rprimitive, "KwireOps_Turned", ERR_MAGIC)
    from_data: list[RType] = [list_rprimitive, int64_rprimitive, *PLACE]
    function_op("kwire.columns.messages.copy", from_data, int64_rprimitive, "KwireOps_Copy", ERR_MAGIC)
    function_op("kwire.columns.messages.array", from_data, int64_rprimitive, "KwireOps_Array", ERR_MAGIC)
    numbered: list[RType] = [list_rprimitive, int64_rprimitive]
    function_op("kwire.columns.messages.writer", numbered, bytes_writer_rprimitive, "KwireOps_Writer", ERR_MAGIC)
    counted: list[RType] = [*PLACE, int64_rprimitive]
    function_op("kwire.columns.messages.passed", counted, int64_rprimitive, "KwireOps_Passed", ERR_NEVER)
    written: list[RType] = [bytes_writer_rprimitive]
    function_op("kwire.records.writing.view", written, object_rprimitive, "KwireOps_View", ERR_MAGIC)
    function_op("gc.isenabled", [], bool_rprimitive, "PyGC_IsEnabled", ERR_NEVER)
    function_op("gc.enable", [], none_rprimitive, "PyGC_Enable", ERR_NEVER)
    function_op("gc.disable", [], none_rprimitive, "PyGC_Disable", ERR_NEVER)
    append: list[RType] = [list_rprimitive, object_rprimitive]
    method_op("append", append, c_int_rprimitive, "KwireOps_Append", ERR_NEG_INT, priority=2)
    slice_place: list[RType] = [bytes_rprimitive, int_rprimitive, int_rprimitive]
    expression.bytes_slice_op = custom_op(  # type: ignore[attr-defined]
        slice_place, bytes_rprimitive, "KwireOps_Slice", ERR_MAGIC
    )
    assert isinstance(SLOT_DEFS, dict)
    SLOT_DEFS["__init__"] = "tp_init", call_init


def decode_slice(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """Compile ``data[start:end].decode()`` without creating the sliced bytes first."""
    place = None if expr.args or not isinstance(callee, MemberExpr) else _slice(builder, callee.expr)
    return builder.call_c(DECODE_SLICE, place, expr.line) if place else None


def write_slice(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """Compile ``out.write(data[start:end])`` without creating the sliced bytes first."""
    if not isinstance(callee, MemberExpr) or expr.arg_kinds != [ARG_POS]:
        return None
    place = _slice(builder, expr.args[0], before=callee.expr)
    return builder.call_c(WRITE_SLICE, place, expr.line) if place else None


def make_uuid(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """Compile ``Uuid(data[start:end])`` without creating the sliced bytes first or calling the class in Python."""
    place = _slice(builder, expr.args[0]) if len(expr.args) == 1 else None
    if not place:
        return None
    return builder.coerce(builder.call_c(MAKE_UUID, place, expr.line), builder.node_type(expr), expr.line)


def _slice(builder: IRBuilder, node: Expression, before: Expression | None = None) -> list[Value] | None:
    """Return the values of ``data``, ``start`` and ``end`` if ``node`` slices bytes at native integers, or ``None``.

    The value of ``before``, if given, comes first.
    """
    if not isinstance(node, IndexExpr) or not isinstance(node.index, SliceExpr):
        return None
    start, end = node.index.begin_index, node.index.end_index
    if start is None or end is None or node.index.stride is not None:
        return None
    native = is_int64_rprimitive(builder.node_type(start)) and is_int64_rprimitive(builder.node_type(end))
    if not native or not is_bytes_rprimitive(builder.node_type(node.base)):
        return None
    return [builder.accept(part) for part in (before, node.base, start, end) if part is not None]


def construct(builder: IRBuilder, expr: CallExpr, callee: RefExpr, without: Sequence[str]) -> Value | None:
    """Compile ``new_X(…)`` by creating the object and storing its attributes without calling ``X.__init__``."""
    made = builder.node_type(expr)
    if not isinstance(made, RInstance) or set(expr.arg_kinds) - {ARG_POS}:
        return None
    cls = made.class_ir
    initial = list(_initial(builder, expr))
    taken = [parameter for _, parameter, _ in initial if parameter not in without and parameter != "unknown_tags"]
    given = dict(zip(taken, expr.args, strict=True))
    values = {
        name: builder.coerce(builder.accept(given.get(parameter, default)), cls.attr_type(name), expr.line)
        for name, parameter, default in initial
    }
    made_object = builder.add(Call(cls.setup, [builder.load_native_type_object(cls.fullname)], expr.line))
    for name, value in values.items():
        store = SetAttr(made_object, name, value, expr.line)
        store.mark_as_initializer()
        builder.add(store)
    return made_object


def _initial(builder: IRBuilder, expr: CallExpr) -> Iterator[tuple[str, str, Expression]]:
    """Yield each attribute that ``__init__`` stores, its parameter, and the value if the parameter is not passed."""
    made = get_proper_type(builder.types[expr])
    assert isinstance(made, Instance)
    init = made.type.names["__init__"].node
    assert isinstance(init, FuncDef)
    defaults = dict(zip(init.arg_names, init.arguments, strict=True))
    for statement in init.body.body:
        assert isinstance(statement, AssignmentStmt)
        target, value = statement.lvalues[0], statement.rvalue
        assert isinstance(target, MemberExpr)
        if isinstance(value, ConditionalExpr):  # [] if parameter is None else parameter
            assert isinstance(value.else_expr, NameExpr)
            yield target.name, value.else_expr.name, value.if_expr
        else:
            assert isinstance(value, NameExpr)
            default = defaults[value.name].initializer
            assert default
            yield target.name, value.name, default


def close_classes(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """Declare at the end of a module that its classes have no subclasses in other modules.

    mypyc cannot know this when it compiles a single module. With this fact, mypyc knows that attributes set in
    ``__init__`` always exist. It then omits the check for an old value before a write and for a missing value before
    a read.
    """
    classes = _classes(builder)
    CLOSED[builder.module_name] = builder.module_path
    for cls in classes:
        if cls.children is None and not cls.allow_interpreted_subclasses:
            cls.children = [other for other in classes if other.base is cls]
    return None


def finish_class(builder: IRBuilder, expr: CallExpr, callee: RefExpr) -> Value | None:
    """Compile ``constructor(X)`` at the end of a codec module, so that new objects reuse the memory of freed ones."""
    cls = expr.args[0]
    assert isinstance(cls, RefExpr)
    builder.call_c(REUSE_MEMORY, [builder.load_native_type_object(cls.fullname)], expr.line)
    return close_classes(builder, expr, callee)


def _classes(builder: IRBuilder) -> list[ClassIR]:
    return [cls for cls in builder.mapper.type_to_ir.values() if cls.module_name == builder.module_name]


def call_init(cls: ClassIR, init: FuncIR, emitter: Emitter) -> str:
    """Emit the initializer of a class and the function that Python calls for a new object, and return their C names.

    mypyc (2.4) does not call ``__init__`` for classes that can be pickled, so this initializer calls it. Calls of
    classes in closed modules pass arguments as function calls do, instead of as a tuple and a dict.
    """
    name = _emit_init(cls, init, emitter)
    path = CLOSED.get(cls.module_name)
    if path is None or cls.is_trait or cls.builtin_base or cls.has_method("__new__"):
        return name
    maker = FuncIR(FuncDecl(cls.name, None, cls.module_name, cls.ctor.sig), [], [], init.line, init.name)
    generate_wrapper_function(maker, emitter, path, cls.module_name)
    call = f"{cls.name_prefix(emitter.names)}_call"
    emitter.emit_lines(
        "static PyObject *",
        f"{call}(PyObject *cls, PyObject *const *args, size_t count, PyObject *names)",
        "{",
        f"return {emitter.wrapper_function_call(maker.decl)}(cls, args, PyVectorcall_NARGS(count), names);",
        "}",
    )
    return f"{name},\n.tp_vectorcall = {call}"


def _emit_init(cls: ClassIR, init: FuncIR, emitter: Emitter) -> str:
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
