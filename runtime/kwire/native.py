"""Makes the same source fast both interpreted and compiled by mypyc.

Type checkers and mypyc read ``native.pyi``, where the integer names are mypyc's fixed-width types. At run time they
are plain ``int``: annotations cost nothing, and neither ``typing`` nor ``mypy_extensions`` is imported, which would
take longer than importing a codec. This module is never compiled.
"""

from __future__ import annotations

from types import FunctionType, SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

i16 = int
i32 = int
i64 = int
u8 = int


def mypyc_attr(*attributes: str, **values: object) -> Callable[[type], type]:
    """Does nothing when interpreted."""
    return lambda cls: cls


def close_classes() -> None:
    """The classes of the calling module have no subclasses but those in it. Does nothing when interpreted."""


def install_constructors(namespace: dict[str, Any]) -> None:
    """Replace the interpreted ``new_X`` of every class ``X`` by one that allocates and stores, on its first call, and
    let the docstrings of classes describe their fields.

    Emitted modules construct their objects through ``new_X(...)`` functions. Compiled, such a function is a direct C
    call of ``X.__init__``. Interpreted, going through ``X(...)`` costs as much as reading the fields did, so the
    function is rebuilt without it; the defaults of fields that it does not take come from ``X`` itself. Functions of
    a compiled module have no code object and stay as they are.
    """
    for value in list(namespace.values()):
        if isinstance(value, type) and hasattr(value, "FIELDS") and value.__module__ == namespace["__name__"]:
            value.__doc__ = _CLASS_DOC  # type: ignore[assignment]
            function = namespace.get(f"new_{value.__name__}")
            if isinstance(function, FunctionType):
                namespace[function.__name__] = _rebuilt_on_first_call(namespace, value, function)


def _rebuilt_on_first_call(namespace: dict[str, Any], cls: Any, function: FunctionType) -> Callable[..., object]:
    name, code = function.__name__, function.__code__
    parameters = code.co_varnames[: code.co_argcount]

    def first_call(*values: object) -> object:
        defaults = cls()
        scope: dict[str, Any] = {"_cls": cls, "_allocate": cls.__new__}
        lines = [f"def {name}({', '.join(parameters)}):", "    self = _allocate(_cls)"]
        for slot in cls.SLOTS:
            value = slot
            if slot not in parameters:
                default = getattr(defaults, slot)
                value = "[]" if isinstance(default, list) else f"_default_{slot}"
                scope[f"_default_{slot}"] = default
            lines.append(f"    self.{slot} = {value}")
        source = "\n".join([*lines, "    return self\n"])
        # linecache, and so tracebacks and pdb, ask the loader for the source.
        scope |= {"__name__": function.__module__, "__loader__": SimpleNamespace(get_source=lambda _: source)}
        exec(source, scope)
        rebuilt = scope[name]
        # Named afterwards: a first call of compile() takes a millisecond, since it sets up all of the ast module.
        rebuilt.__code__ = rebuilt.__code__.replace(co_filename=f"{function.__module__}.{name}")
        namespace[name] = rebuilt
        return rebuilt(*values)

    return first_call


class _ClassDoc:
    """The docstring of a generated class, created on access: with all fields, and in compiled modules too, which lose
    the docstrings of the source."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Any]) -> str:
        from kwire.schema import document

        return document(owner)


_CLASS_DOC = _ClassDoc()
