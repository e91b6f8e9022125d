"""Values of types that mypy would refuse: where the codecs refuse them.

Interpreted classes take any value and refuse it when it is written. Native ones refuse it with a ``TypeError`` where
it is given, so that there is nothing to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwire import EncodeError, is_native

REFUSED = (EncodeError, TypeError) if is_native() else EncodeError
"""What writing a value of a wrong type raises, its construction included."""


def built(make: Callable[[], Any]) -> Any:
    """What ``make`` returns; ``None`` if that is refused already, which only native classes may."""
    try:
        return make()
    except TypeError:
        if not is_native():
            raise
        return None


def put(struct: Any, name: str, value: Any) -> bool:
    """Set an attribute; whether that is allowed."""

    def assigned() -> bool:
        setattr(struct, name, value)
        return True

    return built(assigned) is not None
