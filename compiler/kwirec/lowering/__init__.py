"""Converts a ``Schema`` to message halves, from which codecs are emitted, and to the layouts of all versions."""

from kwirec.lowering.coding import Half, StructCoding
from kwirec.lowering.layout import MessageLayout
from kwirec.lowering.lowering import Layouts, lower, lower_message

__all__ = ["Half", "Layouts", "MessageLayout", "StructCoding", "lower", "lower_message"]
