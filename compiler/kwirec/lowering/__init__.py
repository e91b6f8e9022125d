"""``Schema`` → the message halves from which codecs are emitted, and the ``Layout`` of each version."""

from kwirec.lowering.coding import Half, StructCoding
from kwirec.lowering.layout import MessageLayout
from kwirec.lowering.lowering import Layouts, lower, lower_message

__all__ = ["Half", "Layouts", "MessageLayout", "StructCoding", "lower", "lower_message"]
