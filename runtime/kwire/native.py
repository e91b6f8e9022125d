"""Lets the same source code run fast, whether it is interpreted or compiled with mypyc.

Type checkers and mypyc read ``native.pyi``, in which the integer names are mypyc's fixed-width types. At run time,
these names are plain ``int``, so annotations cost no time. This module does not import ``typing`` or
``mypy_extensions``, because importing them would take longer than importing a codec. This module is never compiled.
"""

from __future__ import annotations

import sys
from types import FunctionType, SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import Any

i16 = int
i32 = int
i64 = int
u8 = int


def mypyc_attr(*attributes: str, **values: object) -> Callable[[type], type]:
    """Return a class decorator with options for mypyc. In interpreted runs, the decorator does nothing."""
    return lambda cls: cls


def close_classes() -> None:
    """Declare that other modules do not subclass the classes of the calling module.

    In interpreted runs, this function does nothing.
    """


def constructor(cls: type[Any], without: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Return the function ``new_X``, which readers call to create objects of a generated class ``X``.

    The parameters of ``new_X`` are all fields in order, except for the fields in ``without``, which get their
    defaults. In compiled code, calls of ``new_X`` are inlined. In interpreted code, calling the class would cost as
    much as reading the fields. Instead, the first call compiles a function that allocates the object and stores the
    fields. The class also gets a docstring that describes its fields.
    """
    cls.__doc__ = _CLASS_DOC  # type: ignore[assignment]
    if not isinstance(cls.__init__, FunctionType):
        cls.__signature__ = _SIGNATURE

    def first_call(*values: object) -> object:
        name = f"new_{cls.__name__}"
        function = vars(sys.modules[cls.__module__])[name] = _constructor(name, cls, without)
        return function(*values)

    return first_call


def _constructor(name: str, cls: type[Any], without: tuple[str, ...]) -> FunctionType:
    from kwire.schema import attributes

    parameters = [field.name for field in cls.FIELDS if field.name not in without]
    lines = [f"def {name}({', '.join(parameters)}):", "    self = _allocate(_cls)"]
    scope: dict[str, Any] = {"_cls": cls, "_allocate": cls.__new__}
    defaults = cls()
    for slot in attributes(cls):
        value = slot
        if slot not in parameters:
            default = getattr(defaults, slot)
            value = "[]" if isinstance(default, list) else f"_default_{slot}"
            scope[f"_default_{slot}"] = default
        lines.append(f"    self.{slot} = {value}")
    source = "\n".join([*lines, "    return self\n"])
    # linecache, which tracebacks and pdb use, asks the loader for the source.
    scope |= {"__name__": cls.__module__, "__loader__": SimpleNamespace(get_source=lambda _: source)}
    exec(source, scope)
    function: FunctionType = scope[name]
    # The code is named afterwards, because the first compile() takes a millisecond to set up the ast module.
    function.__code__ = function.__code__.replace(co_filename=f"{cls.__module__}.{name}")
    return function


class _ClassDoc:
    """The docstring of a generated class with all fields, created on access. This docstring also exists in compiled
    modules, which lose the docstrings of the source."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Any]) -> str:
        from kwire.schema import document

        return document(owner)


class _Signature:
    """The signature of a native class, created on access. mypyc creates no signature if a default is a list or a
    struct."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Any]) -> Signature:
        from inspect import Parameter, Signature

        default = owner()
        names = [*(field.name for field in owner.FIELDS), "unknown_tags"]
        return Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(default, name)) for name in names])


_CLASS_DOC = _ClassDoc()
_SIGNATURE = _Signature()
