"""From ``Schema`` to ``Layout``s: what the bytes of each message and version are."""

from kwirec.lowering.layout import MessageLayout
from kwirec.lowering.lowering import Layouts, lower, lower_message

__all__ = ["Layouts", "MessageLayout", "lower", "lower_message"]
