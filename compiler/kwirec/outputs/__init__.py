"""``kwirec emit``: a folder of templates and definitions → files, in a sandbox.

Templates run in a process of their own. It has the texts of the templates and the view of the protocol, and limits of
time, memory and output. ``folder`` reads templates, ``process`` runs ``child``, ``emitting`` validates and writes
what it returns.
"""

from kwirec.outputs.emitting import Emitted, emit
from kwirec.outputs.process import Limits

__all__ = ["Emitted", "Limits", "emit"]
