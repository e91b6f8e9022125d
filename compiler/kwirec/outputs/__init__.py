"""Implements ``kwirec emit``, which renders a folder of templates from definitions, in a sandbox.

Templates run in a separate process, which receives their text and the view of the protocol. The time, memory and
output of this process are limited. ``folder`` reads templates, ``process`` runs ``child``, and ``emitting`` validates
and writes the results.
"""

from kwirec.outputs.emitting import Emitted, emit
from kwirec.outputs.process import Limits

__all__ = ["Emitted", "Limits", "emit"]
