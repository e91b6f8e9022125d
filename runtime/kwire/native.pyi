from collections.abc import Callable
from typing import TypeVar

from mypy_extensions import i16 as i16
from mypy_extensions import i32 as i32
from mypy_extensions import i64 as i64
from mypy_extensions import mypyc_attr as mypyc_attr
from mypy_extensions import u8 as u8

T = TypeVar("T")

def constructor(cls: type[T], without: tuple[str, ...] = ()) -> Callable[..., T]: ...
def close_classes() -> None: ...
