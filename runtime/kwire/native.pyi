from mypy_extensions import i16 as i16
from mypy_extensions import i32 as i32
from mypy_extensions import i64 as i64
from mypy_extensions import mypyc_attr as mypyc_attr
from mypy_extensions import u8 as u8

def install_constructors(namespace: dict[str, object]) -> None: ...
def close_classes() -> None: ...
